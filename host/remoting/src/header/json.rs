//! The JSON header form.
//!
//! Only `code` and `opaque` are needed; unknown members are ignored, and ext values that are no strings are taken
//! as the text that they are written with (real brokers write strings only, other peers do not).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{EncodeError, HeaderError};
use crate::command::{Command, Language};

/// As Java writes it: members in alphabetical order, absent instead of null.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    code: i32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ext_fields: &'a BTreeMap<String, String>,
    flag: i32,
    language: &'static str,
    opaque: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<&'a str>,
    #[serde(rename = "serializeTypeCurrentRPC")]
    form: &'static str,
    version: i32,
}

/// As peers send it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received<'a> {
    code: i32,
    #[serde(default, borrow)]
    ext_fields: Option<BTreeMap<String, Option<&'a RawValue>>>,
    #[serde(default)]
    flag: Option<i32>,
    #[serde(default, borrow)]
    language: Option<&'a RawValue>,
    opaque: i32,
    #[serde(default)]
    remark: Option<String>,
    #[serde(default)]
    version: Option<i32>,
}

pub(super) fn write(command: &Command) -> Result<Vec<u8>, EncodeError> {
    let written = Written {
        code: command.code,
        ext_fields: &command.ext_fields,
        flag: command.flag,
        language: command.language.name(),
        opaque: command.opaque,
        remark: command.remark.as_deref(),
        form: "JSON",
        version: command.version,
    };
    Ok(serde_json::to_vec(&written)?)
}

pub(super) fn read(header: &[u8]) -> Result<Command, HeaderError> {
    let received: Received<'_> =
        serde_json::from_slice(header).map_err(|error| HeaderError::Json(error.to_string()))?;
    let mut ext_fields = BTreeMap::new();
    for (name, value) in received.ext_fields.unwrap_or_default() {
        if let Some(value) = value {
            ext_fields.insert(name, text(value)?);
        }
    }
    Ok(Command {
        code: received.code,
        language: received
            .language
            .map(text)
            .transpose()?
            .map_or(Language::JAVA, |name| Language::from_name(&name)),
        version: received.version.unwrap_or_default(),
        opaque: received.opaque,
        flag: received.flag.unwrap_or_default(),
        remark: received.remark,
        ext_fields,
        ..Command::default()
    })
}

/// A string's content, or anything else as it is written.
fn text(value: &RawValue) -> Result<String, HeaderError> {
    if value.get().starts_with('"') {
        serde_json::from_str(value.get()).map_err(|error| HeaderError::Json(error.to_string()))
    } else {
        Ok(value.get().to_owned())
    }
}

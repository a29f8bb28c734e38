//! The `ROCKETMQ` header form (`RocketMQSerializable.java`), big-endian.
//!
//! `code` i16, `language` i8, `version` i16, `opaque` i32, `flag` i32, remark (i32 length), ext fields (i32 length in
//! bytes, then entries: key with i16 length, value with i32 length). Java reads an empty text as null; so a signed
//! request must leave an empty ext value out here, or the server's signature differs.

use std::collections::BTreeMap;

use bytes::{BufMut, BytesMut};

use super::{EncodeError, HeaderError};
use crate::command::{Command, Language};

pub(super) fn write(command: &Command) -> Result<Vec<u8>, EncodeError> {
    let mut header = Vec::new();
    header.put_i16(short("code", command.code)?);
    header.put_u8(command.language.0);
    header.put_i16(short("version", command.version)?);
    header.put_i32(command.opaque);
    header.put_i32(command.flag);
    put_text(
        &mut header,
        "the remark",
        command.remark.as_deref().unwrap_or_default(),
    )?;
    let mut entries = BytesMut::new();
    for (name, value) in &command.ext_fields {
        let too_long = |_| EncodeError::TooLong {
            what: "the name of an ext field",
            length: name.len(),
        };
        entries.put_i16(i16::try_from(name.len()).map_err(too_long)?);
        entries.put_slice(name.as_bytes());
        let mut text = Vec::new();
        put_text(&mut text, "an ext field", value)?;
        entries.put_slice(&text);
    }
    header.put_i32(length("the ext fields", entries.len())?);
    header.put_slice(&entries);
    Ok(header)
}

fn short(field: &'static str, value: i32) -> Result<i16, EncodeError> {
    i16::try_from(value).map_err(|_| EncodeError::Number { field, value })
}

fn length(what: &'static str, length: usize) -> Result<i32, EncodeError> {
    i32::try_from(length).map_err(|_| EncodeError::TooLong { what, length })
}

fn put_text(out: &mut Vec<u8>, what: &'static str, text: &str) -> Result<(), EncodeError> {
    out.put_i32(length(what, text.len())?);
    out.put_slice(text.as_bytes());
    Ok(())
}

pub(super) fn read(header: &[u8]) -> Result<Command, HeaderError> {
    let mut fields = Fields { header, offset: 0 };
    let code = i32::from(i16::from_be_bytes(fields.array("code")?));
    let language = Language(u8::from_be_bytes(fields.array("language")?));
    let version = i32::from(i16::from_be_bytes(fields.array("version")?));
    let opaque = fields.int("opaque")?;
    let flag = fields.int("flag")?;
    let remark = fields.text("remark")?;
    let entries = fields.length("ext fields")?;
    let end = fields.offset + entries;
    fields.check("ext fields", entries)?;
    let ext_fields = read_entries(&mut Fields {
        header: header.get(..end).unwrap_or(header),
        offset: fields.offset,
    })?;
    Ok(Command {
        code,
        language,
        version,
        opaque,
        flag,
        remark: (!remark.is_empty()).then(|| remark.to_owned()),
        ext_fields,
        ..Command::default()
    })
}

fn read_entries(fields: &mut Fields<'_>) -> Result<BTreeMap<String, String>, HeaderError> {
    let mut entries = BTreeMap::new();
    while fields.left() > 0 {
        let offset = fields.offset;
        let claimed = i16::from_be_bytes(fields.array("ext name")?);
        let name_length = not_negative("ext name", offset, claimed.into())?;
        let name = fields.utf8("ext name", name_length)?;
        let value = fields.text("ext value")?;
        entries.insert(name.to_owned(), value.to_owned());
    }
    Ok(entries)
}

fn not_negative(field: &'static str, offset: usize, length: i64) -> Result<usize, HeaderError> {
    usize::try_from(length).map_err(|_| HeaderError::Negative {
        field,
        offset,
        length,
    })
}

/// Reads one field after the other; each claim is checked against what there is.
struct Fields<'a> {
    header: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    fn left(&self) -> usize {
        self.header.len() - self.offset
    }

    fn check(&self, field: &'static str, needed: usize) -> Result<(), HeaderError> {
        if needed <= self.left() {
            return Ok(());
        }
        Err(HeaderError::Short {
            field,
            offset: self.offset,
            needed,
            left: self.left(),
        })
    }

    fn take(&mut self, field: &'static str, needed: usize) -> Result<&'a [u8], HeaderError> {
        self.check(field, needed)?;
        let taken = &self.header[self.offset..self.offset + needed];
        self.offset += needed;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], HeaderError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N)?);
        Ok(array)
    }

    fn int(&mut self, field: &'static str) -> Result<i32, HeaderError> {
        Ok(i32::from_be_bytes(self.array(field)?))
    }

    fn length(&mut self, field: &'static str) -> Result<usize, HeaderError> {
        let offset = self.offset;
        let claimed = self.int(field)?;
        not_negative(field, offset, claimed.into())
    }

    fn text(&mut self, field: &'static str) -> Result<&'a str, HeaderError> {
        let length = self.length(field)?;
        self.utf8(field, length)
    }

    fn utf8(&mut self, field: &'static str, length: usize) -> Result<&'a str, HeaderError> {
        let offset = self.offset;
        std::str::from_utf8(self.take(field, length)?)
            .map_err(|_| HeaderError::NotText { field, offset })
    }
}

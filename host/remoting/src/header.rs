//! The two header forms, and how a frame is written.

mod binary;
mod json;

use bytes::{BufMut, Bytes, BytesMut};

use crate::command::Command;
use crate::limits;

/// How a header is written: the type byte of its length word (`SerializeType.java`).
///
/// A reply is decoded by its own type byte: 4.9 answers in the request's form, 5.x in the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderForm {
    /// Type byte 0: a JSON object.
    Json,
    /// Type byte 1, `ROCKETMQ`: fixed big-endian fields.
    Binary,
}

impl HeaderForm {
    /// The form of a type byte.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Json),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Json => 0,
            Self::Binary => 1,
        }
    }
}

/// Why a header cannot be read. Offsets count from the header's first byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not the JSON object that is expected.
    #[error("JSON header: {0}")]
    Json(String),
    /// A field of the binary form does not fit into the header.
    #[error("binary header: {field} needs {needed} bytes at offset {offset}, {left} are left")]
    Short {
        /// The field that was read.
        field: &'static str,
        /// Where it starts.
        offset: usize,
        /// Bytes that it claims.
        needed: usize,
        /// Bytes that there are.
        left: usize,
    },
    /// A length of the binary form is negative.
    #[error("binary header: {field} has the negative length {length} at offset {offset}")]
    Negative {
        /// The field that was read.
        field: &'static str,
        /// Where its length is.
        offset: usize,
        /// The length.
        length: i64,
    },
    /// A text of the binary form is not UTF-8.
    #[error("binary header: {field} at offset {offset} is not UTF-8")]
    NotText {
        /// The field that was read.
        field: &'static str,
        /// Where it starts.
        offset: usize,
    },
}

/// Why a command cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The binary form has 16 bits for this number: use the JSON form.
    #[error("{field} {value} does not fit the binary header form; use the JSON form")]
    Number {
        /// `code` or `version`.
        field: &'static str,
        /// Its value.
        value: i32,
    },
    /// Something is longer than the format can say.
    #[error("{what} of {length} bytes is too long for a frame")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// How long it is.
        length: usize,
    },
    /// The JSON header could not be written.
    #[error("the JSON header cannot be written")]
    Json(#[from] serde_json::Error),
}

/// The bytes of one frame.
///
/// # Errors
///
/// When a number or a text does not fit the header form (a code over 32767 needs the JSON form).
pub fn encode(command: &Command, form: HeaderForm) -> Result<Bytes, EncodeError> {
    let header = match form {
        HeaderForm::Json => json::write(command)?,
        HeaderForm::Binary => binary::write(command)?,
    };
    if header.len() > limits::HEADER_FORMAT {
        return Err(EncodeError::TooLong {
            what: "the header",
            length: header.len(),
        });
    }
    let length = 4 + header.len() + command.body.len();
    let too_long = |_| EncodeError::TooLong {
        what: "the frame",
        length,
    };
    let length_word = i32::try_from(length).map_err(too_long)?;
    let header_word = u32::try_from(header.len()).map_err(too_long)? | u32::from(form.byte()) << 24;
    let mut frame = BytesMut::with_capacity(4 + length);
    frame.put_i32(length_word);
    frame.put_u32(header_word);
    frame.put_slice(&header);
    frame.put_slice(&command.body);
    Ok(frame.freeze())
}

/// Reads a header; the body of the command is empty.
pub(crate) fn read(form: HeaderForm, header: &[u8]) -> Result<Command, HeaderError> {
    match form {
        HeaderForm::Json => json::read(header),
        HeaderForm::Binary => binary::read(header),
    }
}

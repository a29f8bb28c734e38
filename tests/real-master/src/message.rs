//! Messages, as far as tests need them.

use bytes::{Buf, Bytes};

use crate::Error;

/// Magic number of a message whose topic length is one byte.
const VERSION_1: i32 = -626_843_481;
/// The same with two bytes.
const VERSION_2: i32 = -626_843_477;
/// `sysFlag` bits: the host that made the message, or that stores it, has an IPv6 address.
const BORN_V6: i32 = 1 << 4;
const STORE_V6: i32 = 1 << 5;
/// A host: address and port.
const HOST_V4: usize = 8;
const HOST_V6: usize = 20;

/// A message that was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it stands in its queue.
    pub queue_offset: i64,
    /// What was sent.
    pub body: Bytes,
}

impl Message {
    /// All messages of a pull's reply (`MessageDecoder.java`).
    pub(crate) fn all(mut body: Bytes) -> Result<Vec<Self>, Error> {
        let mut messages = Vec::new();
        while !body.is_empty() {
            let size = usize::try_from(body.clone().try_get_i32().map_err(Error::malformed)?)
                .map_err(Error::malformed)?;
            if size == 0 || size > body.len() {
                return Err(Error::malformed("the size of a message"));
            }
            messages.push(Self::read(&mut body.split_to(size)).map_err(Error::malformed)?);
        }
        Ok(messages)
    }

    fn read(bytes: &mut Bytes) -> Result<Self, Box<dyn std::error::Error>> {
        bytes.try_get_i32()?; // size
        let magic = bytes.try_get_i32()?;
        if magic != VERSION_1 && magic != VERSION_2 {
            return Err(format!("{magic} is no message's magic number").into());
        }
        skip(bytes, 4 + 4 + 4)?; // checksum, queue, flag
        let queue_offset = bytes.try_get_i64()?;
        skip(bytes, 8)?; // physical offset
        let flags = bytes.try_get_i32()?;
        let born = if flags & BORN_V6 == 0 {
            HOST_V4
        } else {
            HOST_V6
        };
        let stored = if flags & STORE_V6 == 0 {
            HOST_V4
        } else {
            HOST_V6
        };
        skip(bytes, 8 + born + 8 + stored)?; // each a time and a host
        skip(bytes, 4 + 8)?; // consumed so often, transaction
        let length = usize::try_from(bytes.try_get_i32()?)?;
        if length > bytes.len() {
            return Err("the body is longer than its message".into());
        }
        Ok(Self {
            queue_offset,
            body: bytes.split_to(length),
        })
    }
}

fn skip(bytes: &mut Bytes, count: usize) -> Result<(), &'static str> {
    if count > bytes.len() {
        return Err("a message ends too early");
    }
    bytes.advance(count);
    Ok(())
}

/// Properties of a message to send: `name` 0x01 `value` 0x02, again and again (`MessageDecoder.messageProperties2String`).
pub(crate) fn properties(pairs: &[(&str, &str)]) -> String {
    pairs
        .iter()
        .map(|(name, value)| format!("{name}\u{1}{value}\u{2}"))
        .collect()
}

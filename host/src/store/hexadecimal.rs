//! Bytes as hexadecimal text in records: an array of numbers would take twice the room and nobody could read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a policy remembers, by key.
type Memory = BTreeMap<String, Vec<u8>>;

struct Written<'a>(&'a [u8]);

struct Read(Vec<u8>);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encode(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        decode(&String::deserialize(deserializer)?)
            .map(Self)
            .ok_or_else(|| D::Error::custom("memory is not hexadecimal"))
    }
}

fn written(memory: &Memory) -> BTreeMap<&str, Written<'_>> {
    memory
        .iter()
        .map(|(key, bytes)| (key.as_str(), Written(bytes)))
        .collect()
}

fn read(memory: BTreeMap<String, Read>) -> Memory {
    memory
        .into_iter()
        .map(|(key, bytes)| (key, bytes.0))
        .collect()
}

/// The memory of each slot.
pub(super) mod by_slot {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Memory, Read, read, written};

    pub(in super::super) fn serialize<S: Serializer>(
        memory: &BTreeMap<String, Memory>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        memory
            .iter()
            .map(|(slot, values)| (slot, written(values)))
            .collect::<BTreeMap<_, _>>()
            .serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Memory>, D::Error> {
        let slots = BTreeMap::<String, BTreeMap<String, Read>>::deserialize(deserializer)?;
        Ok(slots
            .into_iter()
            .map(|(slot, values)| (slot, read(values)))
            .collect())
    }
}

/// Memory that was set aside, if any was.
pub(super) mod aside {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Memory, Read, read, written};

    pub(in super::super) fn serialize<S: Serializer>(
        memory: &Option<Memory>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        memory.as_ref().map(written).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Memory>, D::Error> {
        let memory = Option::<BTreeMap<String, Read>>::deserialize(deserializer)?;
        Ok(memory.map(read))
    }
}

fn encode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
        })
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2);
    pairs
        .remainder()
        .is_empty()
        .then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

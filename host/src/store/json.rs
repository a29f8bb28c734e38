//! How our own records are kept: `{"format": 1, "content": {...}}`, written whole, readable by us alone.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::aside::put_aside;
use super::disk::{Disk, FileIdentity, Ownership};
use super::error::{During, StoreError};
use super::write::write_whole;

/// The only format so far. A field may be added without a new one if its absence means what was before.
const FORMAT: u32 = 1;

/// Our own records name policies and addresses, and nobody else reads them.
const PRIVATE: Ownership = Ownership {
    mode: 0o600,
    owner: None,
    group: None,
};

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    format: u32,
    content: T,
}

/// Reads a record. One that is missing is fresh; one that is damaged or of a later format is put aside, and fresh with a
/// warning. One that cannot be read is an error.
pub(super) fn load<T: DeserializeOwned + Default>(
    disk: &dyn Disk,
    path: &Path,
) -> Result<(T, Option<String>), StoreError> {
    let (content, warning) = peek(disk, path)?;
    let Some(warning) = warning else {
        return Ok((content, None));
    };
    let aside = put_aside(disk, path, path, "bad")?;
    disk.remove(path).during("remove", path)?;
    Ok((
        content,
        Some(format!("{warning}; kept as {}", aside.display())),
    ))
}

/// The same, but changes nothing: a damaged one stays where it is.
pub(super) fn peek<T: DeserializeOwned + Default>(
    disk: &dyn Disk,
    path: &Path,
) -> Result<(T, Option<String>), StoreError> {
    let Some((_, text)) = disk.read(path).during("read", path)? else {
        return Ok((T::default(), None));
    };
    Ok(match parse(&text) {
        Ok(content) => (content, None),
        Err(reason) => {
            let warning = format!("{} is not used: {reason}", path.display());
            (T::default(), Some(warning))
        }
    })
}

/// Writes a record whole and flushes it. Returns the file that holds it.
pub(super) fn save<T: Serialize>(
    disk: &dyn Disk,
    path: &Path,
    content: &T,
) -> Result<FileIdentity, StoreError> {
    let envelope = Envelope {
        format: FORMAT,
        content,
    };
    let text = serde_json::to_vec_pretty(&envelope)
        .map_err(std::io::Error::from)
        .during("encode", path)?;
    write_whole(disk, path, &text, &PRIVATE)
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    // Through a value, so that a later format is named as such and not by the first field that it changed.
    let envelope: Envelope<serde_json::Value> =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if envelope.format != FORMAT {
        return Err(format!(
            "it has format {}, this host knows {FORMAT}",
            envelope.format
        ));
    }
    serde_json::from_value(envelope.content).map_err(|error| error.to_string())
}

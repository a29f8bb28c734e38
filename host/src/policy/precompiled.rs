//! Machine code in a file: how it is written, and when it is believed.
//!
//! This is the one place of the project with `unsafe` in it. Code from a file runs with all that this process may do, so a file
//! counts only if nobody but this process's user can have written it, and if it is whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use wasmtime::component::Component;

use super::cause::Cause;
use super::code_cache::Key;

/// How a file of ours begins; another layout gets another number.
const MAGIC: [u8; 16] = *b"locum code v001\n";
/// After the magic: the code's length (u64, little-endian), then SHA-256 over key and code.
const HEADER: usize = MAGIC.len() + 8 + 32;
/// Nobody but the owner writes it.
const OTHERS_WRITE: u32 = 0o022;

/// Why a file of code is not used, or not written. Never a failure: the component is compiled again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// It is not there: what was never compiled, or was pruned.
    #[error("it is not there")]
    Missing,
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It belongs to another user.
    #[error("it belongs to the user {owner}, and this is {own}")]
    Owner { owner: u32, own: u32 },
    /// Others may write to it.
    #[error("others may write to it (mode {0:o})")]
    Mode(u32),
    /// A folder, pipe or device.
    #[error("it is not a regular file")]
    Kind,
    /// Cut off, changed, or not what its name says.
    #[error("it is damaged")]
    Damaged,
    /// Another wasmtime, or other settings; the key should have told.
    #[error("wasmtime does not take it: {0}")]
    Wasmtime(Cause),
}

impl From<Errno> for Unusable {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            other => Self::Io(other.into()),
        }
    }
}

/// A folder that belongs to us alone. What is done in it goes through the descriptor that was checked.
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, Unusable> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        check_ours(&fstat(&folder)?)?;
        Ok(Self(folder))
    }

    /// The code under a key, ready to run; its file then counts as just used.
    pub(super) fn load(&self, key: &Key, engine: &wasmtime::Engine) -> Result<Component, Unusable> {
        // A pipe would block otherwise.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, key.file_name(), flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Unusable::Kind);
        }
        check_ours(&stat)?;
        let mut file = File::from(file);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let component = deserialize(engine, decode(key, &bytes).ok_or(Unusable::Damaged)?)?;
        // Only the order of pruning depends on it.
        let _ = file.set_modified(SystemTime::now());
        Ok(component)
    }

    /// Puts code under a key: under another name first. It is not synced, since a torn file is found out by its header.
    pub(super) fn store(&self, key: &Key, code: &[u8], temporary: &str) -> Result<(), Unusable> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        let written = file
            .write_all(&header(key, code))
            .and_then(|()| file.write_all(code))
            .and_then(|()| Ok(renameat(&self.0, temporary, &self.0, key.file_name())?));
        if written.is_err() {
            // What cannot be removed is pruned later.
            let _ = unlinkat(&self.0, temporary, AtFlags::empty());
        }
        Ok(written?)
    }
}

fn check_ours(stat: &Stat) -> Result<(), Unusable> {
    let (owner, own, mode) = (stat.st_uid, geteuid().as_raw(), stat.st_mode);
    if owner != own {
        return Err(Unusable::Owner { owner, own });
    }
    if mode & OTHERS_WRITE != 0 {
        return Err(Unusable::Mode(mode & 0o7777));
    }
    Ok(())
}

fn header(key: &Key, code: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend((code.len() as u64).to_le_bytes());
    header.extend(digest(key, code));
    header
}

/// The code of a file that is whole and stands under its own key.
fn decode<'a>(key: &Key, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (expected, code) = rest.split_first_chunk::<32>()?;
    let whole = u64::from_le_bytes(*length) == code.len() as u64;
    (whole && *expected == digest(key, code)).then_some(code)
}

/// Over the key too: code under the name of another component would be sound, and wrong.
fn digest(key: &Key, code: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(key.file_name());
    digest.update(code);
    digest.finalize().into()
}

#[expect(
    unsafe_code,
    reason = "wasmtime cannot check machine code; why it may be believed is said inside"
)]
fn deserialize(engine: &wasmtime::Engine, code: &[u8]) -> Result<Component, Unusable> {
    // SAFETY: wasmtime asks for the unchanged bytes of `Component::serialize`, from the same wasmtime. They come out of a regular
    // file that belongs to our own user, in a folder that does, and nobody else may write to either: whoever could have forged
    // them could as well replace this process's binary. Our own writer puts only `serialize`'s bytes under such a name. That they
    // are unchanged the digest says, and they are in memory already, so that nobody changes them after the check. The key is made
    // from wasmtime's version, target and settings, which wasmtime itself compares once more.
    let component = unsafe { Component::deserialize(engine, code) };
    component.map_err(|error| Unusable::Wasmtime(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(component: &str) -> Key {
        Key::of(&wasmtime::Engine::default(), component)
    }

    #[test]
    fn only_a_whole_file_under_its_own_key_is_decoded() {
        let code = b"machine code";
        let file = [header(&key("a"), code).as_slice(), code].concat();
        assert_eq!(decode(&key("a"), &file), Some(&code[..]));
        assert_eq!(decode(&key("b"), &file), None, "another component's code");
        for length in 0..file.len() {
            assert_eq!(
                decode(&key("a"), &file[..length]),
                None,
                "{length} bytes of it"
            );
        }
        assert_eq!(decode(&key("a"), &[&file[..], b"\0"].concat()), None);
        for at in 0..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert_eq!(decode(&key("a"), &flipped), None, "byte {at} changed");
        }
    }

    #[test]
    fn bytes_that_are_no_code_are_refused_by_wasmtime() {
        let error = deserialize(&wasmtime::Engine::default(), b"machine code").unwrap_err();
        assert!(matches!(error, Unusable::Wasmtime(_)), "{error}");
    }

    #[test]
    fn a_file_is_ours_if_nobody_else_may_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut stat = fstat(File::open(folder.path()).unwrap()).unwrap();
        for (mode, fits) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false)] {
            stat.st_mode = mode;
            assert_eq!(check_ours(&stat).is_ok(), fits, "{mode:o}");
        }
        stat.st_mode = 0o700;
        stat.st_uid += 1;
        assert!(matches!(check_ours(&stat), Err(Unusable::Owner { .. })));
    }
}

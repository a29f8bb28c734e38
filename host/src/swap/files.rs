//! The plugin files that slots use, judged by content.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hash::sha256;

/// A file's bytes and their hash.
#[derive(Clone)]
pub(crate) struct Content {
    /// The whole file.
    pub(crate) bytes: Arc<[u8]>,
    /// SHA-256 in hex.
    pub(crate) sha256: String,
}

/// What a look at a file found.
#[derive(Clone)]
pub(crate) enum Seen {
    /// A content that the last look did not find.
    New(Content),
    /// What the last look found.
    Same,
    /// The file is not there. What runs goes on.
    Missing,
    /// It cannot be read, or is larger than any component may be. What runs goes on.
    Unreadable(String),
}

/// The hash that was last found in each file.
pub(crate) struct Files {
    folder: PathBuf,
    max_bytes: u64,
    hashes: BTreeMap<PathBuf, String>,
}

impl Files {
    /// Files in `folder`, none larger than `max_bytes`.
    pub(crate) fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self {
            folder,
            max_bytes,
            hashes: BTreeMap::new(),
        }
    }

    /// Reads `file`, relative to the folder. Blocking.
    pub(crate) fn look(&mut self, file: &Path) -> Seen {
        match self.read(file) {
            Ok(Some(content)) if self.hashes.get(file) == Some(&content.sha256) => Seen::Same,
            Ok(Some(content)) => {
                self.hashes.insert(file.to_owned(), content.sha256.clone());
                Seen::New(content)
            }
            Ok(None) => {
                self.hashes.remove(file);
                Seen::Missing
            }
            Err(why) => {
                self.hashes.remove(file);
                Seen::Unreadable(why)
            }
        }
    }

    /// Where a file is, or would be.
    pub(crate) fn path(&self, file: &Path) -> PathBuf {
        self.folder.join(file)
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, String> {
        let path = self.path(file);
        let told = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        match std::fs::metadata(&path) {
            // A pipe or a device would block or never end.
            Ok(found) if !found.is_file() => {
                return Err(format!("{} is not a file", path.display()));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(told(error)),
        }
        let mut bytes = Vec::new();
        // Not by the size that it says: it may grow meanwhile.
        File::open(&path)
            .and_then(|file| file.take(self.max_bytes + 1).read_to_end(&mut bytes))
            .map_err(told)?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(format!(
                "{} is larger than the {} bytes that a component may have",
                path.display(),
                self.max_bytes
            ));
        }
        let sha256 = sha256(&bytes);
        Ok(Some(Content {
            bytes: bytes.into(),
            sha256,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(seen: &Seen) -> &'static str {
        match seen {
            Seen::New(_) => "new",
            Seen::Same => "same",
            Seen::Missing => "missing",
            Seen::Unreadable(_) => "unreadable",
        }
    }

    #[test]
    fn a_file_is_judged_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("topic.wasm");
        let mut files = Files::new(folder.path().to_owned(), 10);
        let mut look = |expected: &str| {
            let seen = files.look(Path::new("topic.wasm"));
            assert_eq!(word(&seen), expected);
        };
        look("missing");
        std::fs::write(&path, "one").unwrap();
        look("new");
        std::fs::write(&path, "one").unwrap();
        look("same");
        std::fs::write(&path, "two").unwrap();
        look("new");
        std::fs::remove_file(&path).unwrap();
        look("missing");
        std::fs::write(&path, "two").unwrap();
        look("new");
        std::fs::write(&path, "far too long").unwrap();
        look("unreadable");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        look("unreadable");
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        look("unreadable");
        std::fs::remove_file(&path).unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, pipe, rustix::fs::Mode::RUSR, 0).unwrap();
        look("unreadable");
    }
}

//! Compiled code, kept over restarts: a component that was compiled once is there in a millisecond.
//!
//! The cache is never needed. Whatever is wrong with it, the component is compiled again, and nobody waits for its disk: a file is
//! written after the policy was handed over, and not synced.

use std::fs::{self, DirBuilder, DirEntry};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use wasmtime::component::Component;

use super::precompiled::{Folder, Unusable};

const CODE: &str = "cwasm";
const TEMPORARY: &str = "tmp";
/// A temporary file that is older than this was left behind: writing one takes milliseconds.
const STALE: Duration = Duration::from_mins(1);

/// What code is found by: the component, and everything that makes wasmtime compile it in another way.
pub(super) struct Key(String);

impl Key {
    /// `component` is the hash of its bytes.
    pub(super) fn of(engine: &wasmtime::Engine, component: &str) -> Self {
        let mut feed = Feed(Sha256::new());
        component.hash(&mut feed);
        // wasmtime's version, the target, the CPU's features, and the settings.
        engine.precompile_compatibility_hash().hash(&mut feed);
        Self(format!("{:x}.{CODE}", feed.0.finalize()))
    }

    pub(super) fn file_name(&self) -> &str {
        &self.0
    }
}

/// Passes on all that is hashed to SHA-256. The standard hasher's 64 bits are too few for a name, and not the same tomorrow.
struct Feed(Sha256);

impl Hasher for Feed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks: the digest is taken out whole.
    fn finish(&self) -> u64 {
        0
    }
}

/// A folder of compiled components. It belongs to this host; several hosts may share one.
pub(super) struct CodeCache {
    folder: PathBuf,
    writers: Mutex<Vec<JoinHandle<()>>>,
}

impl CodeCache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            writers: Mutex::default(),
        }
    }

    /// The code under a key, where it can be used.
    pub(super) fn get(&self, key: &Key, engine: &wasmtime::Engine) -> Option<Component> {
        match Folder::open(&self.folder).and_then(|folder| folder.load(key, engine)) {
            Ok(component) => Some(component),
            Err(Unusable::Missing) => None,
            Err(reason) => {
                let (folder, file) = (self.folder.display(), key.file_name());
                tracing::debug!(%folder, file, %reason, "compiled code is not used");
                None
            }
        }
    }

    /// Writes what was compiled, on a thread of its own.
    pub(super) fn put(self: &Arc<Self>, key: Key, component: Component) {
        let cache = Arc::clone(self);
        let write = move || {
            if let Err(reason) = cache.write(&key, &component) {
                let (folder, file) = (cache.folder.display(), key.file_name());
                tracing::debug!(%folder, file, %reason, "compiled code is not kept");
            }
        };
        // Without a thread it is not kept: the next start compiles again.
        if let Ok(writer) = thread::Builder::new().name("code".to_owned()).spawn(write) {
            let mut writers = self.writers.lock();
            writers.retain(|writer| !writer.is_finished());
            writers.push(writer);
        }
    }

    fn write(&self, key: &Key, component: &Component) -> Result<(), Unusable> {
        /// Two threads, two processes: no temporary file twice.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{}.{number}.{TEMPORARY}", std::process::id());
        let code = component
            .serialize()
            .map_err(|error| Unusable::Wasmtime(error.into()))?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        Folder::open(&self.folder)?.store(key, &code, &temporary)
    }

    /// Waits for everything that is being written.
    pub(super) fn wait(&self) {
        let writers = std::mem::take(&mut *self.writers.lock());
        for writer in writers {
            // A writer that panicked has not written; nobody depends on it.
            let _ = writer.join();
        }
    }

    /// Removes all but the `keep` files that were used last, and temporary files that were left behind.
    pub(super) fn prune(&self, keep: usize) {
        if let Err(reason) = self.try_prune(keep) {
            tracing::debug!(folder = %self.folder.display(), %reason, "compiled code is not pruned");
        }
    }

    fn try_prune(&self, keep: usize) -> Result<(), Unusable> {
        match Folder::open(&self.folder) {
            Ok(_) => {}
            Err(Unusable::Missing) => return Ok(()),
            Err(reason) => return Err(reason),
        }
        let mut code = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            let Ok(used) = modified(&entry) else {
                continue;
            };
            match path.extension().and_then(|end| end.to_str()) {
                Some(CODE) => code.push((used, path)),
                Some(TEMPORARY) if is_stale(used) => remove(&path),
                _ => {}
            }
        }
        code.sort();
        let surplus = code.len().saturating_sub(keep);
        code.iter().take(surplus).for_each(|(_, path)| remove(path));
        Ok(())
    }
}

fn modified(entry: &DirEntry) -> io::Result<SystemTime> {
    entry.metadata()?.modified()
}

fn is_stale(modified: SystemTime) -> bool {
    modified.elapsed().is_ok_and(|age| age > STALE)
}

/// Another host may have been faster.
fn remove(path: &Path) {
    if let Err(reason) = fs::remove_file(path) {
        tracing::debug!(file = %path.display(), %reason, "compiled code is not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::config;
    use super::*;

    #[test]
    fn a_key_tells_components_and_settings_apart() {
        let engine = |change: fn(&mut wasmtime::Config)| {
            let mut config = config();
            change(&mut config);
            wasmtime::Engine::new(&config).unwrap()
        };
        let plain = engine(|_| {});
        let key = |engine: &wasmtime::Engine, component: &str| Key::of(engine, component).0;
        assert_eq!(key(&plain, "a"), key(&engine(|_| {}), "a"));
        assert_ne!(key(&plain, "a"), key(&plain, "b"));
        let changes: [fn(&mut wasmtime::Config); 4] = [
            |config| {
                config.consume_fuel(true);
            },
            |config| {
                config.epoch_interruption(false);
            },
            |config| {
                config.cranelift_opt_level(wasmtime::OptLevel::None);
            },
            |config| {
                let version = wasmtime::ModuleVersionStrategy::Custom("another".to_owned());
                config.module_version(version).unwrap();
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert_ne!(
                key(&plain, "a"),
                key(&engine(change), "a"),
                "change {number}"
            );
        }
        assert!(key(&plain, "a").len() == 64 + ".cwasm".len());
    }
}

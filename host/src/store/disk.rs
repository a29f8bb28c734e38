//! What the store asks of the machine, as a trait of few calls, so that tests can fail, record or cut off any of them.

use std::any::Any;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown,
};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
use serde::{Deserialize, Serialize};

/// A path may go through this many symbolic links, as in Linux.
const MAX_LINKS: usize = 40;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, nanoseconds since 1970.
    pub mtime_ns: i64,
}

/// What `stat` says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Inode, size and time.
    pub identity: FileIdentity,
    /// The file system it is on; with the inode, this names the file. Not stable over a reboot.
    pub device: u64,
    /// Permission bits, without the file type.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// Whether both are links to one file.
    pub fn same_file(&self, other: &Self) -> bool {
        (self.device, self.identity.inode) == (other.device, other.identity.inode)
    }
}

impl From<&fs::Metadata> for Stat {
    fn from(metadata: &fs::Metadata) -> Self {
        Self {
            identity: FileIdentity {
                inode: metadata.ino(),
                size: metadata.size(),
                mtime_ns: metadata
                    .mtime()
                    .saturating_mul(1_000_000_000)
                    .saturating_add(metadata.mtime_nsec()),
            },
            device: metadata.dev(),
            mode: metadata.mode() & 0o7777,
            uid: metadata.uid(),
            gid: metadata.gid(),
        }
    }
}

/// Mode and owner of a file that the store makes. A broker under another user that cannot read its metadata boots
/// empty, and 5.5.0 deletes what it could not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// Permission bits, whatever the umask.
    pub mode: u32,
    /// User id; `None` leaves the one of this process.
    pub owner: Option<u32>,
    /// Group id; `None` leaves the one of this process.
    pub group: Option<u32>,
}

impl Default for Ownership {
    fn default() -> Self {
        Self {
            mode: 0o644,
            owner: None,
            group: None,
        }
    }
}

impl From<Stat> for Ownership {
    fn from(stat: Stat) -> Self {
        Self {
            mode: stat.mode,
            owner: Some(stat.uid),
            group: Some(stat.gid),
        }
    }
}

/// Who holds a POSIX record lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Process id, if the holder is visible from here (it is not from another pid namespace).
    pub pid: Option<i32>,
}

/// The answer to a wish for our own lock.
pub enum Locking {
    /// Ours until `lock` is dropped or the process ends.
    Held {
        /// Keeps it.
        lock: Box<dyn Any + Send + Sync>,
        /// The file that is locked: one that somebody puts at its path later is another, and free.
        stat: Stat,
    },
    /// Somebody else has it; the text that the holder left.
    HeldBy(String),
}

/// A file that was just made and has no name that anybody looks for.
pub trait NewFile: Send {
    /// Writes all of `bytes` at the end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Sets owner, group and mode, in this order, since a change of owner clears mode bits.
    fn set_ownership(&mut self, ownership: &Ownership) -> io::Result<()>;
    /// Content and attributes are on the medium when this returns.
    fn sync(&mut self) -> io::Result<()>;
    /// The file as it is now.
    fn stat(&self) -> io::Result<Stat>;
}

/// The machine under the store. Each call is one step that can fail; none retries.
pub trait Disk: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// `None` when there is nothing at the path. Follows links.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;
    /// The whole content with the stat of the very file that was read. `None` when there is nothing at the path.
    fn read(&self, path: &Path) -> io::Result<Option<(Stat, Vec<u8>)>>;
    /// Names in a directory, in no order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Follows symbolic links in the last part of the path, to a name that is none; that one need not exist.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;
    /// Makes a file that must not exist yet (`O_EXCL`).
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;
    /// Gives a file a second name that must not exist yet.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames over whatever is at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes one name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes one directory in an existing one, with this mode whatever the umask.
    fn create_directory(&self, path: &Path, ownership: &Ownership) -> io::Result<()>;
    /// The names in the directory are on the medium when this returns.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Asks for our own lock (`flock`) on a file that is made if need be, and leaves `text` in it.
    fn lock(&self, path: &Path, text: &str) -> io::Result<Locking>;
    /// Asks with `F_GETLK` who holds byte 0, as a broker does, and never takes it. Own locks are not seen.
    fn lock_holder(&self, path: &Path) -> io::Result<Option<Holder>>;
}

/// The real one.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        Ok(present(fs::metadata(path))?.map(|metadata| Stat::from(&metadata)))
    }

    fn read(&self, path: &Path) -> io::Result<Option<(Stat, Vec<u8>)>> {
        let Some(metadata) = present(fs::metadata(path))? else {
            return Ok(None);
        };
        // Asked before open, which would wait for ever on a named pipe.
        if !metadata.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let Some(mut file) = present(File::open(path))? else {
            return Ok(None);
        };
        let stat = Stat::from(&file.metadata()?);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some((stat, bytes)))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut at = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            match present(fs::symlink_metadata(&at))? {
                Some(metadata) if metadata.is_symlink() => {
                    let target = fs::read_link(&at)?;
                    at = at
                        .parent()
                        .map_or_else(|| target.clone(), |parent| parent.join(&target));
                }
                _ => return Ok(at),
            }
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_directory(&self, path: &Path, ownership: &Ownership) -> io::Result<()> {
        DirBuilder::new().mode(ownership.mode).create(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(ownership.mode))?;
        if ownership.owner.is_some() || ownership.group.is_some() {
            chown(path, ownership.owner, ownership.group)?;
        }
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn lock(&self, path: &Path, text: &str) -> io::Result<Locking> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                file.write_all(text.as_bytes())?;
                let stat = Stat::from(&file.metadata()?);
                Ok(Locking::Held {
                    lock: Box::new(file),
                    stat,
                })
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder)?;
                Ok(Locking::HeldBy(holder.trim().to_owned()))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<Holder>> {
        let Some(file) = present(File::open(path))? else {
            return Ok(None);
        };
        // What `FileChannel.tryLock(0, 1, false)` of DefaultMessageStore.start takes.
        let wanted = Flock {
            start: 0,
            length: 1,
            pid: None,
            typ: FlockType::WriteLock,
            offset_type: FlockOffsetType::Set,
        };
        let holder = fcntl_getlk(&file, &wanted)?;
        Ok(holder.map(|lock| Holder {
            pid: lock.pid.map(|pid| pid.as_raw_nonzero().get()),
        }))
    }
}

struct RealFile(File);

impl NewFile for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn set_ownership(&mut self, ownership: &Ownership) -> io::Result<()> {
        // Only what differs: a host that is not root may keep what it has, but not give it away.
        let now = self.stat()?;
        let owner = ownership.owner.filter(|uid| *uid != now.uid);
        let group = ownership.group.filter(|gid| *gid != now.gid);
        if owner.is_some() || group.is_some() {
            fchown(&self.0, owner, group)?;
        }
        self.0
            .set_permissions(fs::Permissions::from_mode(ownership.mode))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat::from(&self.0.metadata()?))
    }
}

/// Nothing there is an answer, not an error.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

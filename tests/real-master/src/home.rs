//! The directory that a Java process has for itself.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;

/// 4.9.x reads its logging set-up from a file that is in no jar, and ends when it is missing. 5.x has its own inside.
const LOGBACK: &str = "\
<configuration>
  <appender name=\"out\" class=\"ch.qos.logback.core.ConsoleAppender\">
    <encoder><pattern>%d %p %c{0} %m%n</pattern></encoder>
  </appender>
  <root level=\"WARN\"><appender-ref ref=\"out\"/></root>
</configuration>
";

/// A temporary directory: `ROCKETMQ_HOME`, `user.home` and `java.io.tmpdir` of one process. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
    owner: Option<u32>,
}

impl Home {
    /// `owner` is the user whom the process will run as, if not ours.
    pub(crate) fn new(owner: Option<u32>) -> Result<Self, Error> {
        let directory = tempfile::Builder::new()
            .prefix("locum-real-")
            .tempdir()
            .map_err(Error::io("create", Path::new("a temporary directory")))?;
        let home = Self { directory, owner };
        let readable = Permissions::from_mode(0o755);
        fs::set_permissions(home.path(), readable).map_err(Error::io("open up", home.path()))?;
        home.give(home.path())?;
        home.folder("conf")?;
        for program in ["namesrv", "broker"] {
            home.file(&format!("conf/logback_{program}.xml"), LOGBACK)?;
        }
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file of this content in it.
    pub(crate) fn file(&self, name: &str, content: &str) -> Result<PathBuf, Error> {
        let path = self.path().join(name);
        fs::write(&path, content).map_err(Error::io("write", &path))?;
        Ok(path)
    }

    /// A folder in it that the process may write to.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.path().join(name);
        self.folder_at(&path)?;
        Ok(path)
    }

    /// A folder anywhere that the process may write to. What is in it keeps its owner.
    pub(crate) fn folder_at(&self, path: &Path) -> Result<(), Error> {
        fs::create_dir_all(path).map_err(Error::io("create", path))?;
        self.give(path)
    }

    fn give(&self, path: &Path) -> Result<(), Error> {
        match self.owner {
            Some(user) => chown(path, Some(user), Some(user)).map_err(Error::io("give away", path)),
            None => Ok(()),
        }
    }
}

//! One Java process, from its start to its end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::home::Home;
use crate::{Classpath, Error, Version, wait_for};

/// A start takes 2 to 4 seconds; on a loaded machine several times that.
const START: Duration = Duration::from_secs(90);
/// A broker's own shutdown takes 7 (4.9) to 18 (5.x) seconds, waiting for its threads one after the other.
const STOP: Duration = Duration::from_secs(60);
/// How much of its output an error shows.
const SHOWN: usize = 4000;

/// Small heaps and quick starts, and what JDK 17 must open for RocketMQ's mapped files.
const OPTIONS: [&str; 11] = [
    "-Xms64m",
    "-Xmx384m",
    "-XX:MaxDirectMemorySize=256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
];

/// What to start.
pub(crate) struct Launch<'a> {
    /// For messages: `broker`.
    pub(crate) what: &'static str,
    pub(crate) version: Version,
    pub(crate) main_class: &'static str,
    /// Handed over with `-c`.
    pub(crate) config: &'a Path,
    pub(crate) jvm_options: &'a [String],
    /// Run as this user and group, by `setpriv`.
    pub(crate) user: Option<u32>,
}

/// A running (or ended) process; dropped means killed.
#[derive(Debug)]
pub(crate) struct Java {
    name: String,
    child: Child,
    output: PathBuf,
}

impl Java {
    pub(crate) fn start(launch: &Launch<'_>, home: &Home) -> Result<Self, Error> {
        let mut classpath = Classpath::of(launch.version)?;
        if launch.user.is_some() {
            classpath = classpath.linked_into(&home.path().join("jars"))?;
        }
        let output = home.path().join("output");
        let file = File::options().create(true).append(true).open(&output);
        let file = file.map_err(Error::io("open", &output))?;
        let second = file.try_clone().map_err(Error::io("open", &output))?;
        let child = program(launch.user)
            .args(OPTIONS)
            .args(launch.jvm_options)
            .args(
                ["user.home", "java.io.tmpdir", "rocketmq.home.dir"]
                    .map(|name| in_home(name, home)),
            )
            .arg("-cp")
            .arg(classpath.argument())
            .arg(launch.main_class)
            .arg("-c")
            .arg(launch.config)
            .current_dir(home.path())
            .env("ROCKETMQ_HOME", home.path())
            .env_remove("NAMESRV_ADDR")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(second)
            .spawn()
            .map_err(Error::io("run", Path::new("java")))?;
        Ok(Self {
            name: format!("{} {}", launch.what, launch.version),
            child,
            output,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the probe says that it serves.
    pub(crate) fn await_ready(&mut self, mut serves: impl FnMut() -> bool) -> Result<(), Error> {
        let what = format!("an answer from {}", self.name);
        let ready = wait_for(&what, START, || {
            if let Some(status) = self.ended()? {
                return Err(self.failed(format!("ended at the start ({status})")));
            }
            Ok(serves().then_some(()))
        });
        match ready {
            Err(Error::TimedOut { .. }) => Err(self.failed(format!("did not answer in {START:?}"))),
            other => other,
        }
    }

    /// Lets it shut down by itself (SIGTERM), which writes its tables.
    pub(crate) fn terminate(&mut self) -> Result<(), Error> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        if let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM)
                .map_err(|errno| Error::io("stop", &self.output)(errno.into()))?;
        }
        let stopped = wait_for("the end", STOP, || self.ended());
        if stopped.is_err() {
            self.kill();
            return Err(self.failed(format!("had to be killed {STOP:?} after SIGTERM")));
        }
        Ok(())
    }

    /// Ends it at once (SIGKILL), as a power cut does.
    pub(crate) fn kill(&mut self) {
        // Both fail only when it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        let ended = self.child.try_wait();
        ended.map_err(Error::io("wait for", &self.output))
    }

    fn failed(&self, what: String) -> Error {
        let printed = fs::read(&self.output).unwrap_or_default();
        let end = printed.len().saturating_sub(SHOWN);
        Error::Process {
            process: self.name.clone(),
            what,
            output: String::from_utf8_lossy(printed.get(end..).unwrap_or_default()).into_owned(),
        }
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `java`, if need be as another user; `setpriv` becomes it, so the pid is Java's.
fn program(user: Option<u32>) -> Command {
    let Some(user) = user else {
        return Command::new("java");
    };
    let mut command = Command::new("setpriv");
    command
        .args([format!("--reuid={user}"), format!("--regid={user}")])
        .args(["--clear-groups", "java"]);
    command
}

/// A system property that names the home.
fn in_home(property: &str, home: &Home) -> OsString {
    let mut option = OsString::from(format!("-D{property}="));
    option.push(home.path());
    option
}

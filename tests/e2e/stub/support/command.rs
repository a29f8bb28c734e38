//! The `locum` command as a script uses it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::soon;

const BINARY: &str = env!("CARGO_BIN_EXE_locum");

/// A command line in the making.
pub(crate) struct Locum(Command);

/// How it ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Locum {
    /// `locum` with these words, in a clean environment.
    pub(crate) fn new(words: &[&str]) -> Self {
        Self::of(BINARY, words)
    }

    fn of(program: &str, words: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(words)
            .env_remove("LOCUM_CONFIG")
            .env_remove("NAMESRV_ADDR")
            .env_remove("LOCUM_LOG")
            .env_remove("LOCUM_LOG_FORMAT")
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self(command)
    }

    /// With a configuration file, as the operator's shell would name it.
    pub(crate) fn config(mut self, path: &Path) -> Self {
        self.0.env("LOCUM_CONFIG", path);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn working_in(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Its standard output leads nowhere.
    pub(crate) fn without_reader(mut self) -> Self {
        let (_, writer) = std::io::pipe().unwrap();
        self.0.stdout(writer);
        self
    }

    /// Runs it to its end.
    pub(crate) async fn end(self) -> Output {
        soon(Output::of(self.0)).await
    }

    /// For what takes its time.
    pub(crate) fn into_command(self) -> Command {
        self.0
    }

    /// Runs it to an end with this code.
    pub(crate) async fn expect(self, code: i32) -> Output {
        let output = self.end().await;
        assert_eq!(output.code, code, "{output:#?}");
        output
    }

    /// Starts `locum run`, and returns when it serves its socket.
    pub(crate) async fn run(config: &Path) -> Running {
        Self::new(&["run"]).started(config).await
    }

    /// The same with this log filter.
    pub(crate) async fn run_with_log(config: &Path, filter: &str) -> Running {
        Self::new(&["run"])
            .env("LOCUM_LOG", filter)
            .started(config)
            .await
    }

    /// The same with so many KiB of address space.
    pub(crate) async fn run_within(config: &Path, kib: u64) -> Running {
        let limited = format!(r#"ulimit -v {kib} && exec "$0" run"#);
        Self::of("sh", &["-c", &limited, BINARY])
            .started(config)
            .await
    }

    async fn started(self, config: &Path) -> Running {
        let mut child = self.config(config).0.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let mut running = Running {
            child,
            log: BufReader::new(stderr).lines(),
            said: Vec::new(),
            config: config.to_owned(),
        };
        running.until("running").await;
        running
    }
}

impl Output {
    /// Runs a command to its end.
    pub(crate) async fn of(mut command: Command) -> Self {
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// A host of its own process. Killed if a test ends early.
pub(crate) struct Running {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    said: Vec<String>,
    config: PathBuf,
}

impl Running {
    /// Waits for a log line that contains the text.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        loop {
            let line = soon(self.log.next_line()).await.unwrap();
            let line = line.unwrap_or_else(|| panic!("no `{text}` in {:#?}", self.said));
            self.said.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .unwrap()
    }

    /// Another command to it.
    pub(crate) fn command(&self, words: &[&str]) -> Locum {
        Locum::new(words).config(&self.config)
    }

    /// As a power cut would.
    pub(crate) async fn kill(mut self) {
        soon(self.child.kill()).await.unwrap();
    }

    /// Asks it to stop, and waits; its exit code, and all that it logged.
    pub(crate) async fn terminate(mut self) -> (i32, String) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        while let Some(line) = soon(self.log.next_line()).await.unwrap() {
            self.said.push(line);
        }
        let status = soon(self.child.wait()).await.unwrap();
        (
            status.code().expect("it was not killed"),
            self.said.join("\n"),
        )
    }
}

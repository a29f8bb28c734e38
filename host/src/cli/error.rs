//! Errors as an operator sees them, with the exit code that a script sees.

use locum::admin::{CallError, SocketError};
use locum::policy::EngineError;
use locum::status::ErrorKind;
use locum::store::StoreError;
use locum::telemetry::chain;
use locum::{ConfigError, OpenReplicaError, StartError};

/// Exit codes: those of `sysexits.h`, and 2 for "differs".
pub(super) mod exit {
    /// An exit code.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Code(u8);

    impl From<Code> for std::process::ExitCode {
        fn from(code: Code) -> Self {
            Self::from(code.0)
        }
    }

    pub(crate) const OK: Code = Code(0);
    pub(crate) const DIFFERS: Code = Code(2);
    pub(crate) const USAGE: Code = Code(64);
    pub(crate) const BAD_DATA: Code = Code(65);
    pub(crate) const UNREACHABLE: Code = Code(69);
    pub(crate) const INTERNAL: Code = Code(70);
    pub(crate) const DISK: Code = Code(74);
    pub(crate) const TRY_AGAIN: Code = Code(75);
    pub(crate) const REFUSED: Code = Code(77);
    pub(crate) const CONFIG: Code = Code(78);
}

/// The exit code of a kind of failure.
pub(super) fn code_of(kind: ErrorKind) -> exit::Code {
    match kind {
        ErrorKind::Unreachable => exit::UNREACHABLE,
        ErrorKind::Refused => exit::REFUSED,
        ErrorKind::BadData => exit::BAD_DATA,
        ErrorKind::Disk => exit::DISK,
        ErrorKind::InUse => exit::TRY_AGAIN,
        ErrorKind::Config => exit::CONFIG,
        ErrorKind::Internal => exit::INTERNAL,
    }
}

/// What ends a command, with the code that it ends with.
#[derive(Debug)]
pub(super) struct CliError {
    text: String,
    code: exit::Code,
}

impl CliError {
    pub(super) fn new(code: exit::Code, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code,
        }
    }

    /// A replica that nobody configured.
    pub(super) fn unknown_replica<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<_> = known.collect();
        let known = known.join(", ");
        Self::new(
            exit::CONFIG,
            format!("there is no replica `{name}`; there is: {known}"),
        )
    }

    pub(super) fn code(&self) -> exit::Code {
        self.code
    }
}

impl std::fmt::Display for CliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::new(exit::CONFIG, chain(&error))
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::new(exit::DISK, error.to_string())
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::new(exit::DISK, chain(&error))
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        Self::new(exit::INTERNAL, chain(&error))
    }
}

#[cfg(feature = "author")]
impl From<policies::Error> for CliError {
    fn from(error: policies::Error) -> Self {
        use policies::Error;
        let code = match &error {
            Error::Name { .. }
            | Error::Exists { .. }
            | Error::NothingToUpdate { .. }
            | Error::NoCrate { .. } => exit::USAGE,
            Error::NoLibrary { .. }
            | Error::ForeignSdk { .. }
            | Error::Cargo { .. }
            | Error::Encode { .. }
            | Error::TooLarge { .. }
            | Error::ForeignImport { .. } => exit::BAD_DATA,
            Error::TargetMissing { .. } | Error::NoTool { .. } => exit::CONFIG,
            Error::Io { .. } => exit::DISK,
        };
        Self::new(code, chain(&error))
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let code = match &error {
            StartError::Engine(_) | StartError::Threads(_) => exit::INTERNAL,
            StartError::Stopped => exit::TRY_AGAIN,
            StartError::Name(_) | StartError::NameTaken(_) => exit::CONFIG,
            StartError::Replica { source, .. } => code_of(OpenReplicaError::kind(source)),
        };
        Self::new(code, chain(&error))
    }
}

impl From<SocketError> for CliError {
    fn from(error: SocketError) -> Self {
        let code = match error {
            SocketError::Running(_) | SocketError::NotRunning(_) => exit::TRY_AGAIN,
            SocketError::Io { .. } => exit::DISK,
        };
        Self::new(code, chain(&error))
    }
}

impl From<CallError> for CliError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Socket(error) => error.into(),
            CallError::Host(error) => Self::new(code_of(error.kind), error.error),
            // The host went in the middle of it.
            error @ CallError::Http(_) => Self::new(exit::TRY_AGAIN, chain(&error)),
            error => Self::new(exit::INTERNAL, chain(&error)),
        }
    }
}

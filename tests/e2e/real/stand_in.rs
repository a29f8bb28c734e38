//! A stand-in's directory with everything that a host needs for it, and the binary that is run on it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use real_master::Broker;
use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::tables::{Generation, Tables};
use crate::watched::Watched;

/// The replica's name.
pub(crate) const REPLICA: &str = "broker-a";

/// A home with a configuration of one replica, the four policies, and the store whose `config` the replica fills.
pub(crate) struct StandIn {
    home: TempDir,
}

impl StandIn {
    /// A stand-in of this master, with short periods; nothing runs yet, and the directory is not there.
    pub(crate) fn of(master: &Broker) -> Self {
        let home = tempfile::Builder::new()
            .prefix("locum-e2e-")
            .tempdir()
            .unwrap();
        // A broker under another user has to come through.
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        let stand_in = Self { home };
        stand_in.install_policies();
        let config = format!(
            "[replica.{REPLICA}]\n\
             directory = \"standby/config\"\n\
             master = \"{}\"\n\
             first-delay = \"0s\"\n\
             period = \"250ms\"\n",
            master.address()
        );
        fs::write(stand_in.config(), config).unwrap();
        stand_in
    }

    /// Finds the master of `broker-a` by these name servers instead of by its address.
    pub(crate) fn find_by(&self, name_servers: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        let keys =
            format!("name-servers = \"{name_servers}\"\ncluster = \"C1\"\nbroker = \"broker-a\"");
        let line = |line: &str| match line.starts_with("master = ") {
            true => keys.clone(),
            false => line.to_owned(),
        };
        let lines: Vec<String> = text.lines().map(line).collect();
        fs::write(self.config(), lines.join("\n")).unwrap();
    }

    fn install_policies(&self) {
        let folder = self.home.path().join("plugins");
        fs::create_dir(&folder).unwrap();
        for name in ["topic", "offset", "delay", "subgroup"] {
            let path = folder.join(name).with_extension("wasm");
            fs::write(path, policies::all().bytes(name)).unwrap();
        }
    }

    /// The configuration file.
    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("locum.toml")
    }

    /// A store root for a broker that is to run on the replica's directory.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.path().join("standby")
    }

    /// The replica's directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.store().join("config")
    }

    /// What is in its files.
    pub(crate) fn tables(&self) -> Tables {
        Tables::in_files(&self.directory())
    }

    /// Which files they are.
    pub(crate) fn generation(&self) -> Generation {
        Generation::of(&self.directory())
    }

    /// Runs `locum` with these arguments to its end.
    pub(crate) fn locum(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        Ended {
            command: arguments.join(" "),
            output,
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_locum"));
        command
            .args(arguments)
            .env("LOCUM_CONFIG", self.config())
            .env_remove("NAMESRV_ADDR")
            .env_remove("LOCUM_LOG")
            .env_remove("LOCUM_LOG_FORMAT");
        command
    }

    /// `locum verify` of a directory.
    pub(crate) fn verify(&self, directory: &Path) -> Ended {
        self.locum(&["verify", text(directory)])
    }

    /// Starts `locum run`.
    pub(crate) fn run(&self) -> Daemon<'_> {
        Daemon::start(self)
    }

    /// Starts the library's host.
    pub(crate) fn host(&self) -> Watched {
        Watched::start(&self.config())
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run of the binary that has ended.
pub(crate) struct Ended {
    command: String,
    output: Output,
}

impl Ended {
    /// Fails unless it ended with this code; what it printed.
    #[track_caller]
    pub(crate) fn with_code(&self, code: i32) -> String {
        let printed = String::from_utf8_lossy(&self.output.stdout);
        let said = String::from_utf8_lossy(&self.output.stderr);
        assert_eq!(
            self.output.status.code(),
            Some(code),
            "`locum {}`\n{printed}\n{said}",
            self.command
        );
        printed.into_owned()
    }

    /// Whether it ended with code 0.
    pub(crate) fn is_ok(&self) -> bool {
        self.output.status.success()
    }
}

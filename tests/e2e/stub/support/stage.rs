//! The folders of one test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use locum::{
    Host, HostBuilder, Period, PluginsConfig, ReplicaConfig, RoutineConfig, Slot, Table, TableKind,
};
use locum_tables::ReadLimits;
use serde_json::Value;
use stub_master::Stub;
use tempfile::TempDir;

/// The replica of a test that has one.
pub(crate) const REPLICA: &str = "broker-a";

/// Each file's inode, time in nanoseconds and bytes, by its name.
pub(crate) type Prints = BTreeMap<String, (u64, i128, Vec<u8>)>;

/// A plugin folder with the four policies, a state directory, and a broker's store with its `config`.
pub(crate) struct Stage {
    root: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::without_policies().with_policies()
    }

    /// In files that no disk makes slow, where there is room for such: for what must not be late.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::of(TempDir::new_in(memory)).with_policies()
        } else {
            Self::new()
        }
    }

    pub(crate) fn without_policies() -> Self {
        Self::of(TempDir::new())
    }

    fn of(root: std::io::Result<TempDir>) -> Self {
        let stage = Self {
            root: root.unwrap(),
        };
        fs::create_dir(stage.plugins()).unwrap();
        stage
    }

    fn with_policies(self) -> Self {
        for slot in Slot::ALL {
            self.install(slot, &policies::all().bytes(slot.name()));
        }
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn plugins(&self) -> PathBuf {
        self.path("plugins")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// A broker's store root.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// The directory that the replica fills.
    pub(crate) fn directory(&self) -> PathBuf {
        self.store().join("config")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Puts a component where a slot looks for it, in place, as `cp` does.
    pub(crate) fn install(&self, slot: Slot, component: &[u8]) {
        fs::write(self.plugin(slot), component).unwrap();
    }

    /// The same by rename, as an editor saves.
    pub(crate) fn replace(&self, slot: Slot, component: &[u8]) {
        let next = self.plugins().join(".next");
        fs::write(&next, component).unwrap();
        fs::rename(&next, self.plugin(slot)).unwrap();
    }

    /// A replica whose topics are looked after by the guest that does what it is told.
    pub(crate) fn misbehaving(&self, master: &Stub, deed: &str, with: &str) -> ReplicaConfig {
        let told = [("do", deed), ("with", with)];
        let routine = RoutineConfig {
            plugin: Some("misbehave.wasm".into()),
            settings: told
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..RoutineConfig::default()
        };
        let guest = components::guests().bytes("misbehave");
        fs::write(self.plugins().join("misbehave.wasm"), guest).unwrap();
        ReplicaConfig {
            routines: [(Slot::Topic, routine)].into(),
            ..self.replica(master)
        }
    }

    pub(crate) fn plugin(&self, slot: Slot) -> PathBuf {
        self.plugins().join(format!("{slot}.wasm"))
    }

    /// A slave's replica that is due at once, then each second.
    pub(crate) fn replica(&self, master: &Stub) -> ReplicaConfig {
        ReplicaConfig {
            master: Some(master.address()),
            first_delay: Duration::ZERO,
            period: Period::named(Duration::from_secs(1)),
            ..ReplicaConfig::new(self.directory())
        }
    }

    /// A host whose schedule runs.
    pub(crate) fn host(&self, replica: ReplicaConfig) -> HostBuilder {
        let plugins = PluginsConfig {
            quiet_period: Duration::from_millis(20),
            ..PluginsConfig::new(self.plugins())
        };
        Host::builder(self.state(), plugins).replica(REPLICA, replica)
    }

    /// A host that runs its routines when it is asked.
    pub(crate) async fn quiet_host(&self, replica: ReplicaConfig) -> Host {
        self.host(replica).without_schedule().start().await.unwrap()
    }

    /// A configuration file as an operator writes it, for a replica that is due when somebody asks. `more` goes to the end,
    /// into the replica's table.
    pub(crate) fn config(&self, master: &str, more: &str) -> PathBuf {
        let path = self.path("locum.toml");
        let text = format!(
            r#"
[host]
state-directory = "state"

[plugins]
directory = "plugins"
quiet-period = "20ms"

[replica.{REPLICA}]
directory = "store/config"
master = "{master}"
first-delay = "1h"
{more}
"#
        );
        fs::write(&path, text).unwrap();
        path
    }

    /// Into a file in `keys`, as an editor leaves it.
    pub(crate) fn write_key(&self, name: &str, key: &str) {
        fs::create_dir_all(self.path("keys")).unwrap();
        fs::write(self.path("keys").join(name), format!("{key}\n")).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.file(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file of the replica as strict JSON.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// A file of the replica as a table.
    pub(crate) fn table(&self, kind: &'static TableKind) -> Table {
        let text = self.read(kind.file);
        Table::from_file(kind, text.as_bytes(), &ReadLimits::default()).unwrap()
    }

    /// The names of a table's entries in its file.
    pub(crate) fn keys(&self, name: &str, member: &str) -> Vec<String> {
        let table = self.json(name);
        let entries = table[member].as_object();
        entries
            .unwrap_or_else(|| panic!("{name} has no {member}"))
            .keys()
            .cloned()
            .collect()
    }

    pub(crate) fn topics(&self) -> Vec<String> {
        self.keys("topics.json", "topicConfigTable")
    }

    /// Every table's file, main and `.bak`: what a tick without a change must leave alone.
    pub(crate) fn prints(&self) -> Prints {
        prints(&self.directory(), |name| {
            name.ends_with(".json") || name.ends_with(".bak")
        })
    }

    /// The names of all files in the directory that are not hidden.
    pub(crate) fn names(&self) -> Vec<String> {
        prints(&self.directory(), |name| !name.starts_with('.'))
            .into_keys()
            .collect()
    }
}

/// What the master answers now.
pub(crate) fn answered(stub: &Stub, kind: &'static TableKind) -> Table {
    let body = stub.tables().body(kind.request_code).unwrap();
    Table::from_answer(kind, &body, &ReadLimits::default()).unwrap()
}

fn prints(folder: &Path, wanted: impl Fn(&str) -> bool) -> Prints {
    let Ok(entries) = fs::read_dir(folder) else {
        return Prints::new();
    };
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| wanted(name))
        .map(|(name, path)| {
            let found = fs::metadata(&path).unwrap();
            let time = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
            (name, (found.ino(), time, fs::read(path).unwrap()))
        })
        .collect()
}

//! The configuration: one TOML file, read whole or refused whole.
//!
//! Parse, then resolve: [`Config::from_toml`] turns text into plain values with every default filled in and every path made
//! absolute against the file's folder. Nothing here opens a socket or a plugin. Unknown keys are errors that name the key,
//! its line and the nearest known key.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use locum_tables::Slot;
use serde::{Deserialize, Serialize};

mod acl;
mod limits;
mod lookup;
mod slots;
mod units;

pub use acl::AclConfig;
use acl::AclTable;
pub use limits::{Limits, TrialConfig};
pub use lookup::LookupConfig;
use lookup::checked_address;
pub(crate) use lookup::is_address;
use slots::{LimitsTable, SlotDefaults, TrialTable, in_range};
use units::{Mode, Size, Span};

/// Everything an operator may set.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the host keeps its socket and its own records (`[host] state-directory`).
    pub state_directory: PathBuf,
    /// The plugin folder and how its changes are noticed.
    pub plugins: PluginsConfig,
    /// The replicas by name.
    pub replicas: BTreeMap<String, ReplicaConfig>,
}

/// `[plugins]`.
#[derive(Debug, Clone)]
pub struct PluginsConfig {
    /// The folder that holds the policies' components, such as `topic.wasm`.
    pub directory: PathBuf,
    /// How long nothing may change in the folder before it is read.
    pub quiet_period: Duration,
    /// How long a folder that never falls quiet may put the reading off.
    pub max_wait: Duration,
    /// How often the files are looked at although nothing was reported: some file systems report nothing.
    pub check_period: Duration,
    /// Good ticks that a policy has to show after a swap before it counts as good.
    pub probation_ticks: u32,
}

impl PluginsConfig {
    /// A plugin folder with the default times.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            quiet_period: Duration::from_millis(200),
            max_wait: Duration::from_secs(2),
            check_period: Duration::from_secs(30),
            probation_ticks: 3,
        }
    }
}

/// What a replica does: a slave copies its master, a master does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Copies its master by schedule.
    Slave,
    /// Does nothing.
    Master,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slave => "slave",
            Self::Master => "master",
        })
    }
}

/// `[replica.NAME]`.
#[derive(Debug, Clone)]
pub struct ReplicaConfig {
    /// A broker's `config` directory, which this replica fills.
    pub directory: PathBuf,
    /// The master's `host:port`; none means that name servers find it, or that it is given later (`Replica::set_master`).
    pub master: Option<String>,
    /// How name servers find it.
    pub lookup: Option<LookupConfig>,
    /// Addresses to connect to, by what name servers advertise, where that cannot be reached from here.
    pub address_map: BTreeMap<String, String>,
    /// The address of the broker that this replica stands in for: a master of this address is not copied.
    pub own_address: Option<String>,
    /// The role at the start, unless a command has set another.
    pub role: Role,
    /// From taking the role of a slave to the first tick.
    pub first_delay: Duration,
    /// From one tick of a routine to the next.
    pub period: Period,
    /// How long the master may take to answer one request.
    pub request_timeout: Duration,
    /// The largest frame that is accepted from the master, in bytes.
    pub frame_limit: usize,
    /// Permission bits of a file that replaces none.
    pub file_mode: u32,
    /// User id of a file that replaces none.
    pub file_owner: Option<u32>,
    /// Group id of a file that replaces none.
    pub file_group: Option<u32>,
    /// Where the keys are that requests are signed with; none where the master asks for no signatures.
    pub acl: Option<AclConfig>,
    /// What is set for single routines.
    pub routines: BTreeMap<Slot, RoutineConfig>,
}

impl ReplicaConfig {
    /// A slave's replica in `directory`, with every default and no master yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            master: None,
            lookup: None,
            address_map: BTreeMap::new(),
            own_address: None,
            role: Role::Slave,
            first_delay: Duration::from_secs(3),
            period: Period::DEFAULT,
            request_timeout: Duration::from_secs(30),
            frame_limit: 256 << 20,
            file_mode: 0o644,
            file_owner: None,
            file_group: None,
            acl: None,
            routines: BTreeMap::new(),
        }
    }

    /// The plugin file of `slot`, relative to the plugin directory.
    pub fn plugin(&self, slot: Slot) -> PathBuf {
        self.routine(slot)
            .and_then(|routine| routine.plugin.clone())
            .unwrap_or_else(|| PathBuf::from(format!("{slot}.wasm")))
    }

    /// The period of `slot`.
    pub fn period(&self, slot: Slot) -> Period {
        self.routine(slot)
            .and_then(|routine| routine.period)
            .unwrap_or(self.period)
    }

    /// The settings that the operator gave to `slot`.
    pub fn settings(&self, slot: Slot) -> BTreeMap<String, String> {
        self.routine(slot)
            .map(|routine| routine.settings.clone())
            .unwrap_or_default()
    }

    /// What a tick of `slot` may use. Where nothing else is said it may always wait for its one or two answers.
    pub fn limits(&self, slot: Slot) -> Limits {
        self.routine(slot)
            .and_then(|routine| routine.limits.clone())
            .unwrap_or_else(|| Limits::for_timeout(self.request_timeout))
    }

    /// How far a candidate for `slot` may differ in its trial.
    pub fn trial(&self, slot: Slot) -> TrialConfig {
        self.routine(slot)
            .and_then(|routine| routine.trial)
            .unwrap_or_default()
    }

    fn routine(&self, slot: Slot) -> Option<&RoutineConfig> {
        self.routines.get(&slot)
    }
}

/// How often a routine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// From one tick to the next.
    pub every: Duration,
    /// Whether the operator named it. Only a period that nobody named stretches for a slow master.
    pub named: bool,
}

impl Period {
    /// The reference's ten seconds (`SlaveSynchronize`, scheduled by `BrokerController`), named by nobody.
    pub const DEFAULT: Self = Self {
        every: Duration::from_secs(10),
        named: false,
    };

    /// A period that the operator asked for.
    pub fn named(every: Duration) -> Self {
        Self { every, named: true }
    }
}

/// `[replica.NAME.routine.SLOT]`.
#[derive(Debug, Clone, Default)]
pub struct RoutineConfig {
    /// The component, relative to the plugin directory; `SLOT.wasm` where none is named.
    pub plugin: Option<PathBuf>,
    /// Its own period.
    pub period: Option<Period>,
    /// What the policy is told; numbers and booleans as their text.
    pub settings: BTreeMap<String, String>,
    /// What a tick of it may use.
    pub limits: Option<Limits>,
    /// How far a candidate for the slot may differ in its trial.
    pub trial: Option<TrialConfig>,
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not what a configuration is.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong, and what to write instead where that is known.
        message: String,
    },
    /// The values do not go together.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
}

impl Config {
    /// Reads and resolves the file at `path`. Replicas that name neither a master nor name servers have those of the
    /// environment (`NAMESRV_ADDR`).
    ///
    /// # Errors
    /// [`ConfigError`], with path, line and column where there are any.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        let name_servers = std::env::var(lookup::NAMESRV_ADDR).ok();
        Self::resolved(&text, path, name_servers.as_deref())
    }

    /// Resolves `text`, which came from `path`; relative paths in it are relative to the folder of `path`. The environment is
    /// not asked for anything.
    ///
    /// # Errors
    /// [`ConfigError::Parse`] or [`ConfigError::Invalid`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::resolved(text, path, None)
    }

    fn resolved(text: &str, path: &Path, name_servers: Option<&str>) -> Result<Self, ConfigError> {
        let file: ConfigFile =
            toml::from_str(text).map_err(|error| parse_error(&error, text, path))?;
        let whole = std::path::absolute(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        let base = whole.parent().unwrap_or(Path::new("/"));
        let resolved = file.resolve(base, name_servers.filter(|list| !list.is_empty()));
        resolved.map_err(|message| ConfigError::Invalid {
            path: path.to_owned(),
            message,
        })
    }
}

fn parse_error(error: &toml::de::Error, text: &str, path: &Path) -> ConfigError {
    let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    ConfigError::Parse {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: with_nearest(error.message()),
    }
}

/// serde names an unknown key and all known ones; the nearest of them is what the operator meant.
fn with_nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown field"), names.next()) {
        (true, Some(unknown)) => {
            let nearest = names
                .map(|known| (strsim::damerau_levenshtein(unknown, known), known))
                .min()
                .filter(|(distance, known)| *distance <= 3 && distance < &known.len())
                .map(|(_, known)| format!("; did you mean `{known}`?"));
            format!(
                "unknown key `{unknown}`{}",
                nearest.unwrap_or_else(|| after_comma(message))
            )
        }
        _ => message.trim_end().to_owned(),
    }
}

fn after_comma(message: &str) -> String {
    message
        .split_once(", ")
        .map_or_else(String::new, |(_, known)| format!(": {known}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    #[serde(default)]
    host: HostTable,
    #[serde(default)]
    plugins: PluginsTable,
    limits: Option<LimitsTable>,
    trial: Option<TrialTable>,
    #[serde(default)]
    replica: BTreeMap<String, ReplicaTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct HostTable {
    state_directory: PathBuf,
}

impl Default for HostTable {
    fn default() -> Self {
        Self {
            state_directory: PathBuf::from("state"),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct PluginsTable {
    directory: Option<PathBuf>,
    quiet_period: Option<Span>,
    max_wait: Option<Span>,
    check_period: Option<Span>,
    probation_ticks: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ReplicaTable {
    directory: PathBuf,
    master: Option<String>,
    name_servers: Option<String>,
    cluster: Option<String>,
    broker: Option<String>,
    #[serde(default)]
    address_map: BTreeMap<String, String>,
    own_address: Option<String>,
    role: Option<Role>,
    first_delay: Option<Span>,
    period: Option<Span>,
    request_timeout: Option<Span>,
    frame_limit: Option<Size>,
    file_mode: Option<Mode>,
    file_owner: Option<u32>,
    file_group: Option<u32>,
    acl: Option<AclTable>,
    #[serde(default)]
    routine: RoutineTables,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RoutineTables {
    topic: Option<RoutineTable>,
    offset: Option<RoutineTable>,
    delay: Option<RoutineTable>,
    subgroup: Option<RoutineTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RoutineTable {
    plugin: Option<PathBuf>,
    period: Option<Span>,
    settings: BTreeMap<String, toml::Value>,
    limits: Option<LimitsTable>,
    trial: Option<TrialTable>,
}

impl ConfigFile {
    fn resolve(self, base: &Path, name_servers: Option<&str>) -> Result<Config, String> {
        let defaults = SlotDefaults::new(self.limits, self.trial)?;
        let replicas = self
            .replica
            .into_iter()
            .map(|(name, table)| {
                let name = checked_name(name)?;
                let replica = table
                    .resolve(base, name_servers, &defaults)
                    .map_err(|error| format!("replica `{name}`: {error}"))?;
                Ok((name, replica))
            })
            .collect::<Result<BTreeMap<_, _>, String>>()?;
        let state_directory = checked_directory(base, &self.host.state_directory)?;
        refuse_shared_directories(&replicas, &state_directory)?;
        Ok(Config {
            state_directory,
            plugins: self.plugins.resolve(base)?,
            replicas,
        })
    }
}

impl PluginsTable {
    fn resolve(self, base: &Path) -> Result<PluginsConfig, String> {
        let folder = self.directory.unwrap_or_else(|| "plugins".into());
        let defaults = PluginsConfig::new(checked_directory(base, &folder)?);
        Ok(PluginsConfig {
            quiet_period: bounded(
                "quiet-period",
                self.quiet_period,
                defaults.quiet_period,
                MOMENT,
            )?,
            max_wait: bounded("max-wait", self.max_wait, defaults.max_wait, MOMENT)?,
            check_period: bounded(
                "check-period",
                self.check_period,
                defaults.check_period,
                SECOND,
            )?,
            probation_ticks: in_range(
                "probation-ticks",
                self.probation_ticks.unwrap_or(defaults.probation_ticks),
                PROBATION_TICKS,
                |ticks| ticks,
            )?,
            ..defaults
        })
    }
}

impl ReplicaTable {
    fn resolve(
        self,
        base: &Path,
        name_servers: Option<&str>,
        slots: &SlotDefaults,
    ) -> Result<ReplicaConfig, String> {
        let defaults = ReplicaConfig::new(checked_directory(base, &self.directory)?);
        let own_address = self
            .own_address
            .map(|own| checked_address("own-address", own));
        let frame_limit = self.frame_limit.map_or(defaults.frame_limit, usize::from);
        if frame_limit < SMALLEST_FRAME {
            return Err(format!("`frame-limit`: at least {SMALLEST_FRAME} bytes"));
        }
        let request_timeout = bounded(
            "request-timeout",
            self.request_timeout,
            defaults.request_timeout,
            MOMENT,
        )?;
        let written = lookup::Written {
            master: self.master,
            name_servers: self.name_servers,
            cluster: self.cluster,
            broker: self.broker,
            address_map: self.address_map,
        };
        let way = written.resolve(name_servers)?;
        Ok(ReplicaConfig {
            master: way.master,
            lookup: way.lookup,
            address_map: way.address_map,
            own_address: own_address.transpose()?,
            role: self.role.unwrap_or(defaults.role),
            first_delay: bounded(
                "first-delay",
                self.first_delay,
                defaults.first_delay,
                Duration::ZERO,
            )?,
            period: period(self.period)?.unwrap_or(defaults.period),
            request_timeout,
            frame_limit,
            file_mode: self.file_mode.map_or(defaults.file_mode, u32::from),
            file_owner: self.file_owner,
            file_group: self.file_group,
            acl: self.acl.map(|table| table.resolve(base)).transpose()?,
            routines: self.routine.resolve(slots, request_timeout)?,
            ..defaults
        })
    }
}

impl RoutineTables {
    /// A slot has an entry if it has a table, or something is said to all.
    fn resolve(
        self,
        slots: &SlotDefaults,
        request_timeout: Duration,
    ) -> Result<BTreeMap<Slot, RoutineConfig>, String> {
        [
            (Slot::Topic, self.topic),
            (Slot::Offset, self.offset),
            (Slot::Delay, self.delay),
            (Slot::Subgroup, self.subgroup),
        ]
        .into_iter()
        .filter(|(_, table)| table.is_some() || !slots.say_nothing())
        .map(|(slot, table)| {
            let routine = table
                .unwrap_or_default()
                .resolve(slots, request_timeout)
                .map_err(|error| format!("routine `{slot}`: {error}"))?;
            Ok((slot, routine))
        })
        .collect()
    }
}

impl RoutineTable {
    fn resolve(
        self,
        slots: &SlotDefaults,
        request_timeout: Duration,
    ) -> Result<RoutineConfig, String> {
        Ok(RoutineConfig {
            plugin: self.plugin.map(checked_plugin).transpose()?,
            period: period(self.period)?,
            settings: self
                .settings
                .into_iter()
                .map(|(name, value)| Ok((name.clone(), setting_text(&name, value)?)))
                .collect::<Result<_, String>>()?,
            limits: slots.limits(self.limits, request_timeout)?,
            trial: slots.trial(self.trial),
        })
    }
}

fn setting_text(name: &str, value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(truth) => Ok(truth.to_string()),
        other => Err(format!(
            "setting `{name}` is of type {}; write a string, a number or a boolean",
            other.type_str()
        )),
    }
}

/// It is part of a file's name.
const LONGEST_NAME: usize = 100;

/// The name stands in paths and in URLs.
pub(crate) fn checked_name(name: String) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name.starts_with('.')
        || !name.chars().all(fits)
    {
        return Err(format!(
            "replica name `{name}`: use up to {LONGEST_NAME} letters, digits, `.`, `_` and `-`, and do not begin with `.`"
        ));
    }
    Ok(name)
}

/// The shortest time that a wait of ours may have.
const MOMENT: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);
/// The longest: what is longer is a slip of the pen, and would overflow clocks.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// A probation has at least one tick: "in probation" means that it can fail.
const PROBATION_TICKS: RangeInclusive<u32> = 1..=1_000_000;
/// No answer of a master is smaller.
const SMALLEST_FRAME: usize = 1024;

fn bounded(
    key: &str,
    span: Option<Span>,
    default: Duration,
    least: Duration,
) -> Result<Duration, String> {
    let span = span.map_or(default, Duration::from);
    if (least..=YEAR).contains(&span) {
        return Ok(span);
    }
    Err(format!(
        "`{key}` of {span:?}: write at least {least:?}, and at most a year"
    ))
}

fn period(span: Option<Span>) -> Result<Option<Period>, String> {
    let bounded = |span| bounded("period", Some(span), YEAR, MOMENT).map(Period::named);
    span.map(bounded).transpose()
}

fn checked_directory(base: &Path, directory: &Path) -> Result<PathBuf, String> {
    if directory.as_os_str().is_empty() {
        return Err("`directory` is empty: name a folder".to_owned());
    }
    Ok(base.join(directory))
}

/// A plugin's path stays in the plugin directory.
fn checked_plugin(plugin: PathBuf) -> Result<PathBuf, String> {
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if plugin.components().all(stays) && plugin.file_name().is_some() {
        return Ok(plugin);
    }
    Err(format!(
        "`plugin = \"{}\"`: write a path relative to the plugin directory, without `..`",
        plugin.display()
    ))
}

/// Two names of one directory are one directory, whatever links lead there.
fn refuse_shared_directories(
    replicas: &BTreeMap<String, ReplicaConfig>,
    state: &Path,
) -> Result<(), String> {
    let real = |path: &Path| {
        path.canonicalize()
            .unwrap_or_else(|_| path.components().collect())
    };
    let mut owners: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (name, replica) in replicas {
        let directory = real(&replica.directory);
        let shown = directory.display();
        if directory == real(state) {
            return Err(format!(
                "replica `{name}` has the state directory {shown}: give it its own"
            ));
        }
        if let Some(other) = owners.get(&directory) {
            return Err(format!(
                "replicas `{other}` and `{name}` share the directory {shown}: give each its own"
            ));
        }
        owners.insert(directory, name);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

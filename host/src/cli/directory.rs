//! `locum verify` and `locum recover`: a stand-in's files, without a host.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use locum::store::{
    Access, CopyReport, CopyState, Inspection, Loads, Ownership, RealDisk, RecoverError, Recovery,
    Replaced, TableReport, inspect, recover as copy_into,
};
use locum::{KINDS, SUBSCRIPTION_GROUPS, TOPICS, TableKind};
use serde::Serialize;

use super::error::{CliError, exit};
use super::output::{self, Columns, version_text};
use super::{Output, OutputArg};

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// A broker's config directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also tell whether a broker under this user could read it
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    #[command(flatten)]
    output: OutputArg,
}

#[derive(Args)]
pub(super) struct RecoverArgs {
    /// The stand-in's directory
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The broker's config directory, such as `STORE/config`
    #[arg(long, value_name = "STORE/config")]
    to: PathBuf,
    /// Leave consumer offsets and delay offsets out: the message store that they belong to is lost
    #[arg(long)]
    without_offsets: bool,
    /// Tell what would be copied, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArg,
}

pub(super) fn verify(args: &VerifyArgs) -> Result<exit::Code, CliError> {
    let ids = args.user.as_deref().map(user_and_groups).transpose()?;
    refuse_other_than_directory(&args.directory)?;
    let inspection = inspect(&RealDisk, &args.directory)?;
    let unreadable = ids.map(|(uid, gids)| inspection.unreadable_for(uid, &gids));
    let ready = inspection.boot_ready && unreadable.as_ref().is_none_or(Vec::is_empty);
    match args.output.output {
        Output::Json => output::print_json(&Verified {
            inspection,
            unreadable,
        })?,
        Output::Text => {
            output::print(&text(&inspection))?;
            if let (Some(user), Some(paths)) = (&args.user, &unreadable) {
                output::print(&readable_text(user, paths))?;
            }
        }
    }
    Ok(if ready { exit::OK } else { exit::BAD_DATA })
}

/// What `verify` prints for scripts.
#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    inspection: Inspection,
    /// With `--as`: what that user could not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<Vec<PathBuf>>,
}

/// A slip in the path looks like a broker that lost everything.
fn refuse_other_than_directory(path: &Path) -> Result<(), CliError> {
    let inside = path.join("config");
    let what = match path.metadata() {
        Err(error) => error.to_string(),
        Ok(found) if !found.is_dir() => "not a directory".to_owned(),
        Ok(_) if inside.is_dir() && !path.join("topics.json").exists() => {
            format!("no metadata there; did you mean {}?", inside.display())
        }
        Ok(_) => return Ok(()),
    };
    Err(CliError::new(
        exit::BAD_DATA,
        format!("{}: {what}", path.display()),
    ))
}

fn readable_text(user: &str, unreadable: &[PathBuf]) -> String {
    let Some(first) = unreadable.first() else {
        return format!("{user} can read it\n");
    };
    let paths: Vec<_> = unreadable
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let what = if first.is_dir() {
        "enter or read"
    } else {
        "read"
    };
    format!(
        "NOT boot-ready for {user}, who cannot {what} {}: a broker under that user would boot empty, and 5.5.0 would delete \
         the files\n",
        paths.join(", ")
    )
}

/// The system's own answer, which knows directories of users beside `/etc/passwd`.
fn user_and_groups(user: &str) -> Result<(u32, Vec<u32>), CliError> {
    let ask = |what: &str| -> Result<Vec<u32>, CliError> {
        let answer = Command::new("id").args([what, "--", user]).output()?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let ids: Vec<u32> = text
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .collect();
        if ids.is_empty() {
            let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
            return Err(CliError::new(exit::USAGE, format!("`--as {user}`: {said}")));
        }
        Ok(ids)
    };
    Ok((ask("-u")?[0], ask("-G")?))
}

/// What a broker would load, for people.
pub(super) fn text(inspection: &Inspection) -> String {
    let mut columns = Columns::new(&["TABLE", "BROKER LOADS", "MAIN", ".BAK", "MODE", "OWNER"]);
    for table in &inspection.tables {
        columns.row([
            table.table.to_owned(),
            loads_text(table.loads).to_owned(),
            copy_text(&table.main),
            copy_text(&table.backup),
            access_text(table.main.access, |access| format!("{:04o}", access.mode)),
            access_text(table.main.access, |access| {
                format!("{}:{}", access.uid, access.gid)
            }),
        ]);
    }
    let mut text = columns.to_string();
    if let Some(holder) = &inspection.broker {
        let pid = holder
            .pid
            .map(|pid| format!(" (pid {pid})"))
            .unwrap_or_default();
        text.push_str(&format!("a broker{pid} runs on it\n"));
    }
    if !inspection.rocksdb_folders.is_empty() {
        let folders = inspection.rocksdb_folders.join(", ");
        text.push_str(&format!("metadata in RocksDB ({folders}): a broker with storeType=defaultRocksDB ignores these files\n"));
    }
    text.push_str(if inspection.boot_ready {
        "boot-ready\n"
    } else {
        "NOT boot-ready\n"
    });
    text
}

fn access_text(access: Option<Access>, tell: impl Fn(Access) -> String) -> String {
    access.map_or_else(|| "-".to_owned(), tell)
}

fn loads_text(loads: Loads) -> &'static str {
    match loads {
        Loads::Main => "main",
        Loads::Backup => ".bak",
        Loads::Nothing => "EMPTY (main counts as read)",
        Loads::Defaults => "DEFAULTS (no file)",
        Loads::Fails => "NOTHING: it exits",
    }
}

fn copy_text(copy: &CopyReport) -> String {
    match &copy.state {
        CopyState::Missing => "missing".to_owned(),
        CopyState::Whole { entries, version } => {
            let version = version
                .map(|version| format!(" {}", version_text(version)))
                .unwrap_or_default();
            format!("{entries} entries{version}")
        }
        CopyState::Bad { error, .. } => format!("BAD: {error}"),
        CopyState::Unreadable { error } => format!("UNREADABLE: {error}"),
    }
}

pub(super) fn recover(args: &RecoverArgs) -> Result<exit::Code, CliError> {
    let kinds: &[&TableKind] = if args.without_offsets {
        &[&TOPICS, &SUBSCRIPTION_GROUPS]
    } else {
        &KINDS
    };
    let ownership = ownership_beside(&args.to)?;
    let recovery = copy_into(
        &RealDisk,
        &args.from,
        &args.to,
        kinds,
        ownership,
        args.dry_run,
    )?;
    match args.output.output {
        Output::Json => output::print_json(&recovery)?,
        Output::Text => output::print(&recovery_text(&recovery))?,
    }
    if args.dry_run {
        return Ok(exit::OK);
    }
    let checked = inspect(&RealDisk, &args.to)?;
    let copied = |table: &&TableReport| kinds.iter().any(|kind| kind.name == table.table);
    if checked
        .tables
        .iter()
        .filter(copied)
        .all(|table| table.loads == Loads::Main)
    {
        output::say(&format!(
            "{}: a broker will load what was copied",
            args.to.display()
        ));
        return Ok(exit::OK);
    }
    Err(CliError::new(
        exit::BAD_DATA,
        format!(
            "what was written is not what a broker would load:\n{}",
            text(&checked)
        ),
    ))
}

/// For files that replace none: the owner of the directory, or of the nearest one that is there, and readable for a broker under
/// any user, as a broker's own are.
fn ownership_beside(directory: &Path) -> Result<Ownership, CliError> {
    let whole = std::path::absolute(directory)?;
    let found = whole.ancestors().find_map(|path| path.metadata().ok());
    Ok(Ownership {
        mode: 0o644,
        owner: found.as_ref().map(MetadataExt::uid),
        group: found.as_ref().map(MetadataExt::gid),
    })
}

fn recovery_text(recovery: &Recovery) -> String {
    let mut columns = Columns::new(&["TABLE", "FROM", "ENTRIES", "TO", "MODE", "REPLACES"]);
    for file in &recovery.files {
        columns.row([
            file.table.to_owned(),
            format!("{:?}", file.copy).to_lowercase(),
            file.entries.to_string(),
            file.path.display().to_string(),
            format!("{:04o}", file.mode),
            match &file.replaced {
                Replaced::Nothing => "nothing".to_owned(),
                Replaced::Whole => "a whole file, now .bak".to_owned(),
                Replaced::Damaged { reason } => format!("a damaged file, put aside ({reason})"),
            },
        ]);
    }
    let done = if recovery.dry_run {
        "nothing was written (--dry-run)"
    } else {
        "copied"
    };
    format!("{columns}{done}\n")
}

impl From<RecoverError> for CliError {
    fn from(error: RecoverError) -> Self {
        let code = match &error {
            RecoverError::BrokerRunning { .. } | RecoverError::Kept { .. } => exit::TRY_AGAIN,
            RecoverError::SameDirectory { .. } => exit::USAGE,
            RecoverError::RocksDb { .. } => exit::CONFIG,
            RecoverError::NotWhole { .. } => exit::BAD_DATA,
            RecoverError::Store(_) => exit::DISK,
        };
        Self::new(code, locum::telemetry::chain(&error))
    }
}

//! `locum check`: a configuration and the policies that it names, looked at without running anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use locum_tables::Slot;

use crate::config::Config;
use crate::host::load;
use crate::policy::{COMPONENT_BYTES, Engine, EngineError, Policy};
use crate::replica::Live;
use crate::swap::{Files, Seen};
use crate::telemetry::chain;

/// Says what is wrong with a configuration and with the policies that it names: nothing is opened for writing, and no master asked.
/// Empty when all is well. Blocking.
///
/// # Errors
/// [`EngineError`]: policies cannot be looked at.
pub fn check(config: &Config) -> Result<Vec<String>, EngineError> {
    let engine = Engine::new()?;
    let mut files = Files::new(config.plugins.directory.clone(), COMPONENT_BYTES as u64);
    let mut loaded: BTreeMap<PathBuf, Result<Policy, String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, replica) in &config.replicas {
        for slot in Slot::ALL {
            let file = replica.plugin(slot);
            let policy = loaded
                .entry(file.clone())
                .or_insert_with(|| first_look(&engine, &mut files, &file));
            let settled = policy.as_ref().map_err(Clone::clone).and_then(|policy| {
                Live::settled(policy, slot, replica.settings(slot), &file).map_err(|refusal| {
                    format!("{} is refused: {}", file.display(), chain(&refusal))
                })
            });
            if let Err(reason) = settled {
                problems.push(format!("{name}/{slot}: {reason}"));
            }
        }
    }
    Ok(problems)
}

fn first_look(engine: &Engine, files: &mut Files, file: &Path) -> Result<Policy, String> {
    match files.look(file) {
        Seen::New(content) => load(engine, &content, file).map_err(|refused| refused.reason),
        Seen::Missing => Err(format!("{} is not there", files.path(file).display())),
        Seen::Unreadable(reason) => Err(reason),
        // Nothing was seen before that this could be the same as.
        Seen::Same => Err("it was looked at twice".to_owned()),
    }
}

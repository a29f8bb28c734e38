//! What a policy says of itself, and what the operator's settings make of it for one slot.

use std::collections::{BTreeMap, BTreeSet};

use locum_tables::{KINDS, Slot, TableKind};
use serde::{Serialize, Serializer};

use super::bindings::exports::locum::sync::policy as wit;
use super::limits::{NAME_BYTES, SETTINGS, SUMMARY_BYTES};
use super::refusal::{Refusal, nearest};

/// The settings of one slot's policy, defaults filled in.
pub type Settings = BTreeMap<String, String>;

/// What a policy is, in its own words.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// The policy's name, such as `offset-forward-only`.
    pub name: String,
    /// Its own semantic version.
    pub version: String,
    /// One line for the operator.
    pub summary: String,
    /// The tables that it drafts, in the order in which they are committed.
    #[serde(serialize_with = "names")]
    pub writes: Vec<&'static TableKind>,
    /// The settings that it knows.
    pub settings: Vec<Setting>,
}

/// A setting that an operator may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name in the config file.
    pub name: String,
    /// One line for the operator.
    pub summary: String,
    /// Whether the operator must set it.
    pub required: bool,
    /// What it is where the operator sets none.
    pub default: Option<String>,
}

impl Description {
    /// Takes what a policy said, if it makes sense.
    pub(super) fn read(said: wit::Description) -> Result<Self, Refusal> {
        let description = Self {
            writes: kinds(&said.writes)?,
            settings: said.settings.into_iter().map(Setting::from).collect(),
            name: said.name,
            version: said.version,
            summary: said.summary,
        };
        if description.writes.is_empty() {
            return Err(Refusal::WritesNothing);
        }
        description.check()?;
        Ok(description)
    }

    fn check(&self) -> Result<(), Refusal> {
        line("name", &self.name, NAME_BYTES)?;
        line("version", &self.version, NAME_BYTES)?;
        line("summary", &self.summary, SUMMARY_BYTES)?;
        if self.settings.len() > SETTINGS {
            let count = self.settings.len();
            return Err(unusable(format!(
                "it lists {count} settings, over the limit of {SETTINGS}"
            )));
        }
        for setting in &self.settings {
            line("setting", &setting.name, NAME_BYTES)?;
            line("summary of a setting", &setting.summary, SUMMARY_BYTES)?;
            if setting
                .default
                .as_ref()
                .is_some_and(|default| default.len() > SUMMARY_BYTES)
            {
                return Err(unusable(format!(
                    "the default of `{}` is too long",
                    setting.name
                )));
            }
        }
        once(
            "setting",
            self.settings.iter().map(|setting| setting.name.as_str()),
        )?;
        once("table", self.writes.iter().map(|kind| kind.name))
    }

    /// Fits the policy to `slot` with the settings that the operator gave: whether it may write there, which settings it
    /// does not know, which it misses; defaults are filled in.
    pub(super) fn settle(
        &self,
        slot: Slot,
        given: &BTreeMap<String, String>,
    ) -> Result<Settings, Refusal> {
        if let Some(kind) = self.writes.iter().find(|kind| kind.slot != slot) {
            return Err(Refusal::ForbiddenTable {
                table: kind.name,
                slot,
                owner: kind.slot,
            });
        }
        let known = || self.settings.iter().map(|setting| setting.name.as_str());
        if let Some(name) = given
            .keys()
            .find(|name| !known().any(|known| known == *name))
        {
            return Err(Refusal::UnknownSetting {
                name: name.clone(),
                nearest: nearest(name, known()),
                known: known().map(str::to_owned).collect(),
            });
        }
        let mut settings = Settings::new();
        for setting in &self.settings {
            match given.get(&setting.name).or(setting.default.as_ref()) {
                Some(value) => _ = settings.insert(setting.name.clone(), value.clone()),
                None if setting.required => return Err(setting.missing()),
                None => {}
            }
        }
        Ok(settings)
    }
}

impl Setting {
    fn missing(&self) -> Refusal {
        Refusal::MissingSetting {
            name: self.name.clone(),
            summary: self.summary.clone(),
        }
    }
}

impl From<wit::Setting> for Setting {
    fn from(said: wit::Setting) -> Self {
        let wit::Setting {
            name,
            summary,
            required,
            default,
        } = said;
        Self {
            name,
            summary,
            required,
            default,
        }
    }
}

fn names<S: Serializer>(kinds: &[&'static TableKind], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(kinds.iter().map(|kind| kind.name))
}

fn kinds(names: &[String]) -> Result<Vec<&'static TableKind>, Refusal> {
    let known = || KINDS.iter().map(|kind| kind.name);
    names
        .iter()
        .map(|name| {
            TableKind::by_name(name).ok_or_else(|| Refusal::UnknownTable {
                table: super::limits::clip(name, NAME_BYTES),
                nearest: nearest(name, known()),
            })
        })
        .collect()
}

/// Descriptions end up in tables and log lines: one line, not empty, not endless.
fn line(what: &str, text: &str, bytes: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(unusable(format!("a {what} is empty")));
    }
    if text.len() > bytes {
        return Err(unusable(format!(
            "a {what} has {} bytes, over the limit of {bytes}",
            text.len()
        )));
    }
    if text.contains(char::is_control) {
        return Err(unusable(format!(
            "a {what} holds control characters: {text:?}"
        )));
    }
    Ok(())
}

fn once<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(unusable(format!("it lists the {what} `{name}` twice")));
        }
    }
    Ok(())
}

fn unusable(why: String) -> Refusal {
    Refusal::Description(why)
}

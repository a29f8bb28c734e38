//! The plugin folder: what its files hold, checked and compiled once for all the slots that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use super::{Inner, off_thread};
use crate::clock::now;
use crate::config::PluginsConfig;
use crate::policy::{Engine, Policy};
use crate::replica::{Offer, Replica};
use crate::store::{Components, RealDisk, Record, StoreError};
use crate::swap::{Content, Quiet, Refused, Seen};
use crate::telemetry::chain;

/// What is known of the plugin folder.
#[derive(Default)]
pub(super) struct Plugins {
    found: BTreeMap<PathBuf, Found>,
}

/// The last look at one file.
enum Found {
    Content {
        sha256: String,
        /// None while it is being checked and compiled.
        judged: Option<Result<Policy, Refused>>,
    },
    Missing(String),
    Unreadable(String),
}

/// So many are compiled at once, for whatever reason.
pub(super) const COMPILERS: usize = 2;

/// So many trials with answers of their own run at once.
pub(super) const TRIALS: usize = 8;

/// Compiled components that are kept for another time.
const CODE: usize = 256;

impl Plugins {
    /// A policy that a file holds, by its component's hash.
    pub(super) fn policy(&self, sha256: &str) -> Option<Policy> {
        let of_file = |found: &Found| match found {
            Found::Content {
                judged: Some(Ok(policy)),
                ..
            } if policy.sha256() == sha256 => Some(policy.clone()),
            _ => None,
        };
        self.found.values().find_map(of_file)
    }

    /// Offers to a replica what its files held at the last look.
    pub(super) fn offer_to(&self, replica: &Replica) {
        for (slot, file) in replica.plugins() {
            if let Some(found) = self.found.get(&file) {
                replica.offer(slot, &found.offer(), &file);
            }
        }
    }

    /// Takes in the judgement of a content, if the file still holds it.
    fn judged(
        &mut self,
        file: &Path,
        content: &str,
        verdict: Result<Policy, Refused>,
    ) -> Option<&Found> {
        let found = self.found.get_mut(file)?;
        match found {
            Found::Content { sha256, judged } if sha256 == content => *judged = Some(verdict),
            _ => return None,
        }
        Some(found)
    }

    fn holds(&self, file: &Path, content: &str) -> bool {
        matches!(self.found.get(file), Some(Found::Content { sha256, .. }) if sha256 == content)
    }
}

impl Found {
    fn offer(&self) -> Offer<'_> {
        match self {
            Self::Content {
                sha256,
                judged: None,
            } => Offer::Content(sha256),
            Self::Content {
                sha256,
                judged: Some(judged),
            } => Offer::Judged(sha256, judged.as_ref()),
            Self::Missing(note) => Offer::Missing(note),
            Self::Unreadable(reason) => Offer::Unreadable(reason),
        }
    }
}

impl Inner {
    /// Watches what is there now, off the runtime's threads.
    pub(super) async fn renew_watch(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        let trouble = off_thread(move || {
            let own = inner.own_folders();
            let mut watcher = inner.watcher.lock();
            watcher.ignore(own);
            watcher.renew()
        })
        .await;
        if let Some(trouble) = trouble {
            tracing::warn!("{trouble}");
        }
    }

    /// Where the host itself writes, which is nothing new to it.
    fn own_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.state_directory.clone()];
        let replicas = self.replicas();
        folders.extend(
            replicas
                .iter()
                .map(|replica| replica.directory().to_owned()),
        );
        let closed = self.closed.lock();
        folders.extend(
            closed
                .values()
                .map(|closed| closed.config.directory.clone()),
        );
        folders
    }

    /// Looks at every file that a slot uses. What is new is judged in the background.
    async fn look_at_all(self: &Arc<Self>) {
        let used = |replica: Replica| replica.plugins().map(|(_, file)| file).collect::<Vec<_>>();
        let files: BTreeSet<PathBuf> = self.replicas().into_iter().flat_map(used).collect();
        for file in files {
            if let Some(content) = self.read(file.clone()).await {
                let inner = Arc::clone(self);
                tokio::spawn(async move { inner.judge(file, content).await });
            }
        }
    }

    /// Looks at some files, and waits until what is new there has been judged.
    pub(super) async fn look(self: &Arc<Self>, files: BTreeSet<PathBuf>) {
        let mut looks = JoinSet::new();
        for file in files {
            let inner = Arc::clone(self);
            looks.spawn(async move {
                if let Some(content) = inner.read(file.clone()).await {
                    inner.judge(file, content).await;
                }
            });
        }
        while let Some(looked) = looks.join_next().await {
            if let Err(error) = looked
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }

    /// Reads a file, off the runtime's threads, and offers what it holds to every slot that uses it; the content if it is new.
    async fn read(self: &Arc<Self>, file: PathBuf) -> Option<Content> {
        let inner = Arc::clone(self);
        off_thread(move || inner.read_now(&file)).await
    }

    fn read_now(&self, file: &Path) -> Option<Content> {
        // Nobody but who reads waits for a file system that hangs; and of two looks at a file the later one counts.
        let mut files = self.files.lock();
        let (found, content) = match files.look(file) {
            Seen::Same => return None,
            Seen::New(content) => {
                let sha256 = content.sha256.clone();
                let judged = None;
                (Found::Content { sha256, judged }, Some(content))
            }
            Seen::Missing => {
                let note = format!("{} is not there", files.path(file).display());
                (Found::Missing(note), None)
            }
            Seen::Unreadable(reason) => (Found::Unreadable(reason), None),
        };
        let mut plugins = self.plugins.lock();
        self.offer(file, &found);
        plugins.found.insert(file.to_owned(), found);
        content
    }

    /// Checks and compiles a content, and offers what came of it, unless the file holds something else by then.
    async fn judge(self: &Arc<Self>, file: PathBuf, content: Content) {
        // The semaphore is never closed.
        let _turn = self.shared.compilers.acquire().await;
        let inner = Arc::clone(self);
        off_thread(move || {
            if !inner.plugins.lock().holds(&file, &content.sha256) {
                return;
            }
            let verdict = load(&inner.engine, &content, &file);
            let mut plugins = inner.plugins.lock();
            if let Some(found) = plugins.judged(&file, &content.sha256, verdict) {
                inner.offer(&file, found);
            }
        })
        .await;
    }

    fn offer(&self, file: &Path, found: &Found) {
        for replica in self.replicas() {
            let slots: Vec<_> = replica
                .plugins()
                .filter(|(_, used)| used == file)
                .map(|(slot, _)| slot)
                .collect();
            for slot in slots {
                replica.offer(slot, &found.offer(), file);
            }
        }
    }

    /// Removes components and compiled code that no slot could need any more. Blocking.
    pub(super) fn prune(&self) {
        if self.shared.read_only {
            return;
        }
        if let Err(error) = self.prune_components() {
            tracing::warn!(error = %chain(&error), "components that are not needed stay");
        }
        self.engine.prune_code(CODE);
    }

    fn prune_components(&self) -> Result<(), StoreError> {
        // What is good, and not recorded yet, is known here alone; what a replica that is not open would need, in its record.
        let mut keep: BTreeSet<String> = self
            .replicas()
            .iter()
            .flat_map(Replica::components)
            .collect();
        let Some(recorded) = Record::components(&RealDisk, &self.state_directory)? else {
            return Ok(());
        };
        keep.extend(recorded);
        Components::of_state(&self.state_directory).prune(&RealDisk, &keep)
    }
}

/// Checks and compiles what a file holds. Blocking.
pub(crate) fn load(engine: &Engine, content: &Content, file: &Path) -> Result<Policy, Refused> {
    let begun = Instant::now();
    let loaded = engine
        .load(Arc::clone(&content.bytes))
        .map_err(|refusal| Refused {
            stage: refusal.stage(),
            reason: format!("{} is refused: {}", file.display(), chain(&refusal)),
        });
    tracing::debug!(file = %file.display(), sha256 = %content.sha256, took = ?begun.elapsed(), ok = loaded.is_ok(), "component read");
    loaded
}

/// Waits for the folder to change and come to rest, and looks at it; and looks now and then without being told.
pub(super) async fn watch(host: Arc<Inner>, config: PluginsConfig, scheduled: bool) {
    if !scheduled {
        return;
    }
    let mut quiet = Quiet::new(config.quiet_period, config.max_wait);
    let mut check_at = now() + config.check_period;
    loop {
        let wake_at = quiet.wake_at().map_or(check_at, |at| at.min(check_at));
        tokio::select! {
            () = host.changed.notified() => quiet.changed(now()),
            () = tokio::time::sleep_until(wake_at.into()) => {}
        }
        let check = now() >= check_at;
        if quiet.take_if_due(now()) || check {
            host.renew_watch().await;
            host.look_at_all().await;
        }
        if check {
            check_at = now() + config.check_period;
            let inner = Arc::clone(&host);
            off_thread(move || inner.prune()).await;
        }
    }
}

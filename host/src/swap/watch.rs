//! The only room that names notify.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind, MetadataKind, ModifyKind};
use notify::{RecursiveMode, Watcher as _};
use rustix::io::Errno;
use tokio::sync::Notify;

use super::route::{Route, real};

/// Watches a folder with its subfolders, and wakes somebody when anything in it may have changed.
///
/// A folder that does not exist is a state, not an error: the place where it would appear is watched until it does. Where a
/// symbolic link leads to it, the link is watched too. Lost events (a kernel queue that overflowed, a watcher that broke) count
/// as a change. A slow check by the caller makes good what a file system does not report at all.
pub(crate) struct Watcher {
    folder: PathBuf,
    ignored: Vec<PathBuf>,
    changed: Arc<Notify>,
    inner: Option<Watching>,
    /// The trouble that was told last, until it is over.
    told: Option<String>,
}

/// The route to the folder may change while it is being watched; after so many times the slow check has to do.
const ATTEMPTS: usize = 3;

struct Watching {
    /// Dropping it ends the watch.
    watcher: notify::RecommendedWatcher,
    route: Route,
}

impl Watcher {
    /// Will watch `folder`, and notify `changed`, but not of what happens below the folders `ignored`. Watches nothing before
    /// the first [`Watcher::renew`].
    pub(crate) fn new(folder: PathBuf, ignored: Vec<PathBuf>, changed: Arc<Notify>) -> Self {
        Self {
            folder,
            ignored,
            changed,
            inner: None,
            told: None,
        }
    }

    /// Ignores these folders from the next [`Watcher::renew`] on.
    pub(crate) fn ignore(&mut self, ignored: Vec<PathBuf>) {
        if self.ignored != ignored {
            self.ignored = ignored;
            self.inner = None;
        }
    }

    /// Watches what exists now. To be called before the first look at the folder, after each change and by the slow check: a
    /// folder may have appeared, gone, or been replaced. A trouble that was not told yet, if there is one; what can be
    /// watched is. Blocking: it walks the folder, and asks a thread that may have events to tell first.
    pub(crate) fn renew(&mut self) -> Option<String> {
        let mut trouble = None;
        for _ in 0..ATTEMPTS {
            let route = Route::of(&self.folder);
            trouble = if self.again(&route) {
                None
            } else {
                self.anew(route.clone())
            };
            // What changed on the route before it was watched was not reported.
            if Route::of(&self.folder) == route {
                break;
            }
        }
        let news = trouble.clone().filter(|_| trouble != self.told);
        self.told = trouble;
        news
    }

    /// Watches the same paths again, if they are the ones to watch: a folder may be another inode by now, and to watch one
    /// twice is cheap.
    fn again(&mut self, route: &Route) -> bool {
        let Some(watching) = &mut self.inner else {
            return false;
        };
        watching.route == *route
            && targets(route).all(|(path, mode)| watching.watcher.watch(path, mode).is_ok())
    }

    fn anew(&mut self, route: Route) -> Option<String> {
        let sieve = Sieve::new(route.clone(), &self.ignored, Arc::clone(&self.changed));
        let mut watcher =
            match notify::recommended_watcher(move |event: notify::Result<_>| sieve.take(&event)) {
                Ok(watcher) => watcher,
                Err(error) => {
                    self.inner = None;
                    return Some(explained(&error, &self.folder));
                }
            };
        let mut trouble = None;
        for (path, mode) in targets(&route) {
            if let Err(error) = watcher.watch(path, mode) {
                trouble.get_or_insert_with(|| explained(&error, path));
            }
        }
        // Also with trouble: half a watch is better than none.
        self.inner = Some(Watching { watcher, route });
        trouble
    }
}

/// What to watch, and whether with subfolders. The folder comes last: it must not lose its subfolders to a turn of the route that
/// goes through it.
fn targets(route: &Route) -> impl Iterator<Item = (&Path, RecursiveMode)> {
    let turns = route
        .turns
        .iter()
        .filter_map(|turn| turn.parent())
        .map(|folder| (folder, RecursiveMode::NonRecursive));
    let folder = route.folder.as_deref();
    turns.chain(folder.map(|folder| (folder, RecursiveMode::Recursive)))
}

/// Lets through what may have changed something in the folder.
struct Sieve {
    route: Route,
    ignored: Vec<PathBuf>,
    changed: Arc<Notify>,
}

impl Sieve {
    fn new(route: Route, ignored: &[PathBuf], changed: Arc<Notify>) -> Self {
        // One that holds the whole folder cannot be ignored: the policies are in it.
        let holds = |ignored: &PathBuf| {
            let folder = route.folder.as_ref();
            folder.is_some_and(|folder| folder.starts_with(ignored))
        };
        let mut ignored: Vec<PathBuf> = ignored.iter().map(|path| real(path)).collect();
        ignored.retain(|path| !holds(path));
        Self {
            route,
            ignored,
            changed,
        }
    }

    fn take(&self, event: &notify::Result<notify::Event>) {
        if event.as_ref().map_or(true, |event| self.passes(event)) {
            self.changed.notify_one();
        }
    }

    /// An event without a path, or one that says "events were lost", may mean anything.
    fn passes(&self, event: &notify::Event) -> bool {
        event.need_rescan()
            || may_change_content(&event.kind)
                && (event.paths.is_empty() || event.paths.iter().any(|path| self.concerns(path)))
    }

    /// The route itself, and the folders of its turns; or what is in the folder.
    fn concerns(&self, path: &Path) -> bool {
        let folder = self.route.folder.as_deref();
        self.route.turns.iter().any(|turn| turn.starts_with(path))
            || folder.is_some_and(|folder| path.starts_with(folder)) && !self.ignores(path)
    }

    fn ignores(&self, path: &Path) -> bool {
        // The folder may hold links to others; the last name counts as it is, since a link there is what changed.
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !self.ignored.is_empty() => real(parent).join(name),
            _ => return false,
        };
        self.ignored.iter().any(|ignored| real.starts_with(ignored))
    }
}

/// Reading leads to nothing, also our own. A file that could not be read may have got other permissions; an event of unknown
/// kind may mean anything.
fn may_change_content(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Access(
            AccessKind::Open(_)
                | AccessKind::Read
                | AccessKind::Close(AccessMode::Read)
                | AccessKind::Any
        ) | EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime))
    )
}

/// What the system says of its limits misleads everybody: "no space left on device" is the one of watches
/// (notify-rs/notify#475), "too many open files" mostly the one of watchers.
fn explained(error: &notify::Error, path: &Path) -> String {
    let system = match &error.kind {
        notify::ErrorKind::Io(error) => Errno::from_io_error(error),
        notify::ErrorKind::MaxFilesWatch => Some(Errno::NOSPC),
        _ => None,
    };
    let hint = match system {
        Some(Errno::NOSPC) => {
            "; the system's limit of watches is reached: raise the sysctl fs.inotify.max_user_watches"
        }
        Some(Errno::MFILE) => {
            "; the system's limit of watchers is reached: raise the sysctl fs.inotify.max_user_instances, or this process's limit of \
             open files"
        }
        _ => "",
    };
    format!(
        "cannot watch {}: {error}{hint}; changes are found by the slow check alone",
        path.display()
    )
}

#[cfg(test)]
mod tests;

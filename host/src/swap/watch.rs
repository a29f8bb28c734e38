//! The only room that names notify.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, EventKind, MetadataKind, ModifyKind};
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Watches a folder with its subfolders, and wakes somebody when anything in it may have changed.
///
/// A folder that does not exist is a state, not an error: its nearest existing parent is watched until it appears. Lost events
/// (a kernel queue that overflowed, a watcher that broke) count as a change. A slow check by the caller makes good what a
/// file system does not report at all.
pub(crate) struct Watcher {
    folder: PathBuf,
    changed: Arc<Notify>,
    inner: Option<Watching>,
}

struct Watching {
    /// Kept alive: dropping it ends the watch.
    _watcher: notify::RecommendedWatcher,
    target: PathBuf,
}

impl Watcher {
    /// Watches `folder`, and notifies `changed`.
    pub(crate) fn new(folder: PathBuf, changed: Arc<Notify>) -> Self {
        let mut watcher = Self {
            folder,
            changed,
            inner: None,
        };
        watcher.renew();
        watcher
    }

    /// Watches again what exists now, if that is not what is watched. To be called after each change and by the slow check: a
    /// folder may have appeared, gone, or been replaced. The error of a watch that cannot be had, if it cannot.
    pub(crate) fn renew(&mut self) -> Option<String> {
        let target = nearest_existing(&self.folder);
        let in_place = self
            .inner
            .as_ref()
            .is_some_and(|watching| watching.target == target);
        if in_place && target == self.folder {
            return self.rewatch();
        }
        if in_place {
            return None;
        }
        self.watch(target)
    }

    /// The folder may be another inode by now; watching a path twice is cheap and picks that up.
    fn rewatch(&mut self) -> Option<String> {
        let folder = self.folder.clone();
        let inner = self.inner.as_mut()?;
        let again = inner._watcher.watch(&folder, RecursiveMode::Recursive);
        again.err().and_then(|_| self.watch(folder))
    }

    fn watch(&mut self, target: PathBuf) -> Option<String> {
        let mode = if target == self.folder {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        let changed = Arc::clone(&self.changed);
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.as_ref().map_or(true, may_change_content) {
                changed.notify_one();
            }
        })
        .and_then(|mut watcher| watcher.watch(&target, mode).map(|()| watcher));
        match made {
            Ok(watcher) => {
                self.inner = Some(Watching {
                    _watcher: watcher,
                    target,
                });
                None
            }
            Err(error) => {
                self.inner = None;
                Some(explained(&error, &target))
            }
        }
    }
}

/// Reading a file and changing its permissions lead to nothing; an event of unknown kind, or one that says "events were lost",
/// may mean anything.
fn may_change_content(event: &notify::Event) -> bool {
    event.need_rescan()
        || !matches!(
            event.kind,
            EventKind::Access(AccessKind::Open(_) | AccessKind::Read | AccessKind::Any)
                | EventKind::Modify(ModifyKind::Metadata(
                    MetadataKind::AccessTime | MetadataKind::Permissions | MetadataKind::Ownership
                ))
        )
}

fn nearest_existing(folder: &Path) -> PathBuf {
    folder
        .ancestors()
        .find(|path| path.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}

/// inotify's "no space left on device" is its watch limit, which misleads everybody (notify-rs/notify#475).
fn explained(error: &notify::Error, target: &Path) -> String {
    let hint = match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "; the system's watch limit is reached: raise fs.inotify.max_user_watches or max_user_instances"
        }
        _ => "",
    };
    format!(
        "cannot watch {}: {error}{hint}; changes are found by the slow check alone",
        target.display()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn expect_change(changed: &Notify) {
        tokio::time::timeout(Duration::from_secs(10), changed.notified())
            .await
            .expect("a change is noticed");
    }

    #[tokio::test]
    async fn saves_by_rename_and_in_place_are_noticed_every_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("topic.wasm");
        let changed = Arc::new(Notify::new());
        let _watcher = Watcher::new(folder.path().to_owned(), Arc::clone(&changed));
        for round in 0..3 {
            let other = folder.path().join("other");
            std::fs::write(&other, format!("{round}")).unwrap();
            std::fs::rename(&other, &file).unwrap();
            expect_change(&changed).await;
        }
        std::fs::write(&file, "in place").unwrap();
        expect_change(&changed).await;
    }

    #[tokio::test]
    async fn a_folder_that_appears_later_is_watched_then() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("plugins");
        let changed = Arc::new(Notify::new());
        let mut watcher = Watcher::new(folder.clone(), Arc::clone(&changed));
        std::fs::create_dir_all(folder.join("examples")).unwrap();
        expect_change(&changed).await;
        assert_eq!(watcher.renew(), None);
        std::fs::write(folder.join("examples/a.wasm"), "a").unwrap();
        expect_change(&changed).await;
    }

    #[test]
    fn lost_events_count_as_a_change_and_reading_does_not() {
        let rescan = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(may_change_content(&rescan));
        let open = EventKind::Access(AccessKind::Open(notify::event::AccessMode::Read));
        assert!(!may_change_content(&notify::Event::new(open)));
        assert!(!may_change_content(&notify::Event::new(EventKind::Modify(
            ModifyKind::Metadata(MetadataKind::Permissions)
        ))));
        assert!(may_change_content(&notify::Event::new(EventKind::Any)));
    }
}

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use notify::event::{CreateKind, DataChange, Flag, RenameMode};
use notify::{Error, ErrorKind, Event};
use rustix::process::{Resource, Rlimit, setrlimit};
use tempfile::TempDir;

use super::*;

/// A folder for tests, without links in its path.
struct Root {
    _folder: TempDir,
    path: PathBuf,
}

impl Root {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            path: folder.path().canonicalize().unwrap(),
            _folder: folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

/// A watcher of `folder` that watches.
fn watching(folder: PathBuf) -> (Watcher, Arc<Notify>) {
    let changed = Arc::new(Notify::new());
    let mut watcher = Watcher::new(folder, Vec::new(), Arc::clone(&changed));
    assert_eq!(watcher.renew(), None);
    (watcher, changed)
}

async fn expect_change(changed: &Notify) {
    tokio::time::timeout(Duration::from_secs(10), changed.notified())
        .await
        .expect("a change is noticed");
}

/// Forgets what was reported of the past. What is reported later than this waits can only let a test pass that should not.
async fn settle(changed: &Notify) {
    let quiet = Duration::from_millis(50);
    while tokio::time::timeout(quiet, changed.notified())
        .await
        .is_ok()
    {}
}

/// Saves by rename, as an editor does.
fn save(file: &Path, text: &str) {
    let other = file.with_extension("other");
    fs::write(&other, text).unwrap();
    fs::rename(&other, file).unwrap();
}

/// Field report 22.
#[tokio::test]
async fn saves_by_rename_and_in_place_are_noticed_every_time() {
    let root = Root::new();
    let file = root.folder("plugins").join("topic.wasm");
    let (_watcher, changed) = watching(root.path("plugins"));
    for round in 0..3 {
        save(&file, &format!("{round}"));
        expect_change(&changed).await;
        settle(&changed).await;
    }
    fs::write(&file, "in place").unwrap();
    expect_change(&changed).await;
}

/// Field report 73.
#[tokio::test]
async fn a_folder_that_appears_later_is_watched_then() {
    let root = Root::new();
    let folder = root.path("a/b/plugins");
    let (mut watcher, changed) = watching(folder.clone());
    fs::create_dir_all(folder.join("examples")).unwrap();
    expect_change(&changed).await;
    assert_eq!(watcher.renew(), None);
    settle(&changed).await;
    fs::write(folder.join("examples/a.wasm"), "a").unwrap();
    expect_change(&changed).await;
}

/// Field report 68.
#[tokio::test]
async fn a_folder_that_goes_or_is_replaced_is_noticed_and_the_new_one_is_watched() {
    for remove in [false, true] {
        let root = Root::new();
        let folder = root.folder("plugins");
        let (mut watcher, changed) = watching(folder.clone());
        if remove {
            fs::remove_dir(&folder).unwrap();
        } else {
            fs::rename(&folder, root.path("old")).unwrap();
        }
        expect_change(&changed).await;
        assert_eq!(watcher.renew(), None);
        settle(&changed).await;
        fs::create_dir(&folder).unwrap();
        expect_change(&changed).await;
        assert_eq!(watcher.renew(), None);
        settle(&changed).await;
        fs::write(folder.join("topic.wasm"), "a").unwrap();
        expect_change(&changed).await;
    }
}

#[tokio::test]
async fn a_folder_that_was_replaced_at_once_is_watched_after_the_next_look() {
    let root = Root::new();
    let (folder, next) = (root.folder("plugins"), root.folder("next"));
    let (mut watcher, changed) = watching(folder.clone());
    fs::rename(&folder, root.path("old")).unwrap();
    fs::rename(&next, &folder).unwrap();
    expect_change(&changed).await;
    assert_eq!(watcher.renew(), None);
    settle(&changed).await;
    save(&folder.join("topic.wasm"), "a");
    expect_change(&changed).await;
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_noticed_and_followed() {
    let root = Root::new();
    for release in ["releases/1", "releases/2"] {
        root.folder(&format!("{release}/plugins"));
    }
    symlink("releases/1", root.path("current")).unwrap();
    symlink("current/plugins", root.path("plugins")).unwrap();
    let (mut watcher, changed) = watching(root.path("plugins"));
    fs::write(root.path("releases/1/plugins/topic.wasm"), "a").unwrap();
    expect_change(&changed).await;
    settle(&changed).await;

    symlink("releases/2", root.path("next")).unwrap();
    fs::rename(root.path("next"), root.path("current")).unwrap();
    expect_change(&changed).await;
    assert_eq!(watcher.renew(), None);
    settle(&changed).await;
    fs::write(root.path("releases/2/plugins/topic.wasm"), "b").unwrap();
    expect_change(&changed).await;
}

/// Field report 78.
#[tokio::test]
async fn a_folder_is_watched_however_it_is_spelled() {
    let root = Root::new();
    root.folder("plugins");
    root.folder("other");
    symlink("plugins", root.path("link")).unwrap();
    for spelled in [
        "plugins/",
        "other/../plugins",
        "./plugins",
        "link",
        "other/../link/",
    ] {
        let (_watcher, changed) = watching(root.path(spelled));
        save(&root.path("plugins/topic.wasm"), spelled);
        expect_change(&changed).await;
    }
}

#[tokio::test]
async fn a_link_to_a_folder_in_the_folder_is_followed() {
    let root = Root::new();
    root.folder("elsewhere");
    symlink(root.path("elsewhere"), root.folder("plugins").join("own")).unwrap();
    let (_watcher, changed) = watching(root.path("plugins"));
    save(&root.path("elsewhere/topic.wasm"), "a");
    expect_change(&changed).await;
}

fn sieve(folder: &Path, ignored: &[PathBuf]) -> Sieve {
    Sieve::new(Route::of(folder), ignored, Arc::new(Notify::new()))
}

const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));

fn written(path: PathBuf) -> Event {
    Event::new(WRITTEN).add_path(path)
}

/// Field report 33: lost events come without a path.
#[tokio::test]
async fn lost_events_lead_to_a_look() {
    let root = Root::new();
    let folder = root.folder("plugins");
    let sieve = sieve(&folder, &[root.folder("plugins/state")]);
    let lost: [notify::Result<Event>; 4] = [
        Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)),
        Ok(written(root.path("elsewhere")).set_flag(Flag::Rescan)),
        Ok(Event::new(EventKind::Any)),
        Err(Error::generic("broken")),
    ];
    for event in lost {
        sieve.take(&event);
        // Told already, so that it need not be waited for.
        let told = tokio::time::timeout(Duration::ZERO, sieve.changed.notified());
        assert!(told.await.is_ok(), "{event:?}");
    }
}

/// The host reads the files itself: that must not lead to the next reading.
#[test]
fn reading_leads_to_nothing_and_everything_else_to_a_look() {
    let changes = [
        WRITTEN,
        EventKind::Create(CreateKind::File),
        EventKind::Modify(ModifyKind::Name(RenameMode::To)),
        EventKind::Access(AccessKind::Close(AccessMode::Write)),
        // What could not be read may be readable now.
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::Permissions)),
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
        EventKind::Any,
    ];
    for kind in changes {
        assert!(may_change_content(&kind), "{kind:?}");
    }
    let reading = [
        EventKind::Access(AccessKind::Open(AccessMode::Any)),
        EventKind::Access(AccessKind::Open(AccessMode::Read)),
        EventKind::Access(AccessKind::Read),
        EventKind::Access(AccessKind::Close(AccessMode::Read)),
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)),
    ];
    for kind in reading {
        assert!(!may_change_content(&kind), "{kind:?}");
    }
}

#[test]
fn the_hosts_own_files_do_not_wake_it() {
    let root = Root::new();
    let folder = root.folder("plugins");
    symlink("plugins", root.path("link")).unwrap();
    symlink(root.path("elsewhere"), folder.join("outside")).unwrap();
    let state = root.folder("plugins/state");
    root.folder("elsewhere/state");
    // One does not exist yet, and one is spelled through a link.
    let ignored = [
        root.path("link/state/../state"),
        root.path("plugins/broker/config"),
        root.path("elsewhere/state"),
    ];
    let sieve = sieve(&folder, &ignored);
    let ignored = [
        "plugins/state",
        "plugins/state/replica-a.json",
        "plugins/broker/config/topics.json",
        "plugins/outside/state/replica-a.json",
    ];
    for path in ignored {
        assert!(!sieve.passes(&written(root.path(path))), "{path}");
    }
    for path in [
        "plugins/topic.wasm",
        "plugins/broker",
        "plugins/state2",
        "plugins/outside/a.wasm",
        "plugins",
    ] {
        assert!(sieve.passes(&written(root.path(path))), "{path}");
    }
    // A link into an ignored folder is a change of the link.
    symlink(&state, folder.join("topic.wasm")).unwrap();
    assert!(sieve.passes(&written(folder.join("topic.wasm"))));
    let moved = written(state.join("a.wasm")).add_path(folder.join("a.wasm"));
    assert!(sieve.passes(&moved), "out of an ignored folder");
}

#[test]
fn of_the_folders_around_only_the_route_counts() {
    let root = Root::new();
    root.folder("releases/1");
    symlink("releases/1", root.path("plugins")).unwrap();
    for (folder, on_the_route) in [
        ("plugins", ["plugins", "releases/1", "releases"]),
        ("missing/plugins", ["missing", "missing", ""]),
    ] {
        let sieve = sieve(&root.path(folder), &[]);
        for path in on_the_route {
            assert!(sieve.passes(&written(root.path(path))), "{folder}: {path}");
        }
        for path in ["locum.log", "releases/2"] {
            assert!(!sieve.passes(&written(root.path(path))), "{folder}: {path}");
        }
    }
}

#[test]
fn a_folder_with_the_policies_in_it_is_not_ignored() {
    let root = Root::new();
    let folder = root.folder("state/plugins");
    for ignored in [root.path("state"), folder.clone()] {
        let sieve = sieve(&folder, &[ignored]);
        assert!(sieve.passes(&written(folder.join("topic.wasm"))));
    }
}

/// Field report 76.
#[test]
fn a_limit_of_the_system_is_named_with_its_sysctl() {
    let full = [
        Error::new(ErrorKind::MaxFilesWatch),
        Error::io(Errno::NOSPC.into()),
    ];
    for error in full {
        let told = explained(&error, Path::new("/plugins"));
        assert!(told.starts_with("cannot watch /plugins: "), "{told}");
        assert!(told.contains("fs.inotify.max_user_watches"), "{told}");
        assert!(
            told.ends_with("; changes are found by the slow check alone"),
            "{told}"
        );
    }
    let told = explained(&Error::io(Errno::MFILE.into()), Path::new("/plugins"));
    assert!(told.contains("fs.inotify.max_user_instances"), "{told}");
    let told = explained(&Error::io(Errno::ACCESS.into()), Path::new("/plugins"));
    assert!(!told.contains("sysctl"), "{told}");
}

/// Says to a child of this test that it is one.
const CHILD: &str = "LOCUM_TEST_FEW_FILES";

/// Field report 76: what a process gets when no watcher is left. In a process of its own, since the limit is.
#[test]
fn a_watcher_that_cannot_be_had_is_told_once_and_had_later() {
    if std::env::var_os(CHILD).is_some() {
        return without_a_watcher();
    }
    let this = "swap::watch::tests::a_watcher_that_cannot_be_had_is_told_once_and_had_later";
    let child = Command::new(std::env::current_exe().unwrap())
        .args([this, "--exact", "--nocapture"])
        .env(CHILD, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn without_a_watcher() {
    let root = Root::new();
    let folder = root.folder("plugins");
    let limit = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut open: Vec<File> = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        open.push(file);
    }
    let changed = Arc::new(Notify::new());
    let mut watcher = Watcher::new(folder.clone(), Vec::new(), Arc::clone(&changed));
    let told = watcher.renew().unwrap();
    assert!(told.contains("fs.inotify.max_user_instances"), "{told}");
    assert_eq!(watcher.renew(), None, "told once");
    open.clear();
    assert_eq!(watcher.renew(), None);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async {
            save(&folder.join("topic.wasm"), "a");
            expect_change(&changed).await;
        });
}

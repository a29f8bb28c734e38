//! Where a path leads.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// A path may go through this many symbolic links, as in Linux.
const MAX_LINKS: usize = 40;

/// The route to a folder as the system goes it. Two routes that are equal lead through the same names, though perhaps to another
/// inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// The names that decide where it leads, each in a folder that is there: every symbolic link, and at last the folder itself or
    /// the first name that is missing.
    pub(super) turns: Vec<PathBuf>,
    /// The folder, without a link in its path; none if there is none.
    pub(super) folder: Option<PathBuf>,
}

impl Route {
    /// The route to `folder` as it is now.
    pub(super) fn of(folder: &Path) -> Self {
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let mut left = names_backwards(&whole);
        let mut at = PathBuf::from("/");
        let mut turns = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(name);
            let found = std::fs::symlink_metadata(&next);
            if found.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
                at = next;
                continue;
            }
            let target = std::fs::read_link(&next).ok();
            turns.push(next);
            links += 1;
            match target {
                Some(target) if links <= MAX_LINKS => {
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    left.extend(names_backwards(&target));
                }
                _ => {
                    return Self {
                        turns,
                        folder: None,
                    };
                }
            }
        }
        turns.push(at.clone());
        Self {
            turns,
            folder: Some(at),
        }
    }
}

/// The names in a path, the last one first, `..` among them.
fn names_backwards(path: &Path) -> Vec<OsString> {
    let name = |part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

/// `path` without links, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let exists = |begin: &Path| {
        let rest = path.strip_prefix(begin).ok()?;
        Some(begin.canonicalize().ok()?.join(rest))
    };
    path.ancestors()
        .find_map(exists)
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    /// The turns and the folder, relative to `root`.
    fn route(root: &Path, path: &str) -> (Vec<String>, Option<String>) {
        let route = Route::of(&root.join(path));
        let short = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        (
            route.turns.iter().map(short).collect(),
            route.folder.as_ref().map(short),
        )
    }

    #[test]
    fn links_the_folder_and_what_is_missing_are_turns() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        create_dir_all(root.join("a/releases/1/plugins")).unwrap();
        symlink("releases/1", root.join("a/current")).unwrap();
        symlink(root.join("a/current/plugins"), root.join("plugins")).unwrap();
        symlink("round", root.join("round")).unwrap();
        symlink("a/gone/plugins", root.join("broken")).unwrap();
        write(root.join("file"), "").unwrap();
        let folder = "a/releases/1/plugins";
        let cases: [(&str, &[&str], Option<&str>); 8] = [
            (folder, &[folder], Some(folder)),
            (
                "a/releases/../releases/1/./plugins/",
                &[folder],
                Some(folder),
            ),
            ("a/current/plugins", &["a/current", folder], Some(folder)),
            ("plugins", &["plugins", "a/current", folder], Some(folder)),
            (
                "a/current/../1",
                &["a/current", "a/releases/1"],
                Some("a/releases/1"),
            ),
            ("a/b/c", &["a/b"], None),
            ("broken", &["broken", "a/gone"], None),
            ("file/plugins", &["file"], None),
        ];
        for (path, turns, folder) in cases {
            let expected = turns.iter().map(|turn| (*turn).to_owned()).collect();
            let folder = folder.map(str::to_owned);
            assert_eq!(route(&root, path), (expected, folder), "{path}");
        }
        assert_eq!(route(&root, "round").1, None, "a link to itself has an end");
    }

    #[test]
    fn what_does_not_exist_yet_is_real_as_far_as_it_goes() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        create_dir_all(root.join("a")).unwrap();
        symlink("a", root.join("link")).unwrap();
        assert_eq!(real(&root.join("link")), root.join("a"));
        assert_eq!(real(&root.join("link/b/c")), root.join("a/b/c"));
    }
}

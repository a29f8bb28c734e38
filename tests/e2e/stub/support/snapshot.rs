//! Texts that people read, as files: `UPDATE_SNAPSHOTS=1 cargo test -p locum --test stub` writes them anew.

use std::fs;
use std::path::Path;

/// Compares with the file in `snapshots`, or writes it.
pub(crate) fn expect_snapshot(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/stub/snapshots");
    let path = folder.join(name).with_extension("txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{name} is another text than its snapshot (UPDATE_SNAPSHOTS=1 takes it):\n{}",
        first_difference(&expected, text)
    );
}

fn first_difference(expected: &str, found: &str) -> String {
    let lines = expected
        .lines()
        .chain(["(the end)"])
        .zip(found.lines().chain(["(the end)"]));
    let differs = lines
        .enumerate()
        .find(|(_, (expected, found))| expected != found);
    let told =
        |(number, (expected, found))| format!("line {}:\n- {expected}\n+ {found}", number + 1);
    differs.map_or_else(|| "in its white space".to_owned(), told)
}

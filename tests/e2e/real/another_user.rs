//! A broker under another user, which boots empty from files that it cannot read, and on 5.5.0 deletes them.

use std::env;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use real_master::{Broker, Topic, Version, skipped};
use serde_json::json;

use crate::room::room_for;
use crate::stand_in::{StandIn, text};
use crate::tables::{GROUPS, OFFSETS, TOPICS, Tables};

/// On every Linux.
const NOBODY: (&str, u32) = ("nobody", 65_534);

fn another_user_boots_from_our_files(version: Version) {
    let _room = room_for(1);
    let master = Broker::builder(version).start().unwrap();
    master.create_topic(&Topic::new("T_kept", 2)).unwrap();
    master.create_group("G_kept", json!({})).unwrap();
    master.commit_offset("G_kept", "T_kept", 1, 42).unwrap();
    let stand_in = StandIn::of(&master);
    stand_in.locum(&["sync"]).with_code(0);
    let kept = Tables::answered_by(&master);
    drop(master);

    let directory = stand_in.directory();
    let (name, uid) = NOBODY;
    let verify = || stand_in.locum(&["verify", text(&directory), "--as", name]);
    for table in [&TOPICS, &GROUPS, &OFFSETS] {
        let is = fs::metadata(directory.join(table.file)).unwrap();
        assert_eq!(is.mode() & 0o777, 0o644, "{}", table.file);
        assert_ne!(is.uid(), uid);
    }
    verify().with_code(0);
    let offsets = directory.join(OFFSETS.file);
    fs::set_permissions(&offsets, Permissions::from_mode(0o600)).unwrap();
    verify().with_code(65);
    fs::set_permissions(&offsets, Permissions::from_mode(0o644)).unwrap();

    let other = Broker::builder(version)
        .store(stand_in.store())
        .uid(uid)
        .start()
        .unwrap();
    let booted = Tables::answered_by(&other);
    for table in [&TOPICS, &GROUPS, &OFFSETS] {
        booted.assert_has_entries_of(&kept, table);
    }
}

/// Only root can run a broker as somebody else.
fn cannot_be_run(test: &str) -> bool {
    if skipped(test) {
        return true;
    }
    let root = rustix::process::geteuid().is_root();
    if !root {
        let why = "only root can become another user";
        assert!(env::var_os("CI").is_none(), "{test}: {why}");
        // Not captured, unlike `eprintln!`, so that nobody takes it for a passed test.
        let _ = writeln!(io::stderr(), "SKIPPED {test}: {why}");
    }
    !root
}

#[test]
fn another_user_boots_from_our_files_4_9_7() {
    if !cannot_be_run("another_user_boots_from_our_files_4_9_7") {
        another_user_boots_from_our_files(Version::V4_9_7);
    }
}

#[test]
fn another_user_boots_from_our_files_5_5_0() {
    if !cannot_be_run("another_user_boots_from_our_files_5_5_0") {
        another_user_boots_from_our_files(Version::V5_5_0);
    }
}

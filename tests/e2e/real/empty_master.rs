//! No table yet is not the empty table: a fresh master's stand-in is boot-ready.

use real_master::{Broker, Version, skipped};
use serde_json::json;

use crate::room::room_for;
use crate::stand_in::StandIn;
use crate::tables::{DELAYS, GROUPS, OFFSETS, TOPICS, Tables};

fn a_fresh_masters_files_boot_a_broker(version: Version) {
    let _room = room_for(1);
    let master = Broker::builder(version).start().unwrap();
    let stand_in = StandIn::of(&master);
    stand_in.locum(&["sync"]).with_code(0);
    stand_in.verify(&stand_in.directory()).with_code(0);
    let files = stand_in.tables();
    assert_eq!(files.entries(&OFFSETS), &json!({}));
    assert_eq!(files.entries(&DELAYS), &json!({}));
    let fresh = Tables::answered_by(&master);
    files.assert_are(&fresh);
    drop(master);

    let second = Broker::builder(version)
        .store(stand_in.store())
        .start()
        .unwrap();
    let booted = Tables::answered_by(&second);
    for table in [&TOPICS, &GROUPS, &OFFSETS, &DELAYS] {
        booted.assert_has_entries_of(&fresh, table);
    }
}

#[test]
fn a_fresh_masters_files_boot_a_broker_4_9_7() {
    if !skipped("a_fresh_masters_files_boot_a_broker_4_9_7") {
        a_fresh_masters_files_boot_a_broker(Version::V4_9_7);
    }
}

#[test]
fn a_fresh_masters_files_boot_a_broker_5_5_0() {
    if !skipped("a_fresh_masters_files_boot_a_broker_5_5_0") {
        a_fresh_masters_files_boot_a_broker(Version::V5_5_0);
    }
}

//! The main job: a copy that is exact, that a broker boots from, and that follows.

use locum::status::TickResult;
use real_master::{Broker, Topic, Version, seed, skipped};
use serde_json::Value;

use crate::room::room_for;
use crate::stand_in::{StandIn, text};
use crate::tables::{GROUPS, OFFSETS, TOPICS, Tables};
use crate::watched::Watched;

fn sync_boot_and_follow(version: Version) {
    let _room = room_for(1);
    let master = seeded(version);
    let stand_in = StandIn::of(&master);
    let config = stand_in.config();
    stand_in
        .locum(&["sync", "--config", text(&config)])
        .with_code(0);
    stand_in.tables().assert_are(&Tables::answered_by(&master));

    let host = stand_in.host();
    changes_arrive_at_the_next_tick(&master, &stand_in, &host);
    ten_passes_leave_the_files_alone(&stand_in, &host);
    host.shut_down();

    let last = Tables::answered_by(&master);
    stand_in.tables().assert_are(&last);
    drop(master);
    boots_with(&stand_in, version, &last);
}

/// A master with every kind of entry, and a topic that is there to be deleted.
fn seeded(version: Version) -> Broker {
    let master = Broker::builder(version).start().unwrap();
    seed(&master).unwrap();
    master.create_topic(&Topic::new("T_gone", 1)).unwrap();
    if version == Version::V5_5_0 {
        // Fills `pullOffsetTable`, at which Java's own slaves stop.
        master.pull_when_there("G_plain", "T_plain", 1, 1).unwrap();
        let answer = Tables::answered_by(&master);
        let pulled = &answer.document(&OFFSETS)["pullOffsetTable"];
        assert!(pulled["T_plain@G_plain"]["1"].is_i64(), "{pulled}");
    }
    master
}

fn changes_arrive_at_the_next_tick(master: &Broker, stand_in: &StandIn, host: &Watched) {
    master.create_topic(&Topic::new("T_more", 3)).unwrap();
    master.delete_topic("T_gone").unwrap();
    master.commit_offset("G_plain", "T_plain", 0, 1).unwrap();
    host.next_ticks(1);
    let arrived = stand_in.tables();
    let topics = arrived.entries(&TOPICS);
    assert_eq!(topics["T_more"]["readQueueNums"], 3);
    assert_eq!(topics["T_gone"], Value::Null);
    assert_eq!(arrived.entries(&OFFSETS)["T_plain@G_plain"]["0"], 1);
    arrived.assert_are(&Tables::answered_by(master));
}

fn ten_passes_leave_the_files_alone(stand_in: &StandIn, host: &Watched) {
    let before = stand_in.generation();
    for (slot, ticks) in host.next_ticks(10) {
        for tick in ticks {
            assert_eq!(tick.result, TickResult::Unchanged, "{slot}: {tick:?}");
        }
    }
    assert_eq!(stand_in.generation(), before);
}

/// The judge: a broker on the replica's directory itself.
fn boots_with(stand_in: &StandIn, version: Version, expected: &Tables) {
    let second = Broker::builder(version)
        .store(stand_in.store())
        .start()
        .unwrap();
    let booted = Tables::answered_by(&second);
    for table in [&TOPICS, &GROUPS, &OFFSETS] {
        booted.assert_has_entries_of(expected, table);
    }
    assert_eq!(
        booted.document(&TOPICS)["dataVersion"],
        expected.document(&TOPICS)["dataVersion"]
    );
    // 4.9.7 reads the table of its groups and not the version of it.
    if version.is_five() {
        assert_eq!(booted.document(&GROUPS), expected.document(&GROUPS));
    }
}

#[test]
fn sync_boot_and_follow_4_9_7() {
    if !skipped("sync_boot_and_follow_4_9_7") {
        sync_boot_and_follow(Version::V4_9_7);
    }
}

#[test]
fn sync_boot_and_follow_5_3_3() {
    if !skipped("sync_boot_and_follow_5_3_3") {
        sync_boot_and_follow(Version::V5_3_3);
    }
}

#[test]
fn sync_boot_and_follow_5_5_0() {
    if !skipped("sync_boot_and_follow_5_5_0") {
        sync_boot_and_follow(Version::V5_5_0);
    }
}

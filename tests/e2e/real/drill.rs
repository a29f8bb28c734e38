//! The drill, for which all this exists: a master loses its metadata files at a power cut and boots from the stand-in, on
//! its own message store. By the commands of `docs/recovery.md`, in their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use locum::status::RoutineState;
use real_master::{Broker, Topic, Version, seed, skipped};

use crate::room::room_for;
use crate::stand_in::{REPLICA, StandIn, text};
use crate::tables::{DELAYS, GROUPS, OFFSETS, TOPICS, Tables};

fn drill(version: Version) {
    let _room = room_for(1);
    let mut master = master_at_work(version);
    let stand_in = StandIn::of(&master);
    let daemon = stand_in.run();
    daemon.await_fresh_tick();
    let last_tick = stand_in.tables();
    last_tick.assert_are(&Tables::answered_by(&master));

    let config = master.config_dir();
    refuses_while_the_broker_runs(&stand_in, &config);
    master.kill();
    power_cut(&config);
    stand_in.verify(&config).with_code(65);

    stand_in.verify(&stand_in.directory()).with_code(0);
    stand_in.locum(&["role", REPLICA, "master"]).with_code(0);
    daemon.await_state(RoutineState::Stopped);
    recover(&stand_in, &config);

    master.start_again().unwrap();
    is_as_at_the_last_tick(&master, &last_tick);
    goes_on_where_it_was(&master);

    stand_in.locum(&["role", REPLICA, "slave"]).with_code(0);
    master.create_topic(&Topic::new("T_after", 1)).unwrap();
    daemon.await_fresh_tick();
    let followed = stand_in.tables();
    assert_eq!(followed.entries(&TOPICS)["T_after"]["perm"], 6);
    followed.assert_has_entries_of(&Tables::answered_by(&master), &OFFSETS);
    daemon.stop();
}

/// Messages, delayed messages that were delivered, and a committed offset for each group.
fn master_at_work(version: Version) -> Broker {
    let master = Broker::builder(version).start().unwrap();
    seed(&master).unwrap();
    master.commit_offset("G_attr", "T_plain", 1, 1).unwrap();
    let tables = Tables::answered_by(&master);
    let offsets = tables.entries(&OFFSETS).as_object().unwrap();
    let groups = tables.entries(&GROUPS).as_object().unwrap();
    for group in groups.keys().filter(|group| group.starts_with("G_")) {
        let of_group = format!("@{group}");
        assert!(
            offsets.keys().any(|key| key.ends_with(&of_group)),
            "{group}"
        );
    }
    master
}

fn refuses_while_the_broker_runs(stand_in: &StandIn, config: &Path) {
    let before = content(config);
    let directory = stand_in.directory();
    let command = ["recover", text(&directory), "--to", text(config)];
    stand_in.locum(&command).with_code(75);
    stand_in
        .locum(&[&command[..], &["--dry-run"]].concat())
        .with_code(75);
    assert_eq!(content(config), before);
}

/// What a file system leaves of files that were written and not flushed: their names, and nothing in them.
fn power_cut(config: &Path) {
    for name in content(config).into_keys() {
        if name.ends_with(".json") || name.ends_with(".json.bak") {
            fs::write(config.join(name), "").unwrap();
        }
    }
    for table in [&TOPICS, &GROUPS, &OFFSETS, &DELAYS] {
        fs::write(config.join(table.file), "").unwrap();
        fs::write(config.join(format!("{}.bak", table.file)), "").unwrap();
    }
}

fn recover(stand_in: &StandIn, config: &Path) {
    let emptied = content(config);
    let directory = stand_in.directory();
    let command = ["recover", text(&directory), "--to", text(config)];
    stand_in
        .locum(&[&command[..], &["--dry-run"]].concat())
        .with_code(0);
    assert_eq!(content(config), emptied, "--dry-run");
    stand_in.locum(&command).with_code(0);
    stand_in.verify(config).with_code(0);
    Tables::in_files(config).assert_are(&stand_in.tables());
}

fn is_as_at_the_last_tick(master: &Broker, last_tick: &Tables) {
    let booted = Tables::answered_by(master);
    for table in [&TOPICS, &GROUPS, &OFFSETS, &DELAYS] {
        booted.assert_has_entries_of(last_tick, table);
    }
}

fn goes_on_where_it_was(master: &Broker) {
    let booted = Tables::answered_by(master);
    let committed = &booted.entries(&OFFSETS)["T_plain@G_plain"];
    for (queue, next) in [(0, "first"), (1, "second")] {
        let offset = committed[queue.to_string()].as_i64().unwrap();
        let message = master
            .pull_when_there("G_plain", "T_plain", queue, offset)
            .unwrap();
        assert_eq!(message.queue_offset, offset);
        assert_eq!(message.body, next);
    }
    // Three delayed messages were delivered before. Were they delivered again, they would come before this one, since a
    // level's queue is delivered in its order.
    master.send_delayed("T_one", 0, "after", 1).unwrap();
    let message = master.pull_when_there("G_plain", "T_one", 0, 3).unwrap();
    assert_eq!(message.body, "after");
}

/// All files of a directory.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn drill_4_9_7() {
    if !skipped("drill_4_9_7") {
        drill(Version::V4_9_7);
    }
}

#[test]
fn drill_5_5_0() {
    if !skipped("drill_5_5_0") {
        drill(Version::V5_5_0);
    }
}

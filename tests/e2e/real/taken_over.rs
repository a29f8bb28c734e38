//! A broker on the replica's own directory: never written under, and never overwritten after.

use std::fs;

use locum::Role;
use locum::status::{ReplicaStatus, RoutineState};
use real_master::{Broker, Topic, Version, skipped};
use serde_json::{Value, json};

use crate::room::room_for;
use crate::stand_in::{REPLICA, StandIn};
use crate::tables::{GROUPS, Mark, OFFSETS, TOPICS, Tables};
use crate::watched::Watched;

/// So many periods in which nothing may be written.
const PERIODS: usize = 4;

fn left_alone_when_it_starts_later(version: Version) {
    let _room = room_for(2);
    let master = Broker::builder(version).start().unwrap();
    give_topic_and_offset(&master, "T_both", "G_both", 1);
    let stand_in = StandIn::of(&master);
    let host = stand_in.host();
    host.fresh_tick();

    let mut promoted = on(&stand_in, version);
    nothing_runs(&host);
    assert!(tells_of(&host.replica().status(), &promoted));
    let before = seldom_written(&stand_in);
    give_topic_and_offset(&master, "T_late", "G_late", 1);
    nothing_runs(&host);
    assert_eq!(seldom_written(&stand_in), before);
    assert_eq!(
        topic(&Tables::answered_by(&promoted), "T_late"),
        Value::Null
    );

    promoted.commit_offset("G_both", "T_both", 0, 7).unwrap();
    give_topic_and_offset(&promoted, "T_own", "G_own", 5);
    promoted.stop().unwrap();
    let left = stand_in.generation();
    nothing_runs(&host);
    host.shut_down();
    let host = stand_in.host();
    nothing_runs(&host);
    assert_eq!(stand_in.generation(), left);
    assert!(is_taken_over(&host.replica().status()));

    promoted.start_again().unwrap();
    let kept = Tables::answered_by(&promoted);
    assert_eq!(offset(&kept, "T_both@G_both"), 7);
    assert_eq!(offset(&kept, "T_own@G_own"), 5);
    promoted.kill();
    adopted_as_it_is(&host, &stand_in, &kept);
    goes_on_from_there(&host, &stand_in, &master);
    host.shut_down();
}

/// Without a schedule, so that what was adopted can be told from what the next tick makes of it.
fn adopted_as_it_is(host: &Watched, stand_in: &StandIn, kept: &Tables) {
    let replica = host.replica();
    host.wait(replica.set_role(Role::Master)).unwrap();
    let left = stand_in.generation();
    host.wait(replica.adopt(false)).unwrap();
    assert_eq!(stand_in.generation(), left);
    for (table, kept) in [
        ("topics", kept.entries(&TOPICS)),
        ("consumer-offsets", kept.entries(&OFFSETS)),
    ] {
        let current = replica.table(table).unwrap();
        let entries = current.entries().map(|entry| {
            let value = serde_json::from_str(entry.value).unwrap();
            (entry.key.to_owned(), value)
        });
        assert_eq!(&Value::Object(entries.collect()), kept);
    }
}

/// The policies' own rules again: topics are the master's, offsets are merged into ours.
fn goes_on_from_there(host: &Watched, stand_in: &StandIn, master: &Broker) {
    let replica = host.replica();
    host.wait(replica.set_role(Role::Slave)).unwrap();
    host.fresh_tick();
    let files = stand_in.tables();
    files.assert_has_entries_of(&Tables::answered_by(master), &TOPICS);
    assert_eq!(offset(&files, "T_both@G_both"), 1);
    assert_eq!(offset(&files, "T_own@G_own"), 5);
}

fn left_alone_when_it_ran_before(version: Version) {
    let _room = room_for(2);
    let master = Broker::builder(version).start().unwrap();
    give_topic_and_offset(&master, "T_both", "G_both", 1);
    give_topic_and_offset(&master, "T_late", "G_late", 1);
    let stand_in = StandIn::of(&master);
    let mut promoted = on(&stand_in, version);
    give_topic_and_offset(&promoted, "T_both", "G_both", 7);
    let before = seldom_written(&stand_in);

    stand_in.locum(&["sync"]).with_code(75);
    let daemon = stand_in.run();
    let status = daemon.await_state(RoutineState::DirectoryInUse);
    assert!(tells_of(&status, &promoted), "{status:?}");
    stand_in.locum(&["sync"]).with_code(75);
    assert_eq!(seldom_written(&stand_in), before);

    promoted.stop().unwrap();
    let left = stand_in.generation();
    daemon.await_status("a directory that is taken over", is_taken_over);
    daemon.stop();
    let daemon = stand_in.run();
    daemon.await_status("a directory that is taken over", is_taken_over);
    stand_in.locum(&["sync"]).with_code(75);
    assert_eq!(stand_in.generation(), left);

    promoted.start_again().unwrap();
    let kept = Tables::answered_by(&promoted);
    assert_eq!(offset(&kept, "T_both@G_both"), 7);
    assert_eq!(topic(&kept, "T_late"), Value::Null);
    let overwrite = ["adopt", REPLICA, "--overwrite"];
    stand_in.locum(&overwrite).with_code(75);
    promoted.kill();
    stand_in.locum(&overwrite).with_code(0);
    daemon.await_fresh_tick();
    stand_in.tables().assert_are(&Tables::answered_by(&master));
    assert_eq!(offset_put_aside(&stand_in), 7);
    daemon.stop();
}

/// The files that a running broker leaves alone unless it is told of a topic or group; offsets it writes by itself.
fn seldom_written(stand_in: &StandIn) -> [Option<Mark>; 2] {
    let generation = stand_in.generation();
    [&TOPICS, &GROUPS].map(|table| generation.of_file(table))
}

/// A broker on the replica's directory.
fn on(stand_in: &StandIn, version: Version) -> Broker {
    Broker::builder(version)
        .store(stand_in.store())
        .start()
        .unwrap()
}

fn give_topic_and_offset(broker: &Broker, topic: &str, group: &str, offset: i64) {
    broker.create_topic(&Topic::new(topic, 1)).unwrap();
    broker.create_group(group, json!({})).unwrap();
    broker.commit_offset(group, topic, 0, offset).unwrap();
}

/// Every routine is due several times and does not run.
fn nothing_runs(host: &Watched) {
    host.each(PERIODS, |event| match event {
        locum::Event::NotRun { slot, state, .. } => {
            assert_eq!(*state, RoutineState::DirectoryInUse);
            Some(*slot)
        }
        _ => None,
    });
}

/// By the lock that the broker holds.
fn tells_of(replica: &ReplicaStatus, broker: &Broker) -> bool {
    let told = format!("a broker (pid {}) runs on the directory", broker.pid());
    replica.notes.iter().any(|note| note.starts_with(&told))
}

fn is_taken_over(replica: &ReplicaStatus) -> bool {
    let in_use = |state| state == RoutineState::DirectoryInUse;
    let told = |note: &String| note.contains("files that this host did not write");
    replica.routines.iter().all(|routine| in_use(routine.state)) && replica.notes.iter().any(told)
}

fn topic(tables: &Tables, name: &str) -> Value {
    tables.entries(&TOPICS)[name].clone()
}

fn offset(tables: &Tables, key: &str) -> Value {
    tables.entries(&OFFSETS)[key]["0"].clone()
}

/// The offset in the broker's file, which `--overwrite` keeps beside ours.
fn offset_put_aside(stand_in: &StandIn) -> Value {
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let aside = fs::read_dir(stand_in.directory())
        .unwrap()
        .map(Result::unwrap)
        .find(|entry| name(entry).starts_with("consumerOffset.json.aside"));
    // Whatever wrote it: a broker writes bare keys.
    let text = fs::read_to_string(aside.unwrap().path()).unwrap();
    let (_, after) = text.split_once("\"T_both@G_both\":{").unwrap();
    let (entry, _) = after.split_once('}').unwrap();
    let (_, offset) = entry.split_once(':').unwrap();
    offset.trim().parse::<i64>().unwrap().into()
}

#[test]
fn a_broker_that_starts_later_is_left_alone_4_9_7() {
    if !skipped("a_broker_that_starts_later_is_left_alone_4_9_7") {
        left_alone_when_it_starts_later(Version::V4_9_7);
    }
}

#[test]
fn a_broker_that_starts_later_is_left_alone_5_5_0() {
    if !skipped("a_broker_that_starts_later_is_left_alone_5_5_0") {
        left_alone_when_it_starts_later(Version::V5_5_0);
    }
}

#[test]
fn a_broker_that_ran_before_is_left_alone_5_5_0() {
    if !skipped("a_broker_that_ran_before_is_left_alone_5_5_0") {
        left_alone_when_it_ran_before(Version::V5_5_0);
    }
}

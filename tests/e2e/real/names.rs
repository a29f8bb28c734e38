//! A master that a real name server finds.

use locum::Event;
use locum::status::RoutineState;
use real_master::{Broker, NameServer, Topic, Version, skipped};

use crate::room::room_for;
use crate::stand_in::StandIn;
use crate::tables::TOPICS;

fn found_lost_and_found_again(version: Version) {
    // The name server is a Java process too.
    let _room = room_for(2);
    let names = NameServer::start(version).unwrap();
    let start = || {
        Broker::builder(version)
            .name_server(&names)
            .start()
            .unwrap()
    };
    let mut first = start();
    first.create_topic(&Topic::new("T_first", 2)).unwrap();
    let stand_in = StandIn::of(&first);
    stand_in.find_by(&format!("127.0.0.1:1;{}", names.address()));
    let host = stand_in.host();
    host.fresh_tick();
    let status = host.replica().status();
    assert_eq!(status.master, Some(first.address().to_string()));
    let source = format!("found by the name server at {}", names.address());
    assert_eq!(status.master_source, Some(source));
    assert!(stand_in.tables().entries(&TOPICS).get("T_first").is_some());

    // It says good-bye to the name server, which then knows no broker at all.
    first.stop().unwrap();
    host.each(1, |event| match event {
        Event::NotRun {
            slot,
            state: RoutineState::NoMaster,
            ..
        } => Some(*slot),
        _ => None,
    });
    let before = stand_in.generation();
    let note = host.replica().status().notes.join("\n");
    assert!(note.contains("the master has gone"), "{note}");

    // Another process, on another port, with other topics.
    let second = start();
    second.create_topic(&Topic::new("T_second", 2)).unwrap();
    assert_ne!(second.address(), first.address());
    host.fresh_tick();
    host.next_ticks(1);
    assert_eq!(
        host.replica().status().master,
        Some(second.address().to_string())
    );
    assert_ne!(stand_in.generation(), before);
    assert!(stand_in.tables().entries(&TOPICS).get("T_second").is_some());
    host.shut_down();
}

#[test]
fn a_master_is_found_lost_and_found_again_4_9_7() {
    if !skipped("a_master_is_found_lost_and_found_again_4_9_7") {
        found_lost_and_found_again(Version::V4_9_7);
    }
}

#[test]
fn a_master_is_found_lost_and_found_again_5_5_0() {
    if !skipped("a_master_is_found_lost_and_found_again_5_5_0") {
        found_lost_and_found_again(Version::V5_5_0);
    }
}

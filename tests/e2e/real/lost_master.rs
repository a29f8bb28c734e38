//! A master that goes away and comes back.

use locum::status::{ErrorKind, RoutineState, TickResult};
use real_master::{Broker, Topic, Version, skipped};
use serde_json::json;

use crate::room::room_for;
use crate::stand_in::StandIn;
use crate::tables::{DELAYS, GROUPS, OFFSETS, TOPICS, Tables};
use crate::watched::Watched;

/// So many periods without a master.
const PERIODS: usize = 8;

fn routines_resume_by_themselves(version: Version, stop: fn(&mut Broker)) {
    let _room = room_for(1);
    let mut master = Broker::builder(version).start().unwrap();
    master.create_topic(&Topic::new("T_kept", 2)).unwrap();
    master.create_group("G_kept", json!({})).unwrap();
    master.commit_offset("G_kept", "T_kept", 1, 42).unwrap();
    let stand_in = StandIn::of(&master);
    let host = stand_in.host();
    host.fresh_tick();
    let before = stand_in.generation();
    let kept = stand_in.tables();

    stop(&mut master);
    for (slot, ticks) in host.next_ticks(PERIODS) {
        for tick in ticks {
            assert_eq!(tick.result, TickResult::Failed, "{slot}: {tick:?}");
            assert_eq!(tick.error_kind, Some(ErrorKind::Unreachable), "{tick:?}");
        }
    }
    assert!(states(&host).all(|state| state == RoutineState::Failing));
    assert_eq!(stand_in.generation(), before);

    master.start_again().unwrap();
    host.fresh_tick();
    assert!(states(&host).all(|state| state == RoutineState::Active));
    master.create_topic(&Topic::new("T_more", 3)).unwrap();
    host.next_ticks(1);
    let (followed, answered) = (stand_in.tables(), Tables::answered_by(&master));
    for table in [&TOPICS, &GROUPS, &DELAYS] {
        followed.assert_has_entries_of(&answered, table);
    }
    assert_eq!(followed.entries(&TOPICS)["T_kept"]["readQueueNums"], 2);
    assert_eq!(followed.entries(&TOPICS)["T_more"]["readQueueNums"], 3);
    // A master that was killed may have lost the offset: it had not yet written it. The stand-in had.
    followed.assert_has_entries_of(&kept, &OFFSETS);
    host.shut_down();
}

fn states(host: &Watched) -> impl Iterator<Item = RoutineState> {
    let status = host.replica().status();
    status.routines.into_iter().map(|routine| routine.state)
}

#[test]
fn routines_resume_after_a_master_that_was_stopped_4_9_7() {
    if !skipped("routines_resume_after_a_master_that_was_stopped_4_9_7") {
        routines_resume_by_themselves(Version::V4_9_7, |master| master.stop().unwrap());
    }
}

#[test]
fn routines_resume_after_a_master_that_was_killed_5_5_0() {
    if !skipped("routines_resume_after_a_master_that_was_killed_5_5_0") {
        routines_resume_by_themselves(Version::V5_5_0, Broker::kill);
    }
}

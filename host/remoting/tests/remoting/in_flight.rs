//! The request table, with a time that the tests make.

use std::time::{Duration, Instant};

use locum_remoting::{Command, Dropped, DroppedCounts, InFlight, Taken, TooMany};

fn reply(opaque: i32) -> Command {
    Command {
        opaque,
        flag: 1,
        ..Command::default()
    }
}

#[test]
fn replies_find_their_waiters_in_any_order() {
    let mut table = InFlight::default();
    let deadline = Instant::now();
    let first = table.issue("first", deadline).unwrap();
    let second = table.issue("second", deadline).unwrap();
    assert_ne!(first, second);
    assert_eq!(table.take(&reply(second)), Taken::Waiter("second"));
    assert_eq!(table.take(&reply(first)), Taken::Waiter("first"));
    assert!(table.is_empty());
}

#[test]
fn late_double_unknown_and_not_a_reply_are_dropped_and_counted() {
    let mut table = InFlight::default();
    let now = Instant::now();
    let answered = table.issue((), now + Duration::from_secs(9)).unwrap();
    let expired = table.issue((), now).unwrap();
    let cancelled = table.issue((), now + Duration::from_secs(9)).unwrap();
    assert_eq!(table.take(&reply(answered)), Taken::Waiter(()));
    assert_eq!(table.expire(now).len(), 1);
    assert_eq!(table.cancel(cancelled), Some(()));
    assert_eq!(table.cancel(cancelled), None);
    assert_eq!(
        table.take(&reply(answered)),
        Taken::Dropped(Dropped::Double)
    );
    assert_eq!(table.take(&reply(expired)), Taken::Dropped(Dropped::Late));
    assert_eq!(table.take(&reply(cancelled)), Taken::Dropped(Dropped::Late));
    assert_eq!(table.take(&reply(4711)), Taken::Dropped(Dropped::Unknown));
    assert_eq!(
        table.take(&Command::request(40)),
        Taken::Dropped(Dropped::NotAResponse)
    );
    assert_eq!(
        table.counts(),
        DroppedCounts {
            late: 2,
            double: 1,
            unknown: 1,
            not_a_response: 1
        }
    );
}

#[test]
fn a_deadline_is_each_requests_own() {
    let mut table = InFlight::default();
    let now = Instant::now();
    table.issue("soon", now + Duration::from_secs(1)).unwrap();
    table.issue("later", now + Duration::from_secs(2)).unwrap();
    assert_eq!(table.expire(now), Vec::<&str>::new());
    assert_eq!(table.expire(now + Duration::from_secs(1)), ["soon"]);
    assert_eq!(table.drain(), ["later"]);
}

#[test]
fn the_table_is_bounded() {
    let mut table = InFlight::with_limit(2);
    let now = Instant::now();
    table.issue("first", now).unwrap();
    let second = table.issue("second", now).unwrap();
    assert_eq!(table.issue("third", now), Err(TooMany("third")));
    table.take(&reply(second));
    assert!(table.issue("third", now).is_ok());
}

/// What is remembered of answered requests is bounded too: an old double reply is unknown.
#[test]
fn the_memory_of_answered_requests_is_bounded() {
    let mut table = InFlight::default();
    let now = Instant::now();
    let oldest = table.issue((), now).unwrap();
    table.take(&reply(oldest));
    assert_eq!(table.take(&reply(oldest)), Taken::Dropped(Dropped::Double));
    for _ in 0..1000 {
        let opaque = table.issue((), now).unwrap();
        table.take(&reply(opaque));
    }
    assert_eq!(table.take(&reply(oldest)), Taken::Dropped(Dropped::Unknown));
}

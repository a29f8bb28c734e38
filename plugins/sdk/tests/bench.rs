//! The bench gives a policy what a host gives it.
#![cfg(feature = "bench")]

use locum_sdk::bench::{Bench, table};
use locum_sdk::prelude::*;
use locum_sdk::{DataVersion, DraftError};

/// A policy whose tick is the test's own.
macro_rules! policy {
    ($name:ident, $description:expr, $sync:expr) => {
        struct $name;
        impl Routine for $name {
            fn describe() -> Description {
                $description(Description::new("test", "0.1.0", "a policy of a test").writes(TOPICS))
            }
            fn sync(tick: Tick) -> Result<(), Failure> {
                $sync(tick)
            }
        }
    };
}

fn as_it_is(description: Description) -> Description {
    description
}

#[test]
fn entries_and_keys_come_over_many_pages() {
    policy!(Pages, as_it_is, |_| {
        let draft = replica::edit(TOPICS);
        let entry = |n| Entry {
            key: format!("topic-{n:05}"),
            value: format!(r#"{{"perm":{n}}}"#),
        };
        let all: Vec<_> = (0..5000).map(entry).collect();
        draft.put_all(all.clone())?;
        let snapshot = draft.snapshot();
        assert_eq!(snapshot.len(), 5000);
        assert_eq!(snapshot.entries().collect::<Vec<_>>(), all);
        assert!(
            snapshot
                .keys()
                .eq(all.iter().map(|entry| entry.key.clone()))
        );
        let odd = snapshot
            .keys()
            .filter(|key| !key.ends_with(['0', '2', '4', '6', '8']));
        assert_eq!(draft.remove_all(odd)?, 2500);
        assert_eq!(draft.snapshot().len(), 2500);
        assert_eq!(draft.remove_all(["absent"])?, 0);
        Ok(())
    });
    assert_eq!(Bench::new().run::<Pages>().result, Ok(()));
}

#[test]
fn a_draft_starts_as_the_current_table_and_is_one_for_a_tick() {
    policy!(Edit, as_it_is, |_| {
        let draft = replica::edit(TOPICS);
        draft.put("b", r#"{"perm":4}"#)?;
        assert!(replica::edit(TOPICS).remove("a"));
        assert!(!draft.remove("a"));
        draft.set_version(Some(DataVersion {
            state_version: 1,
            timestamp: 2,
            counter: 3,
        }));
        assert_eq!(replica::current(TOPICS).map(|table| table.len()), Some(1));
        Ok(())
    });
    let ran = Bench::new()
        .current(TOPICS, r#"{"topicConfigTable":{"a":{}}}"#)
        .run::<Edit>();
    assert_eq!(ran.result, Ok(()));
    let expected = r#"{"topicConfigTable":{"b":{"perm":4}},
        "dataVersion":{"stateVersion":1,"timestamp":2,"counter":3}}"#;
    assert!(
        ran.draft(TOPICS)
            .is_some_and(|draft| draft.same(&table(TOPICS, expected)))
    );
}

#[test]
fn what_is_refused_becomes_the_ticks_failure() {
    policy!(Bad, as_it_is, |_| {
        let error = replica::edit(TOPICS).put("topic", "no JSON").unwrap_err();
        assert!(matches!(error, DraftError::InvalidValue(_)));
        Err(error.into())
    });
    assert!(matches!(
        Bench::new().run::<Bad>().result,
        Err(Failure::Invalid(_))
    ));

    policy!(Unknown, as_it_is, |_| master::fetch("passwords")
        .map(drop)
        .map_err(Into::into));
    let unknown = FetchError::UnknownTable("passwords".to_owned());
    assert_eq!(
        Bench::new().run::<Unknown>().result,
        Err(Failure::Fetch(unknown))
    );
}

#[test]
fn memory_goes_from_tick_to_tick_unless_the_tick_fails() {
    policy!(Count, as_it_is, |tick: Tick| {
        let count = memory::get("count").map_or(0, |count| count[0]) + 1;
        memory::set("count", &[count])?;
        if tick.number == 2 {
            Err(Failure::other("the second one fails"))
        } else {
            Ok(())
        }
    });
    let first = Bench::new().run::<Count>();
    let second = Bench::after(&first).run::<Count>();
    let third = Bench::after(&second).run::<Count>();
    let counts = [&first, &second, &third].map(|ran| ran.memory["count"][0]);
    assert_eq!(counts, [1, 2, 2]);
}

#[test]
fn settings_have_their_defaults_and_can_be_read_as_numbers() {
    fn described(description: Description) -> Description {
        description
            .setting(Setting::with_default("limit", "a number", "7"))
            .setting(Setting::optional("name", "may be absent"))
    }
    policy!(Settings, described, |_| {
        assert_eq!(settings::get("name"), None);
        let limit: u32 = settings::parse("limit")?.unwrap_or_default();
        info!("limit {limit}");
        Ok(())
    });
    assert!(
        Bench::new()
            .run::<Settings>()
            .logged(Level::Info, "limit 7")
    );
    assert!(
        Bench::new()
            .setting("limit", "8")
            .run::<Settings>()
            .logged(Level::Info, "limit 8")
    );
    let wrong = Bench::new().setting("limit", "many").run::<Settings>();
    assert!(
        matches!(wrong.result, Err(Failure::Invalid(text)) if text.contains("`limit` is `many`"))
    );
}

#[test]
#[should_panic(expected = "the policy has no setting `limt`")]
fn a_setting_that_the_policy_does_not_have_is_refused() {
    policy!(Plain, as_it_is, |_| Ok(()));
    let _ = Bench::new().setting("limt", "7").run::<Plain>();
}

#[test]
#[should_panic(expected = "does not list `consumer-offsets` in writes")]
fn a_draft_of_a_table_that_is_not_listed_is_a_trap() {
    policy!(Foreign, as_it_is, |_| {
        drop(replica::edit(CONSUMER_OFFSETS));
        Ok(())
    });
    let _ = Bench::new().run::<Foreign>();
}

#[test]
#[should_panic(expected = "no answer for `topics`")]
fn a_table_without_an_answer_is_the_tests_mistake() {
    policy!(Fetch, as_it_is, |_| master::fetch(TOPICS)
        .map(drop)
        .map_err(Into::into));
    let _ = Bench::new().run::<Fetch>();
}

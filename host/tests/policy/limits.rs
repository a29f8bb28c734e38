//! What a policy may use, and that nothing else is there for it.

use std::sync::Arc;
use std::time::Duration;

use locum::policy::{Failure, FetchError, Limits, Ran, RunError, Tick};
use locum_tables::Slot;
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{Lines, Script, chain, deed, misbehave, run, tick, topics};

const MIB: usize = 1024 * 1024;

fn guest_time(millis: u64) -> Limits {
    Limits {
        guest_time: Duration::from_millis(millis),
        ..Limits::default()
    }
}

async fn limit_hit(name: &str, with: &str, limits: Limits) -> (&'static str, String) {
    match run(name, with, limits).await.result {
        Err(RunError::Limit { limit, value, .. }) => (limit, value),
        other => panic!("{name}: {other:?}"),
    }
}

async fn failure(name: &str, with: &str) -> String {
    match run(name, with, Limits::default()).await.result {
        Err(RunError::Failure(failure)) => failure.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test]
async fn a_loop_is_stopped_and_gives_its_thread_back_meanwhile() {
    let ran = run("loop", "", guest_time(100)).await;
    let error = ran.result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy went over its limit `guest-time` of 100ms"
    );
    let RunError::Limit { frames, .. } = error else {
        panic!("{error:?}")
    };
    assert!(
        frames.iter().any(|frame| frame.contains("sync")),
        "where it looped: {frames:?}"
    );
    // No epoch counts for more than its 10 ms, so the tenth is the first that can use up the budget.
    assert!(ran.spent.yields >= 9, "{:?}", ran.spent);
}

#[tokio::test]
async fn a_loop_through_cheap_host_calls_is_stopped() {
    let hit = limit_hit("loop-host-calls", "", guest_time(100)).await;
    assert_eq!(hit, ("guest-time", "100ms".to_owned()));
}

/// Nearly all of its time passes in the host, which copies a table for each call.
#[tokio::test]
async fn a_loop_through_costly_host_calls_is_stopped_long_before_the_tick_s_deadline() {
    let names: Vec<_> = (0..20_000)
        .map(|number| format!("topic-{number}"))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let tick = Tick {
        settings: deed("loop-costly-calls", ""),
        limits: Limits {
            tick_time: Duration::from_secs(3),
            ..guest_time(100)
        },
        ..tick(
            Slot::Topic,
            Arc::new(Script::new().serving(topics(&names, 1))),
        )
    };
    let error = misbehave().run(tick).await.result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy went over its limit `guest-time` of 100ms"
    );
}

#[tokio::test]
async fn a_loop_after_a_fetch_is_stopped() {
    let hit = limit_hit("loop-after-fetch", "", guest_time(100)).await;
    assert_eq!(hit, ("guest-time", "100ms".to_owned()));
}

/// Five real seconds: the guest's clock is a real one.
#[tokio::test]
async fn a_fetch_of_5_s_under_a_guest_budget_of_100_ms_succeeds() {
    let pause = Duration::from_secs(5);
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)).after(pause));
    let tick = Tick {
        limits: guest_time(100),
        ..tick(Slot::Topic, master)
    };
    let ran = misbehave()
        .run(Tick {
            settings: deed("take-over", ""),
            ..tick
        })
        .await;
    assert_eq!(ran.result.unwrap().drafts.len(), 1);
    assert!(
        ran.spent.guest_time < Duration::from_millis(100),
        "{:?}",
        ran.spent
    );
}

#[tokio::test]
async fn a_loop_is_stopped_by_the_tick_s_own_deadline_too() {
    let limits = Limits {
        tick_time: Duration::from_millis(50),
        ..guest_time(60_000)
    };
    let ran = run("loop", "", limits).await;
    assert_eq!(
        ran.result.unwrap_err().to_string(),
        "the tick went over its limit `tick-time` of 50ms"
    );
}

#[tokio::test(start_paused = true)]
async fn ticks_that_wait_past_their_deadline_leave_nothing_behind() {
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    let slow = Arc::new(Script::new().serving(topics(&["a"], 1)).after(year));
    for _ in 0..100 {
        let tick = Tick {
            settings: deed("take-over", ""),
            ..tick(Slot::Topic, slow.clone())
        };
        let ran = misbehave().run(tick).await;
        let expected = RunError::Deadline {
            after: Duration::from_mins(2),
            waiting_for: Some("topics"),
        };
        assert_eq!(ran.result.unwrap_err(), expected);
        assert_eq!(ran.spent.fetches, 1);
    }
    assert_eq!(
        Arc::strong_count(&slow),
        1,
        "every store is gone, with what it held"
    );

    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let tick = Tick {
        settings: deed("take-over", ""),
        ..tick(Slot::Topic, master)
    };
    misbehave().run(tick).await.result.unwrap();
}

#[tokio::test]
async fn a_tick_that_is_dropped_leaves_nothing_behind() {
    let slow = Arc::new(Script::new().after(Duration::from_secs(3600)));
    let tick = Tick {
        settings: deed("take-over", ""),
        ..tick(Slot::Topic, slow.clone())
    };
    let mut running = Box::pin(misbehave().run(tick));
    assert!(
        futures_now(&mut running).await.is_none(),
        "it waits for the master"
    );
    assert_eq!(slow.asked(), ["topics"]);
    drop(running);
    assert_eq!(Arc::strong_count(&slow), 1);
}

/// Polls once.
async fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        let polled = std::pin::Pin::new(&mut *future).poll(context);
        std::task::Poll::Ready(match polled {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn memory_is_bounded() {
    let limits = Limits {
        memory: 32 * MIB,
        ..Limits::default()
    };
    let hit = limit_hit("hog-some", "64", limits.clone()).await;
    assert_eq!(hit, ("memory", "32 MiB".to_owned()));
    run("hog-some", "16", limits).await.result.unwrap();
}

#[tokio::test]
async fn what_one_call_may_bring_is_bounded() {
    let limits = Limits {
        host_call_bytes: MIB,
        ..Limits::default()
    };
    let hit = limit_hit("giant-value", &(2 * MIB).to_string(), limits).await;
    assert_eq!(hit, ("host-call-bytes", "1 MiB".to_owned()));
}

#[tokio::test]
async fn handles_are_bounded() {
    let limits = Limits {
        handles: 1000,
        ..Limits::default()
    };
    assert_eq!(
        limit_hit("handles", "", limits).await,
        ("handles", "1000".to_owned())
    );
}

#[tokio::test]
async fn memory_between_ticks_is_bounded() {
    let limits = Limits {
        memory_bytes: 1000,
        ..Limits::default()
    };
    let refused = run("remember", "1000", limits.clone())
        .await
        .result
        .unwrap_err();
    assert!(matches!(refused, RunError::Failure(_)), "{refused:?}");
    let done = run("remember", "900", limits).await.result.unwrap();
    assert_eq!(done.memory["giant"].len(), 900);
}

#[tokio::test]
async fn what_is_remembered_is_bounded_in_number_too() {
    let limits = Limits {
        memory_entries: 3,
        ..Limits::default()
    };
    let done = run("remember-many", "3", limits.clone()).await.result;
    let memory = done.unwrap().memory;
    assert_eq!(memory.len(), 3);
    let again = |deed_name, with| {
        let tick = Tick {
            settings: deed(deed_name, with),
            limits: limits.clone(),
            memory: memory.clone(),
            ..tick(
                Slot::Topic,
                Arc::new(Script::new().serving(topics(&["a"], 1))),
            )
        };
        misbehave().run(tick)
    };
    again("remember-many", "3").await.result.unwrap();
    let error = again("remember", "1").await.result.unwrap_err();
    assert_eq!(
        chain(&error),
        "the policy gave up the tick: over the limit `memory-entries` of 3",
        "old values may be set anew, a new one is too many"
    );
}

/// A master that never answers: the limit, not the master, ends the wait.
async fn fetching(deed_name: &str, fetch_time: Option<Duration>) -> Ran {
    let never = Duration::from_secs(365 * 24 * 60 * 60);
    let tick = Tick {
        settings: deed(deed_name, ""),
        limits: Limits {
            fetch_time,
            ..Limits::default()
        },
        ..tick(Slot::Topic, Arc::new(Script::new().after(never)))
    };
    misbehave().run(tick).await
}

#[tokio::test(start_paused = true)]
async fn one_fetch_is_bounded_and_the_guest_sees_that_it_timed_out() {
    let second = Duration::from_secs(1);
    let error = fetching("take-over", Some(second))
        .await
        .result
        .unwrap_err();
    let over_time = FetchError::OverTime(second);
    assert_eq!(error, RunError::Failure(Failure::Fetch(over_time.clone())));

    let done = fetching("swallow-fetch-error", Some(second)).await.result;
    let failed = done.unwrap().failed_fetches;
    assert_eq!(failed.len(), 1, "it went on, with what the guest may know");
    assert_eq!(failed[0].1, over_time);

    let unbounded = fetching("take-over", None).await.result.unwrap_err();
    assert!(matches!(unbounded, RunError::Deadline { .. }));
}

/// How a tick went over a limit, as an operator reads it: the tick's error, or the warning in the log.
async fn told(deed_name: &str, with: &str, limits: Limits) -> String {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    let _lines = tracing::subscriber::set_default(subscriber);
    let master = Script::new().serving(topics(&["a"], 1));
    let tick = Tick {
        settings: deed(deed_name, with),
        limits,
        ..tick(
            Slot::Topic,
            Arc::new(master.after(Duration::from_millis(200))),
        )
    };
    match misbehave().run(tick).await.result {
        Err(error) => chain(&error),
        Ok(_) => lines.last("message"),
    }
}

/// A tick for each limit that goes over it and over no other, and what is told of it. The macro only spares lines.
macro_rules! over {
    ($($limit:ident = $value:expr; $deed:literal $with:literal => $told:literal)*) => {
        [$((
            $deed,
            $with,
            Limits { $limit: $value, ..Limits::default() },
            $told,
        )),*]
    };
}

#[tokio::test]
async fn each_limit_is_named_with_its_value() {
    let (short, long) = (Duration::from_millis(50), Duration::from_secs(1));
    let cases = over! {
        memory = 32 * MIB; "hog-some" "64" => "the policy went over its limit `memory` of 32 MiB"
        guest_time = short; "loop" "" => "the policy went over its limit `guest-time` of 50ms"
        tick_time = long; "loop" "" => "the tick went over its limit `tick-time` of 1s"
        fetch_time = Some(short); "take-over" "" =>
            "the policy gave up the tick: the master did not answer within the limit `fetch-time` of 50ms"
        host_call_bytes = 2048; "giant-value" "4096" =>
            "the policy went over its limit `host-call-bytes` of 2 KiB"
        handles = 100; "handles" "" => "the policy went over its limit `handles` of 100"
        log_lines = 4; "log-flood" "5" =>
            "the policy logs too much, over the limit `log-lines` of 4; further lines of this tick are dropped"
        log_bytes = 20; "log-flood" "5" =>
            "the policy logs too much, over the limit `log-bytes` of 20 bytes; further lines of this tick are dropped"
        memory_entries = 4; "remember-many" "5" =>
            "the policy gave up the tick: over the limit `memory-entries` of 4"
        memory_bytes = 1000; "remember" "1000" =>
            "the policy gave up the tick: over the limit `memory-bytes` of 1000 bytes"
    };
    for (deed_name, with, limits, expected) in cases {
        assert_eq!(told(deed_name, with, limits).await, expected);
    }
}

/// A limit that comes to be is missing here, and in the table above.
#[test]
fn the_table_of_limits_is_whole() {
    let Limits {
        memory: _,
        guest_time: _,
        tick_time: _,
        fetch_time: _,
        host_call_bytes: _,
        handles: _,
        log_lines: _,
        log_bytes: _,
        memory_entries: _,
        memory_bytes: _,
    } = Limits::default();
}

#[tokio::test]
async fn a_flood_of_lines_is_dropped_and_not_the_tick() {
    let limits = Limits {
        log_lines: 10,
        ..Limits::default()
    };
    let ran = run("log-flood", "5000", limits).await;
    assert_eq!(ran.result.unwrap().drafts.len(), 1);
    assert_eq!(ran.spent.log_lines, 5000);
    run("log-giant", "1048576", Limits::default())
        .await
        .result
        .unwrap();
}

#[tokio::test]
async fn a_policy_sees_no_file_no_environment_and_no_network() {
    assert!(
        failure("read-file", "/etc/passwd")
            .await
            .starts_with("cannot read /etc/passwd: ")
    );
    assert_eq!(failure("environment", "PATH").await, "PATH is not set");
    assert!(
        failure("net", "127.0.0.1:1")
            .await
            .starts_with("cannot connect to 127.0.0.1:1: ")
    );
    let clock = run("clock", "", Limits::default())
        .await
        .result
        .unwrap_err();
    assert!(matches!(clock, RunError::Trap(_)), "{clock:?}");
}

#[tokio::test]
async fn a_policy_edits_only_what_it_says_it_writes() {
    for table in ["consumer-offsets", "nonsense"] {
        let error = run("edit-foreign", table, Limits::default())
            .await
            .result
            .unwrap_err();
        assert_eq!(
            chain(&error),
            format!(
                "the policy trapped: the policy edits `{table}`, which its description does not list in writes"
            )
        );
    }
}

#[tokio::test]
async fn a_table_that_the_host_does_not_know_is_said_to_be_so() {
    let error = run("fetch", "nonsense", Limits::default())
        .await
        .result
        .unwrap_err();
    let unknown = FetchError::UnknownTable("nonsense".to_owned());
    assert_eq!(error, RunError::Failure(Failure::Fetch(unknown)));
}

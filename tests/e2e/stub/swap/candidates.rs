//! One file after another in the place of a policy that runs, and what becomes of each.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bench::stalls::Stalls;
use components::{broken, guests, misbehaving, variant};
use locum::status::{Stage as At, TickResult};
use locum::{Event, Limits, Period, ReplicaConfig, RoutineConfig, Slot, Transition};
use stub_master::{Dialect, Stub};

use crate::support::{Stage, Watched, alone, expect_snapshot, resident, tick_of};

/// What becomes of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is not taken.
    Refused(At),
    /// It waits for an operator, and is turned away.
    Held,
    /// It waits for an operator, is let in, and proves itself.
    Accepted,
    /// It gets in and proves itself.
    Live,
    /// It gets in, and the policy before it comes back.
    RolledBack,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(stage) => write!(f, "refused, stage {stage}"),
            Self::Held => f.write_str("held"),
            Self::Accepted => f.write_str("held, then live when it is accepted"),
            Self::Live => f.write_str("live"),
            Self::RolledBack => f.write_str("live, then rolled back"),
        }
    }
}

/// A file and what becomes of it.
#[derive(Clone)]
struct Case {
    name: String,
    component: Vec<u8>,
    end: End,
}

fn case(name: &str, component: Vec<u8>, end: End) -> Case {
    Case {
        name: name.to_owned(),
        component,
        end,
    }
}

/// Every case, in the order of how far each comes.
fn cases() -> Vec<Case> {
    [unreadable(), strange(), mute(), failing(), differing()].concat()
}

/// What is no whole component.
fn unreadable() -> Vec<Case> {
    let refused = |name: &str, component| case(name, component, End::Refused(At::Check));
    let mut cases = vec![
        refused("text", broken::text()),
        refused("empty", broken::empty()),
        refused("core module", broken::core_module()),
        refused("component header only", broken::header_only()),
    ];
    let truncated = broken::truncations(&policies::all().bytes("topic"));
    let places = truncated.into_iter().zip(1..);
    cases.extend(
        places.map(|((_, component), place)| {
            refused(&format!("truncated, place {place}"), component)
        }),
    );
    cases
}

/// What was built for another interface.
fn strange() -> Vec<Case> {
    let refused = |name: &str, component| case(name, component, End::Refused(At::Check));
    let topic = policies::all().bytes("topic");
    let newer = "newer patch that uses nothing new";
    vec![
        refused("missing export", broken::missing_export()),
        refused("extra import", broken::extra_import()),
        refused("changed enum", broken::changed_enum()),
        case(newer, broken::newer_patch(&topic), End::Live),
        refused("another 0.y", broken::other_version(&topic)),
    ]
}

/// What cannot say what it is, or says that it does not belong here.
fn mute() -> Vec<Case> {
    let refused = |name: &str, component| case(name, component, End::Refused(At::Describe));
    vec![
        refused("traps in describe", guests().bytes("describe-panics")),
        refused("loops in describe", guests().bytes("describe-loops")),
        refused("writes an unknown table", guests().bytes("foreign-table")),
        refused("writes a foreign table", policies::all().bytes("offset")),
    ]
}

/// What does not come to its end, at once or later.
fn failing() -> Vec<Case> {
    let refused = |name: &str, deed, with| {
        let component = misbehaving(deed, with);
        case(name, component, End::Refused(At::Trial))
    };
    let bad_pattern = "setting `keep`: `[a-` is no pattern";
    let third = misbehaving("trap-after-ticks", "2");
    vec![
        refused("err at once", "err-invalid", bad_pattern),
        refused("traps at the first tick", "trap", ""),
        case("traps at the third tick", third, End::RolledBack),
        refused("loops", "loop", ""),
        refused("loops through cheap host calls", "loop-host-calls", ""),
        refused("hogs memory", "hog", ""),
        refused("opens handles without end", "handles", ""),
        refused("a million log lines", "log-flood", "1000000"),
        refused("a giant value", "giant-value", "2000000"),
    ]
}

/// What comes to its end, and takes topics away.
fn differing() -> Vec<Case> {
    let half = misbehaving("remove-half", "");
    vec![
        case("empties the table", misbehaving("empty", ""), End::Held),
        case("removes half", half, End::Accepted),
    ]
}

/// Short ones, so that the loops among the candidates do not last.
fn limits() -> Limits {
    Limits {
        guest_time: Duration::from_millis(200),
        memory: 16 << 20,
        host_call_bytes: 1 << 20,
        handles: 1000,
        ..Limits::default()
    }
}

/// Topics of users that the master has: half of them are more than a trial lets go.
const TOPICS: u32 = 60;
/// From one tick to the next, long enough for what a busy machine does in between: a missed one fails the test.
const PERIOD: Duration = Duration::from_millis(150);

/// A host whose four slots tick, with everything that they did.
struct Course {
    stage: Stage,
    watched: Watched,
    stalls: Stalls,
    /// The last tick of each slot.
    numbers: BTreeMap<Slot, u64>,
    /// The hashes that the topic slot's ticks ran, in their order.
    ran: Vec<String>,
}

impl Course {
    async fn start(stub: &Stub) -> Self {
        let stage = Stage::in_memory();
        let routine = RoutineConfig {
            limits: Some(limits()),
            ..RoutineConfig::default()
        };
        let replica = ReplicaConfig {
            period: Period::named(PERIOD),
            routines: [(Slot::Topic, routine)].into(),
            ..stage.replica(stub)
        };
        let watched = Watched::start(stage.host(replica)).await;
        Self {
            stage,
            watched,
            stalls: Stalls::watch(),
            numbers: BTreeMap::new(),
            ran: Vec::new(),
        }
    }

    /// Waits for what `wanted` gives something for. Every tick on the way there must be good, and the one after the last.
    async fn until<T>(&mut self, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
        let (numbers, ran) = (&mut self.numbers, &mut self.ran);
        self.watched
            .until(|event| {
                for slot in Slot::ALL {
                    let Some(tick) = tick_of(event, slot) else {
                        continue;
                    };
                    assert_ne!(tick.result, TickResult::Failed, "{slot}: {tick:?}");
                    let before = numbers.insert(slot, tick.number);
                    assert!(
                        before.is_none_or(|before| tick.number == before + 1),
                        "{slot}: {tick:?} comes after {before:?}"
                    );
                    if slot == Slot::Topic {
                        ran.push(tick.sha256);
                    }
                }
                wanted(event)
            })
            .await
    }

    /// Waits for what happens to the topic slot's policies.
    async fn transition<T>(&mut self, mut wanted: impl FnMut(&Transition) -> Option<T>) -> T {
        self.until(|event| match event {
            Event::Swap {
                slot: Slot::Topic,
                transition,
                ..
            } => wanted(transition),
            _ => None,
        })
        .await
    }

    /// Waits until each slot has had so many further ticks.
    async fn ticks(&mut self, count: u64) {
        let mut left: BTreeMap<Slot, u64> = Slot::ALL.map(|slot| (slot, count)).into();
        self.until(|event| {
            for slot in Slot::ALL {
                if tick_of(event, slot).is_some() {
                    let left = left.entry(slot).or_default();
                    *left = left.saturating_sub(1);
                }
            }
            left.values().all(|left| *left == 0).then_some(())
        })
        .await;
    }

    /// Waits until what is in the topic slot has proved itself; its hash.
    async fn proved(&mut self) -> String {
        self.transition(|transition| match transition {
            Transition::Proved { sha256 } => Some(sha256.clone()),
            _ => None,
        })
        .await
    }

    /// Waits for the end of what is on its way, with the text that says why.
    async fn end(&mut self) -> (End, String) {
        self.transition(|transition| match transition {
            Transition::Refused { stage, reason, .. } => {
                Some((End::Refused(*stage), reason.clone()))
            }
            Transition::Held { reason, .. } => Some((End::Held, reason.clone())),
            Transition::RolledBack { reason, .. } => Some((End::RolledBack, reason.clone())),
            Transition::Proved { .. } => Some((End::Live, String::new())),
            _ => None,
        })
        .await
    }

    /// The hashes that the topic slot's ticks ran since this was asked last, each run of one hash told once.
    fn take_ran(&mut self) -> Vec<String> {
        let mut ran = std::mem::take(&mut self.ran);
        ran.dedup();
        ran
    }

    /// Puts a candidate in the place of `live`, which has proved itself; what there is to read about its end.
    async fn judge(&mut self, case: &Case, live: &str) -> String {
        self.take_ran();
        self.stage.replace(Slot::Topic, &case.component);
        let (mut end, mut text) = self.end().await;
        self.ticks(1).await;
        self.expect_told(end, &text);
        let replica = self.watched.replica();
        match (end, case.end) {
            (End::Held, End::Accepted) => {
                replica.accept(Slot::Topic).await.unwrap();
                let (then, more) = self.end().await;
                assert_eq!((then, more.as_str()), (End::Live, ""));
                end = End::Accepted;
            }
            (End::Held, _) => replica.reject(Slot::Topic).await.unwrap(),
            _ => {}
        }
        assert_eq!(end, case.end, "{}: {text}", case.name);
        self.ticks(1).await;
        let ran = self.take_ran();
        let others = ran.iter().filter(|sha256| *sha256 != live).count();
        match end {
            End::Refused(_) | End::Held => assert_eq!(ran, [live], "{}", case.name),
            End::Live | End::Accepted => {
                assert_eq!((ran[0].as_str(), others, ran.len()), (live, 1, 2))
            }
            End::RolledBack => assert_eq!(
                (ran[0].as_str(), others, ran[2].as_str(), ran.len()),
                (live, 1, live, 3)
            ),
        }
        text = text.replace(self.stage.path("").to_str().unwrap(), "STAGE/");
        format!(
            "{}: {}\n{}\n\n",
            case.name,
            case.end,
            without_numbers(&text)
        )
    }

    /// What status says of it is what was told.
    fn expect_told(&self, end: End, text: &str) {
        let routine = self.watched.routine(Slot::Topic);
        let candidate = routine
            .candidate
            .map(|candidate| (candidate.stage, candidate.reason));
        let refusal = routine
            .last_refusal
            .map(|refusal| (refusal.stage, refusal.reason));
        let text = text.to_owned();
        match end {
            End::Refused(stage) => assert_eq!((candidate, refusal), (None, Some((stage, text)))),
            End::RolledBack => {
                assert_eq!(refusal, Some((At::Probation, text.clone())));
                assert_eq!(routine.quarantine.last().unwrap().reason, text);
            }
            End::Held | End::Accepted => assert_eq!(candidate, Some((At::Held, Some(text)))),
            End::Live => assert_eq!((candidate, refusal, routine.probation), (None, None, None)),
        }
    }

    /// Nobody lost a tick, as far as the machine kept time.
    fn expect_rates(&self, after: &str) {
        let stalls = self.stalls.count();
        for slot in Slot::ALL {
            let routine = self.watched.routine(slot);
            assert_eq!(routine.failures, 0, "{slot}, {after}");
            let missed = routine.missed;
            assert!(
                missed <= stalls,
                "{slot}, {after}: {missed} missed, and the machine stalled {stalls} times"
            );
        }
    }
}

/// Leaves out what depends on the time that the test takes, or on the compiler that built the candidates.
fn without_numbers(text: &str) -> String {
    let mut before = "";
    let words = text.split(' ').map(|word| {
        let number = word.bytes().all(|byte| byte.is_ascii_digit());
        let told = match std::mem::replace(&mut before, word) {
            "tick" | "has" if number => "N",
            _ if word.starts_with("0x") => "0xN)",
            _ => word,
        };
        told.to_owned()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A leak of each candidate's code or store would come to more: there are about 30 candidates, of which one alone takes 16 MiB in
/// each of its runs, and a compiled policy has about 1 MiB.
const BAND: u64 = 16 << 20;

/// The host's tasks have a thread of their own beside the test's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_candidate_ends_as_it_should_and_what_runs_loses_no_tick() {
    let test = "swap::candidates::each_candidate_ends_as_it_should_and_what_runs_loses_no_tick";
    if !alone(test).await {
        return;
    }
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    for number in 0..TOPICS {
        stub.tables().set_topic(format!("T{number:02}").as_str());
    }
    let topic = policies::all().bytes("topic");
    let good = [variant(&topic, 1), topic];
    // They are built before a tick could be late for that.
    let cases = cases();
    let mut course = Course::start(&stub).await;
    let mut live = course.proved().await;
    let (mut text, mut before) = (String::new(), None);
    for (number, case) in cases.iter().enumerate() {
        text += &course.judge(case, &live).await;
        course.stage.replace(Slot::Topic, &good[number % 2]);
        live = course.proved().await;
        course.expect_rates(&case.name);
        // The first ones bring in what is there once for all.
        if number == 4 {
            before = Some(resident());
        }
    }
    let (before, after) = (before.unwrap(), resident());
    assert!(after < before + BAND, "{before} became {after}");
    expect_snapshot("candidates", &text);
}

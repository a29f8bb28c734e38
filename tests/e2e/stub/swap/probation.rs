//! The first ticks of a policy after a swap: what it answers for, and what not.

use std::fs;
use std::time::{Duration, SystemTime};

use components::{guests, misbehaving, variant};
use locum::status::{PolicyStatus, Stage as At, TickResult};
use locum::{Event, ReplicaConfig, Slot, Transition};
use stub_master::{Dialect, Fault, Gate, Stub, Times};

use crate::support::{Pass, Stage, Watched, soon};

/// GET_ALL_TOPIC_CONFIG.
const TOPICS: i32 = 21;
/// GET_ALL_CONSUMER_OFFSET.
const OFFSETS: i32 = 43;

/// A host that ticks when it is asked, with a master that has some topics of its users.
struct Trialled {
    stage: Stage,
    stub: Stub,
    watched: Watched,
}

impl Trialled {
    /// Its topic policy has proved itself.
    async fn with(component: &[u8]) -> Self {
        let stage = Stage::new();
        stage.install(Slot::Topic, component);
        let stub = Stub::start(Dialect::V5_5).await.unwrap();
        for topic in ["T1", "T2", "T3", "T4"] {
            stub.tables().set_topic(topic);
        }
        let watched = started(&stage, &stub).await;
        let trialled = Self {
            stage,
            stub,
            watched,
        };
        let pass = Pass::of(&trialled.watched.host).await;
        assert_ne!(pass.result(Slot::Topic), Some(TickResult::Failed));
        assert_eq!(trialled.ticks_left(), None, "a first load has no probation");
        trialled
    }

    /// One pass, in which the topics come to this.
    async fn tick(&self, result: TickResult) -> Pass {
        let pass = Pass::of(&self.watched.host).await;
        let report = pass.report(Slot::Topic);
        assert_eq!(pass.result(Slot::Topic), Some(result), "{report:?}");
        pass
    }

    /// Puts another file in the place of the topic policy, and waits until it has passed its trial.
    async fn swap(&mut self, component: &[u8]) -> String {
        self.stage.replace(Slot::Topic, component);
        self.watched.loaded(Slot::Topic).await
    }

    async fn restart(&mut self) {
        self.watched.host.shutdown().await;
        self.watched = started(&self.stage, &self.stub).await;
    }

    fn live(&self) -> PolicyStatus {
        self.watched.routine(Slot::Topic).policy.unwrap()
    }

    fn ticks_left(&self) -> Option<u32> {
        let probation = self.watched.routine(Slot::Topic).probation?;
        Some(probation.ticks_left)
    }

    fn quarantined(&self) -> Vec<String> {
        let routine = self.watched.routine(Slot::Topic);
        let ids = routine.quarantine.into_iter().map(|entry| entry.id);
        ids.collect()
    }

    /// How often the slot's candidates came to this.
    fn count(&self, transition: &str) -> u64 {
        let transitions = self.watched.routine(Slot::Topic).transitions;
        transitions.get(transition).copied().unwrap_or(0)
    }

    /// Waits until the host has looked at the plugin folder once more, at all its files.
    async fn looked(&mut self) {
        // Another file that changes is told at a look.
        let other = policies::all().bytes("subgroup");
        let now = fs::read(self.stage.plugin(Slot::Subgroup)).unwrap();
        let next = if now == other {
            variant(&other, 1)
        } else {
            other
        };
        self.stage.replace(Slot::Subgroup, &next);
        self.watched.loaded(Slot::Subgroup).await;
    }
}

async fn started(stage: &Stage, stub: &Stub) -> Watched {
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        ..stage.replica(stub)
    };
    Watched::start(stage.host(replica)).await
}

fn topic() -> Vec<u8> {
    policies::all().bytes("topic")
}

fn marker() -> Vec<u8> {
    guests().bytes("marker-v1")
}

#[tokio::test]
async fn a_master_without_answers_says_nothing_against_a_policy_and_the_count_stands_still() {
    let mut host = Trialled::with(&topic()).await;
    let good = host.swap(&marker()).await;
    assert_eq!(host.ticks_left(), Some(3));
    host.tick(TickResult::Updated).await;
    assert_eq!(host.ticks_left(), Some(2));
    for fault in [
        Fault::error(1, "no topic in this broker"),
        Fault::error(2, "busy"),
        Fault::Cut(10),
        Fault::raw("no frame at all: more than four bytes"),
    ] {
        host.stub.script(TOPICS, fault, Times::Always);
        host.tick(TickResult::Failed).await;
        host.stub.clear_script();
    }
    for body in ["", "{}", r#"{"topicConfigTable":null}"#, "<html></html>"] {
        host.stub.tables().answer_body(TOPICS, body.to_owned());
        host.tick(TickResult::Failed).await;
        host.stub.tables().answer_honestly(TOPICS);
    }
    host.stub.pause().await.unwrap();
    for _ in 0..4 {
        host.tick(TickResult::Failed).await;
    }
    assert_eq!(
        (host.live().sha256, host.ticks_left()),
        (good.clone(), Some(2))
    );
    assert_eq!(host.quarantined(), [""; 0]);

    host.stub.resume().await.unwrap();
    // Some ticks fail until the connection is tried again.
    while Pass::of(&host.watched.host).await.result(Slot::Topic) == Some(TickResult::Failed) {
        assert_eq!(host.ticks_left(), Some(2));
    }
    assert_eq!(host.ticks_left(), Some(1));
    host.tick(TickResult::Unchanged).await;
    assert_eq!((host.live().sha256, host.ticks_left()), (good, None));
    assert_eq!((host.count("proved"), host.count("rolled-back")), (2, 0));
}

#[tokio::test]
async fn a_master_that_comes_up_empty_says_nothing_against_a_policy() {
    let mut host = Trialled::with(&topic()).await;
    let good = host.swap(&marker()).await;
    host.tick(TickResult::Updated).await;
    host.stub.tables().reset();
    for _ in 0..3 {
        Pass::of(&host.watched.host).await;
    }
    host.stub.tables().set_topic("T1");
    for _ in 0..3 {
        Pass::of(&host.watched.host).await;
    }
    assert_eq!((host.live().sha256, host.ticks_left()), (good, None));
    assert_eq!(host.quarantined(), [""; 0]);
    assert_eq!(host.count("rolled-back"), 0);
}

/// Both trap at the slot's third tick, whatever the master answers.
#[tokio::test]
async fn what_the_last_good_policy_cannot_do_either_is_not_the_new_ones_fault() {
    let trap = misbehaving("trap-at-tick", "3");
    let mut host = Trialled::with(&trap).await;
    let good = host.swap(&variant(&trap, 1)).await;
    host.tick(TickResult::Unchanged).await;
    assert_eq!(host.ticks_left(), Some(2));
    let failed = host.tick(TickResult::Failed).await;
    assert!(failed.error(Slot::Topic).contains("the policy trapped"));
    assert_eq!(
        (host.live().sha256, host.ticks_left()),
        (good.clone(), Some(2))
    );
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Unchanged).await;
    assert_eq!((host.live().sha256, host.ticks_left()), (good, None));
    assert_eq!(
        (host.quarantined(), host.count("rolled-back")),
        (Vec::new(), 0)
    );
}

#[tokio::test]
async fn a_worse_policy_goes_within_its_tick_and_the_last_good_one_takes_up_its_memory() {
    // Both count their ticks in the memory, under one name; this one would trap at its seventh.
    let mut host = Trialled::with(&misbehaving("trap-after-ticks", "6")).await;
    let good = host.live();
    host.tick(TickResult::Unchanged).await;

    let worse = host.swap(&misbehaving("trap-after-ticks", "3")).await;
    let bad = host.live();
    host.tick(TickResult::Unchanged).await;
    assert_eq!((host.live().sha256, host.ticks_left()), (worse, Some(2)));
    host.stub.tables().set_topic("T5");
    let pass = host.tick(TickResult::Updated).await;
    let tick = pass.report(Slot::Topic).tick.clone().unwrap();
    assert_eq!(
        (&tick.id, &tick.sha256),
        (&good.id, &good.sha256),
        "the draft of the last good one"
    );
    assert!(host.stage.topics().contains(&"T5".to_owned()));
    let routine = host.watched.routine(Slot::Topic);
    assert_eq!((routine.failures, routine.missed, routine.ticks), (0, 0, 4));
    assert_eq!(
        (routine.policy.unwrap().id, routine.probation),
        (good.id.clone(), None)
    );
    let refusal = routine.last_refusal.unwrap();
    assert_eq!(
        (refusal.stage, refusal.sha256.as_ref()),
        (At::Probation, Some(&bad.sha256))
    );
    let reason = "tick 4 failed, and the last good policy managed it on the same answers: the policy trapped";
    assert!(refusal.reason.starts_with(reason), "{}", refusal.reason);
    assert_eq!(host.quarantined(), [bad.id]);

    // Its third tick was the one that it took over: it remembers neither less nor more.
    for _ in 4..=6 {
        host.tick(TickResult::Unchanged).await;
    }
    host.tick(TickResult::Failed).await;
}

#[tokio::test]
async fn what_is_quarantined_is_not_tried_again_before_somebody_says_so() {
    let mut host = Trialled::with(&topic()).await;
    let good = host.live();
    let worse = misbehaving("trap-after-ticks", "1");
    host.swap(&worse).await;
    let bad = host.live();
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Unchanged).await;
    assert_eq!(
        (host.live().id, host.quarantined()),
        (good.id.clone(), vec![bad.id.clone()])
    );

    let noticed = host.count("noticed");
    // Touched, and written again as it was.
    fs::File::open(host.stage.plugin(Slot::Topic))
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    host.looked().await;
    host.stage.replace(Slot::Topic, &worse);
    host.looked().await;
    // Out of the folder, and in again.
    host.stage.replace(Slot::Topic, &topic());
    host.looked().await;
    host.stage.replace(Slot::Topic, &worse);
    host.looked().await;
    assert_eq!(
        (host.count("noticed"), host.live().id),
        (noticed, good.id.clone())
    );
    let note = host.watched.routine(Slot::Topic).note.unwrap();
    let told = format!(
        "its file holds {:.8}, which is quarantined (tick 3 failed",
        bad.sha256
    );
    assert!(note.starts_with(&told), "{note}");
    let way_out = format!(
        "`locum plugin forget {:.12}` lets it be tried again",
        bad.id
    );
    assert!(note.ends_with(&way_out), "{note}");

    host.restart().await;
    assert_eq!((host.live().id, host.count("noticed")), (good.id, 0));
    assert_eq!(host.quarantined(), std::slice::from_ref(&bad.id));
    assert_eq!(host.watched.routine(Slot::Topic).note, Some(note));
    host.tick(TickResult::Unchanged).await;

    assert_eq!(host.watched.host.forget("0123456789ab").await.unwrap(), 0);
    assert_eq!(host.watched.host.forget(&bad.id[..12]).await.unwrap(), 1);
    assert_eq!(host.watched.loaded(Slot::Topic).await, bad.sha256);
    assert_eq!(
        (host.quarantined(), host.watched.routine(Slot::Topic).note),
        (Vec::new(), None)
    );
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Unchanged).await;
    assert_eq!(host.quarantined(), [bad.id], "it is as bad as before");
}

#[tokio::test]
async fn an_operator_rolls_back_in_probation_and_after_it() {
    let mut host = Trialled::with(&topic()).await;
    let first = host.live();
    let replica = host.watched.replica();
    let none = replica
        .roll_back(Slot::Topic)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        none.starts_with("there is no good policy to go back to"),
        "{none}"
    );

    host.swap(&marker()).await;
    let in_probation = host.live();
    host.tick(TickResult::Updated).await;
    replica.roll_back(Slot::Topic).await.unwrap();
    let refusal = host.watched.routine(Slot::Topic).last_refusal.unwrap();
    assert_eq!(
        (refusal.stage, refusal.reason.as_str()),
        (At::Probation, "an operator rolled it back")
    );
    assert_eq!(
        (host.live().id, host.ticks_left()),
        (first.id.clone(), None)
    );
    assert_eq!(host.quarantined(), std::slice::from_ref(&in_probation.id));
    host.tick(TickResult::Updated).await;
    assert!(!host.stage.topics().contains(&"marker-v1".to_owned()));

    host.swap(&guests().bytes("marker-v2")).await;
    let proved = host.live();
    for result in [
        TickResult::Updated,
        TickResult::Unchanged,
        TickResult::Unchanged,
    ] {
        host.tick(result).await;
    }
    assert_eq!(host.ticks_left(), None);
    replica.roll_back(Slot::Topic).await.unwrap();
    let refusal = host.watched.routine(Slot::Topic).last_refusal.unwrap();
    assert_eq!(refusal.stage, At::Live);
    assert_eq!(host.quarantined(), [in_probation.id, proved.id]);
    host.restart().await;
    assert_eq!(host.live().id, first.id);
    host.tick(TickResult::Updated).await;
    assert!(!host.stage.topics().contains(&"marker-v2".to_owned()));
    let none = host.watched.replica().roll_back(Slot::Topic).await;
    assert!(none.is_err(), "there was nothing before the first");
}

/// The memory of what is left comes back at a rollback by command too.
#[tokio::test]
async fn a_rollback_by_command_brings_the_memory_back() {
    let counting = misbehaving("trap-after-ticks", "3");
    let mut host = Trialled::with(&counting).await;
    host.swap(&variant(&counting, 1)).await;
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Unchanged).await;
    host.watched.replica().roll_back(Slot::Topic).await.unwrap();
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Unchanged).await;
    host.tick(TickResult::Failed).await;
}

#[tokio::test]
async fn a_change_in_probation_goes_the_same_way_at_once_and_the_last_good_one_stays_that() {
    let mut host = Trialled::with(&topic()).await;
    let good = host.live();
    host.swap(&marker()).await;
    let between = host.live();
    host.tick(TickResult::Updated).await;
    assert_eq!(host.ticks_left(), Some(2));

    host.swap(&misbehaving("trap-after-ticks", "1")).await;
    let worse = host.live();
    assert_ne!(worse.id, between.id);
    assert_eq!(host.ticks_left(), Some(3), "it begins anew");
    host.tick(TickResult::Updated).await;
    host.tick(TickResult::Unchanged).await;
    assert_eq!(
        (host.live().id, host.quarantined()),
        (good.id, vec![worse.id])
    );
    assert_eq!(host.count("proved"), 1);
    host.stage.replace(Slot::Topic, &marker());
    let again = host.watched.loaded(Slot::Topic).await;
    assert_eq!(again, between.sha256, "nothing was said against it");
}

/// The file that was there before comes back while the new one is in probation: nothing of it is to be proved again.
#[tokio::test]
async fn the_last_good_file_put_back_in_probation_is_a_candidate_like_any_other() {
    let mut host = Trialled::with(&topic()).await;
    let good = host.live();
    host.swap(&marker()).await;
    host.tick(TickResult::Updated).await;
    host.swap(&topic()).await;
    assert_eq!(host.live().id, good.id);
    for result in [
        TickResult::Updated,
        TickResult::Unchanged,
        TickResult::Unchanged,
    ] {
        host.tick(result).await;
    }
    assert_eq!((host.live().id, host.ticks_left()), (good.id, None));
    let events = host.watched.drain();
    let rolled_back = |event: &&Event| {
        matches!(
            event,
            Event::Swap {
                transition: Transition::RolledBack { .. },
                ..
            }
        )
    };
    assert_eq!(events.iter().filter(rolled_back).count(), 0);
}

/// The tick that finds a policy worse is asked to take the next candidate along, and has come too far for that.
#[tokio::test]
async fn a_candidate_that_comes_too_late_for_a_tick_does_not_wait_for_the_next_one() {
    let mut host = Trialled::with(&misbehaving("fetch", "consumer-offsets")).await;
    host.swap(&misbehaving("trap-after-ticks", "1")).await;
    host.tick(TickResult::Updated).await;
    // The last good policy asks for the offsets, as the offset's own does.
    let gate = Gate::new();
    host.stub
        .script(OFFSETS, Fault::Late(gate.clone()), Times::Always);
    let replica = host.watched.replica();
    let pass = tokio::spawn(async move { replica.sync().await });
    soon(gate.holding(2)).await;
    host.stage.replace(Slot::Topic, &topic());
    host.watched.tried(Slot::Topic).await;
    gate.open();
    soon(pass).await.unwrap();
    assert_eq!(host.count("rolled-back"), 1);
    host.watched.loaded(Slot::Topic).await;
    assert_eq!(host.live().name, "topic");
}

/// The last good policy does not ask for that table, and so does well.
#[tokio::test]
async fn a_table_that_only_the_new_policy_asks_for_and_does_not_get_does_not_count() {
    let mut host = Trialled::with(&topic()).await;
    host.swap(&misbehaving("fetch", "consumer-offsets")).await;
    let live = host.live();
    host.tick(TickResult::Unchanged).await;
    host.stub
        .script(OFFSETS, Fault::error(2, "busy"), Times::Always);
    for _ in 0..3 {
        host.tick(TickResult::Failed).await;
    }
    assert_eq!((host.live().id, host.ticks_left()), (live.id, Some(2)));
    assert_eq!(host.quarantined(), [""; 0]);
    host.stub.clear_script();
    host.tick(TickResult::Unchanged).await;
    assert_eq!(host.ticks_left(), Some(1));
}

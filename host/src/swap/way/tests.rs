mod property;

use std::collections::BTreeSet;

use super::*;

/// A policy that is nothing but its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named(Ident);

impl Entrant for Named {
    fn ident(&self) -> &Ident {
        &self.0
    }

    fn status(&self, since: Time) -> PolicyStatus {
        PolicyStatus {
            name: "named".to_owned(),
            version: "1.0.0".to_owned(),
            id: self.0.id.clone(),
            sha256: self.0.sha256.clone(),
            file: "named.wasm".to_owned(),
            since,
        }
    }
}

fn ident(name: &str) -> Ident {
    Ident {
        id: format!("id-{name}"),
        sha256: format!("sha-{name}"),
    }
}

fn named(name: &str) -> Named {
    Named(ident(name))
}

const NOW: Time = Time(1);

fn way() -> Way<Named> {
    Way::new(3, Lasting::default(), NOW)
}

impl Way<Named> {
    fn happens(&mut self, event: Event<Named>) -> Vec<Action> {
        self.handle(NOW, event)
    }

    fn finds(&mut self, name: &str) -> Vec<Action> {
        self.happens(Event::Found(ident(name)))
    }

    fn judges(&mut self, name: &str, verdict: Result<(), &str>) -> Vec<Action> {
        let verdict = verdict.map(|()| named(name)).map_err(|reason| Refused {
            stage: Stage::Compile,
            reason: reason.to_owned(),
        });
        let id = ident(name).id;
        self.happens(Event::Judged { id, verdict })
    }

    fn tries(&mut self, name: &str, verdict: Verdict) -> Vec<Action> {
        let against = self.runs_now().map(|live| format!("id-{live}"));
        self.happens(Event::Tried {
            id: ident(name).id,
            against: against.unwrap_or_default(),
            verdict,
        })
    }

    fn ticks(&mut self, outcome: Outcome) -> Vec<Action> {
        let id = self
            .live()
            .map(|live| live.0.id.clone())
            .unwrap_or_default();
        self.happens(Event::Ticked { id, outcome })
    }

    /// A file that goes all its way.
    fn swaps(&mut self, name: &str) {
        self.finds(name);
        self.judges(name, Ok(()));
        self.tries(name, Verdict::Passed);
        assert_eq!(self.runs_now(), Some(name));
    }

    /// A way whose last good policy is the one named.
    fn with_good(name: &str) -> Self {
        let mut way = way();
        way.finds(name);
        way.judges(name, Ok(()));
        way.ticks(Outcome::Good);
        assert_eq!(way.good.as_ref(), Some(&named(name)));
        way
    }

    fn runs_now(&self) -> Option<&str> {
        self.live()?.0.id.strip_prefix("id-")
    }

    fn stage(&self) -> Option<Stage> {
        Some(self.candidate_status()?.stage)
    }

    fn ticks_left(&self) -> Option<u32> {
        Some(self.probation_status()?.ticks_left)
    }

    fn quarantined(&self) -> Vec<&str> {
        let entries = self.quarantine.iter();
        entries
            .filter_map(|entry| entry.ident.id.strip_prefix("id-"))
            .collect()
    }
}

fn told(actions: &[Action]) -> Vec<&'static str> {
    let told = actions.iter().filter_map(|action| match action {
        Action::Tell(transition) => Some(transition.name()),
        _ => None,
    });
    told.collect()
}

fn differs() -> Verdict {
    Verdict::Differs {
        reason: "much would go".to_owned(),
        removed: Accepted::from([("topics".to_owned(), BTreeSet::from(["T".to_owned()]))]),
    }
}

fn worse() -> Outcome {
    Outcome::Worse("it trapped".to_owned())
}

#[test]
fn a_first_load_needs_no_trial_and_is_good_after_one_good_tick() {
    let mut way = way();
    assert_eq!(told(&way.finds("a")), ["noticed"]);
    assert_eq!((way.stage(), way.runs_now()), (Some(Stage::Check), None));
    assert_eq!(told(&way.judges("a", Ok(()))), ["live"]);
    assert_eq!((way.runs_now(), way.ticks_left()), (Some("a"), None));
    assert!(
        way.ticks(worse()).is_empty(),
        "there is nothing that it could be worse than"
    );
    assert_eq!(told(&way.ticks(Outcome::Good)), ["proved"]);
    assert!(way.ticks(Outcome::Good).is_empty());
}

#[test]
fn a_good_candidate_goes_all_its_way() {
    let mut way = Way::with_good("a");
    assert_eq!(told(&way.finds("b")), ["noticed"]);
    let actions = way.judges("b", Ok(()));
    assert_eq!(told(&actions), ["trial-began"]);
    assert!(actions.contains(&Action::Try));
    assert_eq!(
        (way.stage(), way.runs_now()),
        (Some(Stage::Trial), Some("a"))
    );
    let actions = way.tries("b", Verdict::Passed);
    assert_eq!(told(&actions), ["live"]);
    assert_eq!(actions[0], Action::SetMemoryAside);
    assert_eq!((way.runs_now(), way.ticks_left()), (Some("b"), Some(3)));
    assert_eq!(way.ticks(Outcome::Good), [Action::Record]);
    assert_eq!(way.ticks(Outcome::Good), [Action::Record]);
    let actions = way.ticks(Outcome::Good);
    assert_eq!(told(&actions), ["proved"]);
    assert!(actions.contains(&Action::DropMemoryAside));
    assert_eq!(
        (way.ticks_left(), way.good.as_ref()),
        (None, Some(&named("b")))
    );
}

#[test]
fn what_is_refused_is_not_tried_again_until_the_file_held_something_else() {
    let mut way = Way::with_good("a");
    way.finds("b");
    assert_eq!(told(&way.judges("b", Err("a text file"))), ["refused"]);
    assert_eq!(
        way.last_refusal().map(|refusal| refusal.stage),
        Some(Stage::Compile)
    );
    assert_eq!((way.stage(), way.runs_now()), (None, Some("a")));
    assert!(way.finds("b").is_empty(), "no noise");
    way.finds("a");
    assert_eq!(told(&way.finds("b")), ["noticed"]);
    way.judges("b", Ok(()));
    assert_eq!(
        told(&way.tries("b", Verdict::Failed("it trapped".to_owned()))),
        ["refused"]
    );
    assert_eq!(
        way.last_refusal().map(|refusal| refusal.stage),
        Some(Stage::Trial)
    );
    assert_eq!(way.runs_now(), Some("a"));
}

#[test]
fn a_newer_content_restarts_the_way_and_the_live_one_withdraws_it() {
    let mut way = Way::with_good("a");
    way.finds("b");
    assert_eq!(told(&way.finds("c")), ["withdrawn", "noticed"]);
    assert!(
        way.judges("b", Ok(())).is_empty(),
        "of a content that has gone"
    );
    way.judges("c", Ok(()));
    assert!(way.tries("b", Verdict::Passed).is_empty());
    assert_eq!(told(&way.finds("a")), ["withdrawn"]);
    assert!(way.tries("c", Verdict::Passed).is_empty());
    assert_eq!((way.runs_now(), way.stage()), (Some("a"), None));
}

#[test]
fn a_held_candidate_waits_for_an_operator() {
    let mut way = Way::with_good("a");
    way.finds("b");
    way.judges("b", Ok(()));
    assert!(way.command(NOW, Command::Accept).is_err(), "in its trial");
    assert_eq!(told(&way.tries("b", differs())), ["held"]);
    assert_eq!(
        way.candidate_status()
            .and_then(|held| held.reason)
            .as_deref(),
        Some("much would go")
    );
    assert_eq!(
        (way.stage(), way.runs_now()),
        (Some(Stage::Held), Some("a"))
    );
    assert!(way.finds("b").is_empty(), "it stays held");
    let actions = way.command(NOW, Command::Accept).unwrap();
    assert_eq!(told(&actions), ["accepted", "live"]);
    assert_eq!(
        way.probation
            .as_ref()
            .map(|probation| probation.accepted.len()),
        Some(1)
    );

    let mut way = Way::with_good("a");
    way.finds("b");
    way.judges("b", Ok(()));
    way.tries("b", differs());
    assert_eq!(
        told(&way.command(NOW, Command::Reject).unwrap()),
        ["rejected"]
    );
    assert_eq!(
        (way.runs_now(), way.stage(), way.quarantined()),
        (Some("a"), None, vec!["b"])
    );
    assert!(way.finds("b").is_empty(), "it was told");
    assert!(way.note().unwrap().contains("quarantined"));
    assert!(
        way.command(NOW, Command::Forget("nothing".to_owned()))
            .is_err()
    );
    assert_eq!(
        told(
            &way.command(NOW, Command::Forget("sha-b".to_owned()))
                .unwrap()
        ),
        ["forgotten"]
    );
    assert_eq!(told(&way.finds("b")), ["noticed"]);
}

#[test]
fn a_trial_that_proves_nothing_is_told_once_and_goes_on() {
    let mut way = Way::with_good("a");
    way.finds("b");
    way.judges("b", Ok(()));
    let nothing = || Verdict::Nothing("no connection".to_owned());
    assert_eq!(told(&way.tries("b", nothing())), ["trial-proved-nothing"]);
    assert!(way.tries("b", nothing()).is_empty());
    assert_eq!(way.stage(), Some(Stage::Trial));
    assert_eq!(told(&way.tries("b", Verdict::Passed)), ["live"]);
}

#[test]
fn a_trial_against_what_has_gone_is_done_again() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    way.finds("c");
    way.judges("c", Ok(()));
    let actions = way.ticks(worse());
    assert_eq!(told(&actions), ["rolled-back"]);
    assert!(actions.contains(&Action::Try));
    let late = Event::Tried {
        id: ident("c").id,
        against: ident("b").id,
        verdict: Verdict::Passed,
    };
    assert_eq!(way.happens(late), [Action::Try]);
    assert_eq!(
        (way.runs_now(), way.stage()),
        (Some("a"), Some(Stage::Trial))
    );
}

#[test]
fn a_policy_that_does_worse_in_probation_goes_and_stays_away() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    way.ticks(Outcome::Good);
    let actions = way.ticks(worse());
    assert_eq!(told(&actions), ["rolled-back"]);
    assert!(actions.contains(&Action::BringMemoryBack));
    assert_eq!(
        (way.runs_now(), way.ticks_left(), way.quarantined()),
        (Some("a"), None, vec!["b"])
    );
    assert_eq!(
        way.last_refusal().map(|refusal| refusal.stage),
        Some(Stage::Probation)
    );
    assert!(way.note().unwrap().contains("quarantined"));
    assert!(way.finds("b").is_empty(), "it is not tried again, nor told");
}

#[test]
fn a_change_in_probation_goes_the_same_way_and_the_good_one_stays_the_one_to_go_back_to() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    way.ticks(Outcome::Good);
    way.finds("c");
    way.judges("c", Ok(()));
    let actions = way.tries("c", Verdict::Passed);
    assert!(
        !actions.contains(&Action::SetMemoryAside),
        "what the good one remembers is aside already"
    );
    assert_eq!((way.runs_now(), way.ticks_left()), (Some("c"), Some(3)));
    way.ticks(worse());
    assert_eq!((way.runs_now(), way.quarantined()), (Some("a"), vec!["c"]));
}

#[test]
fn an_operator_rolls_back_in_probation_and_after_it() {
    let mut way = Way::with_good("a");
    assert!(
        way.command(NOW, Command::RollBack).is_err(),
        "it is the first"
    );
    way.swaps("b");
    assert_eq!(
        told(&way.command(NOW, Command::RollBack).unwrap()),
        ["rolled-back"]
    );
    assert_eq!((way.runs_now(), way.quarantined()), (Some("a"), vec!["b"]));

    let mut way = Way::with_good("a");
    way.swaps("b");
    for _ in 0..3 {
        way.ticks(Outcome::Good);
    }
    way.command(NOW, Command::RollBack).unwrap();
    assert_eq!((way.runs_now(), way.quarantined()), (Some("a"), vec!["b"]));
    assert_eq!(
        way.last_refusal().map(|refusal| refusal.stage),
        Some(Stage::Live)
    );
    assert!(
        way.command(NOW, Command::RollBack).is_err(),
        "nothing is left to go back to"
    );
}

/// An operator who sees a policy fail puts the file of before back.
#[test]
fn the_last_good_one_put_back_is_good_as_it_was() {
    let mut way = Way::with_good("z");
    way.swaps("a");
    for _ in 0..3 {
        way.ticks(Outcome::Good);
    }
    way.swaps("b");
    way.finds("a");
    way.judges("a", Ok(()));
    let actions = way.tries("a", Verdict::Passed);
    assert!(actions.contains(&Action::BringMemoryBack));
    assert_eq!((way.runs_now(), way.ticks_left()), (Some("a"), None));
    way.command(NOW, Command::RollBack).unwrap();
    assert_eq!((way.runs_now(), way.quarantined()), (Some("z"), vec!["a"]));
}

#[test]
fn a_candidate_that_a_rollback_brings_back_is_none_any_more() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    way.finds("a");
    way.judges("a", Ok(()));
    assert_eq!(told(&way.ticks(worse())), ["rolled-back", "withdrawn"]);
    assert_eq!((way.runs_now(), way.stage()), (Some("a"), None));
}

/// It may differ as much from what comes back as it differed from what has gone, or not at all.
#[test]
fn what_was_held_against_a_policy_that_has_gone_is_tried_again() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    way.finds("c");
    way.judges("c", Ok(()));
    way.tries("c", differs());
    let actions = way.command(NOW, Command::RollBack).unwrap();
    assert!(actions.contains(&Action::Try));
    assert_eq!(way.stage(), Some(Stage::Trial));
    assert!(way.is_untried());
}

#[test]
fn nothing_goes_back_to_what_is_quarantined() {
    let mut way = Way::with_good("a");
    way.swaps("b");
    for _ in 0..3 {
        way.ticks(Outcome::Good);
    }
    // The one before the last good one comes again, and is worse.
    way.swaps("a");
    way.ticks(worse());
    assert_eq!((way.runs_now(), way.quarantined()), (Some("b"), vec!["a"]));
    assert!(way.command(NOW, Command::RollBack).is_err());

    let mut way = Way::with_good("a");
    way.swaps("b");
    way.finds("a");
    let refused = way.command(NOW, Command::Reject).unwrap_err();
    assert!(refused.contains("is the last good policy"), "{refused}");
    way.ticks(worse());
    assert_eq!((way.runs_now(), way.quarantined()), (Some("a"), vec!["b"]));
}

#[test]
fn what_is_rejected_before_its_probation_goes_on_never_goes_on() {
    let mut before = Way::with_good("a");
    before.swaps("b");
    let mut way = restarted(&before);
    way.finds("b");
    let actions = way.command(NOW, Command::Reject).unwrap();
    assert!(actions.contains(&Action::BringMemoryBack));
    assert_eq!(way.lasting().probation, None);
}

#[test]
fn a_file_that_goes_takes_its_candidate_along_and_nothing_else() {
    let mut way = Way::with_good("a");
    let missing = || Event::Missing("it is not there".to_owned());
    assert_eq!(told(&way.happens(missing())), ["noted"]);
    assert!(way.happens(missing()).is_empty(), "told once");
    assert_eq!(
        (way.runs_now(), way.note()),
        (Some("a"), Some("it is not there"))
    );
    way.finds("b");
    assert_eq!(way.note(), None);
    way.judges("b", Ok(()));
    assert_eq!(told(&way.happens(missing())), ["withdrawn", "noted"]);
    assert_eq!((way.runs_now(), way.stage()), (Some("a"), None));
    let unreadable = || Event::Unreadable("a folder".to_owned());
    assert_eq!(told(&way.happens(unreadable())), ["refused"]);
    assert!(way.happens(unreadable()).is_empty(), "told once");
    assert_eq!(told(&way.finds("b")), ["noticed"]);
}

fn restarted(way: &Way<Named>) -> Way<Named> {
    Way::new(3, way.lasting(), NOW)
}

#[test]
fn a_restart_goes_on_with_the_probation_or_with_the_last_good_one() {
    let mut before = Way::with_good("a");
    before.finds("b");
    before.judges("b", Ok(()));

    let mut way = restarted(&before);
    assert_eq!(way.runs_now(), Some("a"), "killed before the exchange");
    way.finds("b");
    assert!(
        way.judges("b", Ok(())).contains(&Action::Try),
        "judged again"
    );

    before.tries("b", Verdict::Passed);
    before.ticks(Outcome::Good);
    let mut way = restarted(&before);
    assert_eq!(way.lasting().probation, before.lasting().probation);
    way.finds("b");
    assert_eq!(
        told(&way.judges("b", Ok(()))),
        ["live"],
        "it passed its trial before"
    );
    assert_eq!((way.runs_now(), way.ticks_left()), (Some("b"), Some(2)));
    way.ticks(worse());
    assert_eq!(way.runs_now(), Some("a"));

    for other in ["a", "c"] {
        let mut way = restarted(&before);
        let actions = way.finds(other);
        assert!(actions.contains(&Action::BringMemoryBack), "b is given up");
        assert_eq!((way.runs_now(), way.ticks_left()), (Some("a"), None));
    }
    let mut way = restarted(&before);
    let actions = way.happens(Event::Missing("gone".to_owned()));
    assert!(actions.contains(&Action::BringMemoryBack));

    before.ticks(worse());
    let mut way = restarted(&before);
    assert_eq!(told(&way.finds("b")), ["noted"], "a restart says so");
    assert_eq!((way.runs_now(), way.quarantined()), (Some("a"), vec!["b"]));
}

#[test]
fn without_probation_an_exchange_is_good_at_once() {
    let mut way = Way::new(0, Lasting::default(), NOW);
    way.finds("a");
    way.judges("a", Ok(()));
    way.ticks(Outcome::Good);
    way.swaps("b");
    assert_eq!(
        (way.ticks_left(), way.good.as_ref()),
        (None, Some(&named("b")))
    );
}

#[test]
fn the_quarantine_is_bounded() {
    let mut way = Way::with_good("a");
    for number in 0..QUARANTINE + 10 {
        way.finds(&number.to_string());
        way.command(NOW, Command::Reject).unwrap();
    }
    assert_eq!(way.quarantine.len(), QUARANTINE);
    assert_eq!(way.quarantined()[0], "10");
}

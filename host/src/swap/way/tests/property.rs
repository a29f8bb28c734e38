//! What must hold whatever comes in whatever order.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Debug, Clone)]
enum Input {
    Finds(usize),
    Judges(usize, bool),
    Tries(usize, usize, u8),
    /// The candidate that there is comes a step further.
    GoesOn,
    /// What runs ticks.
    Lives(bool),
    Ticks(usize, bool),
    Missing,
    Unreadable,
    Accept,
    Reject,
    RollBack,
    Forget(usize),
    Restart,
}

fn input() -> impl Strategy<Value = Input> {
    let name = || 0..NAMES.len();
    prop_oneof![
        6 => name().prop_map(Input::Finds),
        6 => (name(), prop::bool::weighted(0.8)).prop_map(|(name, ok)| Input::Judges(name, ok)),
        6 => (name(), name(), 0..4_u8).prop_map(|(name, against, verdict)| Input::Tries(name, against, verdict)),
        12 => Just(Input::GoesOn),
        8 => prop::bool::weighted(0.9).prop_map(Input::Lives),
        8 => (name(), prop::bool::weighted(0.8)).prop_map(|(name, good)| Input::Ticks(name, good)),
        1 => Just(Input::Missing),
        1 => Just(Input::Unreadable),
        2 => Just(Input::Accept),
        1 => Just(Input::Reject),
        1 => Just(Input::RollBack),
        1 => name().prop_map(Input::Forget),
        1 => Just(Input::Restart),
    ]
}

/// What an outsider has seen: against which the way's own view is held.
#[derive(Default)]
struct Seen {
    /// What the file holds.
    file: Option<&'static str>,
    /// What passed its checks since the file began to hold it.
    checked: bool,
    /// What may stand in quarantine.
    guilty: BTreeSet<&'static str>,
    /// What was live once, and so has had all its checks.
    proven: BTreeSet<&'static str>,
}

fn go_on(way: &mut Way<Named>, seen: &mut Seen) -> Vec<Action> {
    let Some(candidate) = way.candidate_status() else {
        return Vec::new();
    };
    let name = candidate.id.strip_prefix("id-").unwrap_or_default();
    match candidate.stage {
        Stage::Check => {
            seen.checked = true;
            way.judges(name, Ok(()))
        }
        _ => way.tries(name, Verdict::Passed),
    }
}

fn apply(way: &mut Way<Named>, seen: &mut Seen, input: &Input) -> Vec<Action> {
    let runs = way.runs_now().map(str::to_owned);
    match *input {
        Input::Finds(name) => {
            if seen.file != Some(NAMES[name]) {
                seen.checked = false;
            }
            seen.file = Some(NAMES[name]);
            way.finds(NAMES[name])
        }
        Input::Judges(name, ok) => {
            seen.checked |= ok && seen.file == Some(NAMES[name]);
            way.judges(NAMES[name], if ok { Ok(()) } else { Err("no") })
        }
        Input::Tries(name, against, verdict) => way.happens(Event::Tried {
            id: ident(NAMES[name]).id,
            against: ident(NAMES[against]).id,
            verdict: match verdict {
                0 => Verdict::Passed,
                1 => Verdict::Nothing("nothing".to_owned()),
                2 => differs(),
                _ => Verdict::Failed("failed".to_owned()),
            },
        }),
        Input::GoesOn => go_on(way, seen),
        Input::Lives(good) => {
            let name = NAMES.iter().position(|name| runs.as_deref() == Some(name));
            name.map_or_else(Vec::new, |name| apply(way, seen, &Input::Ticks(name, good)))
        }
        Input::Ticks(name, good) => {
            if !good && runs.as_deref() == Some(NAMES[name]) {
                seen.guilty.insert(NAMES[name]);
            }
            way.happens(Event::Ticked {
                id: ident(NAMES[name]).id,
                outcome: if good { Outcome::Good } else { worse() },
            })
        }
        Input::Missing => {
            (seen.file, seen.checked) = (None, false);
            way.happens(Event::Missing("gone".to_owned()))
        }
        Input::Unreadable => {
            (seen.file, seen.checked) = (None, false);
            way.happens(Event::Unreadable("a folder".to_owned()))
        }
        Input::Accept => way.command(NOW, Command::Accept).unwrap_or_default(),
        Input::Reject => {
            let candidate = way.candidate_status().map(|candidate| candidate.id);
            let candidate = NAMES.iter().find(|name| candidate == Some(ident(name).id));
            seen.guilty.extend(candidate);
            way.command(NOW, Command::Reject).unwrap_or_default()
        }
        Input::RollBack => {
            seen.guilty
                .extend(NAMES.iter().find(|name| runs.as_deref() == Some(**name)));
            way.command(NOW, Command::RollBack).unwrap_or_default()
        }
        Input::Forget(name) => {
            let forget = Command::Forget(ident(NAMES[name]).id);
            way.command(NOW, forget).unwrap_or_default()
        }
        Input::Restart => {
            *way = restarted(way);
            seen.checked = false;
            Vec::new()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn whatever_comes_in_whatever_order(inputs in prop::collection::vec(input(), 1..120)) {
        let (mut way, mut seen) = (way(), Seen::default());
        for input in &inputs {
            let had = way.runs_now().map(str::to_owned);
            let good = way.good.clone();
            let actions = apply(&mut way, &mut seen, input);
            let has = way.runs_now().map(str::to_owned);

            let lost = had.is_some() && has.is_none();
            prop_assert!(!lost || (matches!(input, Input::Restart) && good.is_none()), "a slot that had a policy has one");
            let live = has.as_deref().and_then(|has| NAMES.into_iter().find(|name| *name == has));
            if let (true, Some(live)) = (has != had, live) {
                let checked = seen.checked && seen.file == Some(live);
                prop_assert!(checked || seen.proven.contains(live), "{live} got in without its checks");
                let told = told(&actions);
                let is_told = told.contains(&"live") || told.contains(&"rolled-back");
                prop_assert!(is_told || matches!(input, Input::Restart), "{told:?}");
            }
            seen.proven.extend(live);
            prop_assert!(!way.quarantined().iter().any(|name| Some(*name) == has.as_deref()), "it runs and is quarantined");
            for name in way.quarantined() {
                prop_assert!(seen.guilty.contains(name), "{name} was quarantined for nothing");
            }
            if let Some(candidate) = way.candidate_status() {
                prop_assert_eq!(Some(candidate.id), seen.file.map(|file| ident(file).id), "the candidate is what the file holds");
            }
            let back = way.good.iter().chain(&way.previous);
            for policy in back {
                prop_assert!(!way.quarantine.iter().any(|entry| entry.ident == policy.0), "{policy:?} is quarantined, and would be gone back to");
            }
            prop_assert!(way.previous.is_none() || way.previous != way.good, "two to go back to, and not one twice");
            if let Some(probation) = &way.probation {
                prop_assert!(way.runs(&probation.ident.id), "the probation is of what runs");
                prop_assert!(way.good.is_some() && !way.is_good(), "there is something to go back to");
            }
        }
        // Whatever has happened: a new and good content gets in.
        way.swaps("new");
        for _ in 0..3 {
            way.ticks(Outcome::Good);
        }
        prop_assert!(way.is_good());
    }
}

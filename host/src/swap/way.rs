//! The way of policies into one slot, as a pure state machine: the time and an event in, actions out.
//!
//! ```text
//!                Found              Judged              Tried: passed
//!   (file) ----> check ------------> trial ------------------------------> live, in probation
//!                  |                 |    \-- differs --> held -- accept -->   |        |
//!                  | refused         | refused             | reject            | N good | worse than the last good
//!                  v                 v                     v                   v ticks  v
//!               what runs goes on    ...               quarantine            good     rolled back, quarantined
//! ```
//!
//! What holds, whatever comes in whatever order (see the property test):
//! - A slot that had a policy has one for ever: nothing on a candidate's way touches what runs before the exchange.
//! - Nothing gets in without its checks, and, unless the slot was empty, without a trial that passed or an operator's yes.
//! - There is one candidate at most, and it is what the file held last.
//! - What is quarantined does not run, and is there because it did worse than the last good policy, or an operator said so.

mod parts;

pub(crate) use parts::{
    Accepted, Action, Command, Entrant, Event, Lasting, Outcome, Probation, Quarantined, Refused,
    Verdict,
};

use super::ident::Ident;
use crate::events::Transition;
use crate::status::{CandidateStatus, PolicyStatus, ProbationStatus, RefusalStatus, Stage, Time};

/// What runs in a slot, what is on its way into it, and what it would go back to.
pub(crate) struct Way<P> {
    probation_ticks: u32,
    live: Option<Seated<P>>,
    /// What ended a probation, or a first load with one good tick: mostly what runs.
    good: Option<P>,
    /// What was good before that.
    previous: Option<P>,
    probation: Option<Probation>,
    /// The probation in whose midst the host stopped, until it is known what its file holds now.
    resuming: Option<Probation>,
    candidate: Option<Candidate<P>>,
    quarantine: Vec<Quarantined>,
    /// The id that was refused last: it is not tried again before its file has held something else.
    refused: Option<String>,
    last_refusal: Option<RefusalStatus>,
    /// Why the file could not be read at the last look.
    unreadable: Option<String>,
    note: Option<String>,
}

struct Seated<P> {
    policy: P,
    since: Time,
}

struct Candidate<P> {
    ident: Ident,
    since: Time,
    reason: Option<String>,
    place: Place<P>,
}

enum Place<P> {
    /// It is read, checked, compiled and asked what it is.
    Check,
    Trial(P),
    Held(P, Accepted),
}

impl<P> Place<P> {
    fn stage(&self) -> Stage {
        match self {
            Self::Check => Stage::Check,
            Self::Trial(_) => Stage::Trial,
            Self::Held(..) => Stage::Held,
        }
    }
}

/// What is to be forgotten is named by so many characters at least.
const SHORTEST: usize = 4;

/// More are not remembered for one slot: the oldest goes.
const QUARANTINE: usize = 100;

impl<P: Entrant> Way<P> {
    /// A slot as its record left it: the last good policy runs until the file is looked at.
    pub(crate) fn new(probation_ticks: u32, lasting: Lasting<P>, now: Time) -> Self {
        let live = lasting.good.clone();
        Self {
            probation_ticks,
            live: live.map(|policy| Seated { policy, since: now }),
            good: lasting.good,
            previous: lasting.previous,
            probation: None,
            resuming: lasting.probation,
            candidate: None,
            quarantine: lasting.quarantine,
            refused: None,
            last_refusal: None,
            unreadable: None,
            note: None,
        }
    }

    /// What runs.
    pub(crate) fn live(&self) -> Option<&P> {
        Some(&self.live.as_ref()?.policy)
    }

    /// What a status tells of it.
    pub(crate) fn live_status(&self) -> Option<PolicyStatus> {
        let live = self.live.as_ref()?;
        Some(live.policy.status(live.since))
    }

    /// The policy that is to be tried.
    pub(crate) fn to_try(&self) -> Option<&P> {
        match &self.candidate.as_ref()?.place {
            Place::Trial(policy) => Some(policy),
            Place::Check | Place::Held(..) => None,
        }
    }

    /// Whether there is something to try of which no trial has ended yet.
    pub(crate) fn is_untried(&self) -> bool {
        let in_trial = |candidate: &Candidate<P>| matches!(candidate.place, Place::Trial(_));
        self.candidate
            .as_ref()
            .is_some_and(|candidate| in_trial(candidate) && candidate.reason.is_none())
    }

    /// While what runs is in probation: the policy that it is measured against.
    pub(crate) fn measure(&self) -> Option<&P> {
        self.probation.as_ref().and(self.good.as_ref())
    }

    /// What is on its way.
    pub(crate) fn candidate_status(&self) -> Option<CandidateStatus> {
        let candidate = self.candidate.as_ref()?;
        Some(CandidateStatus {
            id: candidate.ident.id.clone(),
            sha256: candidate.ident.sha256.clone(),
            stage: candidate.place.stage(),
            since: candidate.since,
            reason: candidate.reason.clone(),
        })
    }

    /// Why the last one did not get in, or did not stay.
    pub(crate) fn last_refusal(&self) -> Option<&RefusalStatus> {
        self.last_refusal.as_ref()
    }

    /// How long what runs is still watched.
    pub(crate) fn probation_status(&self) -> Option<ProbationStatus> {
        let ticks_left = self.probation.as_ref()?.ticks_left;
        Some(ProbationStatus { ticks_left })
    }

    /// What there is to know of the file.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What is to outlive a restart.
    pub(crate) fn lasting(&self) -> Lasting<P> {
        Lasting {
            good: self.good.clone(),
            previous: self.previous.clone(),
            probation: self.probation.clone().or_else(|| self.resuming.clone()),
            quarantine: self.quarantine.clone(),
        }
    }

    /// What must not run.
    pub(crate) fn quarantine(&self) -> &[Quarantined] {
        &self.quarantine
    }

    /// Takes in what happened.
    pub(crate) fn handle(&mut self, now: Time, event: Event<P>) -> Vec<Action> {
        match event {
            Event::Found(ident) => self.found(now, ident),
            Event::Judged { id, verdict } if self.is_at(&id, Stage::Check) => {
                self.judged(now, verdict)
            }
            Event::Judged {
                id,
                verdict: Ok(policy),
            } if self.runs(&id) => self.refresh(policy),
            Event::Missing(note) => self.missing(note),
            Event::Unreadable(reason) => self.unreadable(now, reason),
            Event::Tried {
                id,
                against,
                verdict,
            } if self.is_at(&id, Stage::Trial) => self.tried(now, &against, verdict),
            Event::Ticked { id, outcome } if self.runs(&id) => self.ticked(now, outcome),
            // Of what has gone on, or gone, meanwhile.
            Event::Judged { .. } | Event::Tried { .. } | Event::Ticked { .. } => Vec::new(),
        }
    }

    /// Does what an operator wants.
    ///
    /// # Errors
    /// Why it cannot be done now.
    pub(crate) fn command(&mut self, now: Time, command: Command) -> Result<Vec<Action>, String> {
        match command {
            Command::Accept => self.accept(now),
            Command::Reject => self.reject(now),
            Command::RollBack => {
                let reason = "an operator rolled it back".to_owned();
                let stage = match self.probation {
                    Some(_) => Stage::Probation,
                    None => Stage::Live,
                };
                self.roll_back(now, stage, reason)
            }
            Command::Forget(start) => self.forget(&start),
        }
    }

    fn runs(&self, id: &str) -> bool {
        self.live().is_some_and(|live| live.ident().id == id)
    }

    fn is_at(&self, id: &str, stage: Stage) -> bool {
        self.candidate
            .as_ref()
            .is_some_and(|candidate| candidate.ident.id == id && candidate.place.stage() == stage)
    }

    fn found(&mut self, now: Time, ident: Ident) -> Vec<Action> {
        let known = self.note.take();
        self.unreadable = None;
        let mut actions = self.give_up_resuming(|resuming| *resuming != ident);
        let quarantined = self
            .quarantine
            .iter()
            .find(|entry| entry.ident.id == ident.id);
        if let Some(entry) = quarantined {
            self.note = Some(quarantine_note(&entry.ident, &entry.reason));
        }
        if self.note.is_some() || self.runs(&ident.id) {
            self.refused = None;
            actions.extend(self.withdraw());
            let news = self
                .note
                .clone()
                .filter(|note| known.as_ref() != Some(note));
            actions.extend(news.map(|note| Action::Tell(Transition::Noted { note })));
            return actions;
        }
        let known = self.candidate.as_ref().map(|candidate| &candidate.ident.id);
        if known == Some(&ident.id) || self.refused.as_ref() == Some(&ident.id) {
            return actions;
        }
        self.refused = None;
        actions.extend(self.withdraw());
        actions.push(Action::Tell(Transition::Noticed {
            id: ident.id.clone(),
            sha256: ident.sha256.clone(),
        }));
        self.candidate = Some(Candidate {
            ident,
            since: now,
            reason: None,
            place: Place::Check,
        });
        actions
    }

    fn judged(&mut self, now: Time, verdict: Result<P, Refused>) -> Vec<Action> {
        let policy = match verdict {
            Ok(policy) => policy,
            Err(Refused { stage, reason }) => return self.refuse(now, stage, reason),
        };
        if let Some(probation) = self.resuming.take() {
            // It passed its trial before the host stopped.
            return self.resume(now, policy, probation);
        }
        if self.live.is_none() {
            return self.exchange(now, policy, Accepted::new());
        }
        let Some(candidate) = &mut self.candidate else {
            return Vec::new();
        };
        candidate.since = now;
        candidate.place = Place::Trial(policy);
        let sha256 = candidate.ident.sha256.clone();
        vec![Action::Tell(Transition::TrialBegan { sha256 }), Action::Try]
    }

    /// What runs is what the file holds: it may have another name by now.
    fn refresh(&mut self, policy: P) -> Vec<Action> {
        let same = |known: &&mut P| known.ident() == policy.ident();
        if let Some(good) = self.good.as_mut().filter(same) {
            *good = policy.clone();
        }
        if let Some(live) = &mut self.live {
            live.policy = policy;
        }
        Vec::new()
    }

    fn missing(&mut self, note: String) -> Vec<Action> {
        self.refused = None;
        self.unreadable = None;
        let mut actions = self.give_up_resuming(|_| true);
        actions.extend(self.withdraw());
        let told = self.note.replace(note.clone());
        if told.as_ref() != Some(&note) {
            actions.push(Action::Tell(Transition::Noted { note }));
        }
        actions
    }

    fn unreadable(&mut self, now: Time, reason: String) -> Vec<Action> {
        self.refused = None;
        self.note = None;
        let mut actions = self.give_up_resuming(|_| true);
        actions.extend(self.withdraw());
        let told = self.unreadable.replace(reason.clone());
        if told.as_ref() == Some(&reason) {
            return actions;
        }
        actions.push(self.note_refusal(now, None, Stage::Read, reason));
        actions
    }

    fn tried(&mut self, now: Time, against: &str, verdict: Verdict) -> Vec<Action> {
        if !self.runs(against) {
            // What it was measured against has gone meanwhile.
            return vec![Action::Try];
        }
        let Some(candidate) = &mut self.candidate else {
            return Vec::new();
        };
        let sha256 = candidate.ident.sha256.clone();
        match (verdict, &candidate.place) {
            (Verdict::Passed, Place::Trial(policy)) => {
                let policy = policy.clone();
                self.exchange(now, policy, Accepted::new())
            }
            (Verdict::Differs { reason, removed }, Place::Trial(policy)) => {
                candidate.place = Place::Held(policy.clone(), removed);
                candidate.since = now;
                candidate.reason = Some(reason.clone());
                vec![Action::Tell(Transition::Held { sha256, reason })]
            }
            (Verdict::Nothing(reason), _) => {
                let told = candidate.reason.replace(reason.clone());
                match told.as_ref() == Some(&reason) {
                    true => Vec::new(),
                    false => vec![Action::Tell(Transition::TrialProvedNothing {
                        sha256,
                        reason,
                    })],
                }
            }
            (Verdict::Failed(reason), _) => self.refuse(now, Stage::Trial, reason),
            (Verdict::Passed | Verdict::Differs { .. }, Place::Check | Place::Held(..)) => {
                Vec::new()
            }
        }
    }

    fn ticked(&mut self, now: Time, outcome: Outcome) -> Vec<Action> {
        let unproved = !self.is_good();
        match (outcome, &mut self.probation) {
            (Outcome::Good, Some(probation)) if probation.ticks_left > 1 => {
                probation.ticks_left -= 1;
                vec![Action::Record]
            }
            (Outcome::Good, Some(_)) => self.prove(),
            (Outcome::Good, None) if unproved => self.prove(),
            (Outcome::Worse(reason), Some(_)) => self
                .roll_back(now, Stage::Probation, reason)
                .unwrap_or_default(),
            (Outcome::Good | Outcome::Worse(_), None) => Vec::new(),
        }
    }

    /// Whether what runs has proved itself.
    fn is_good(&self) -> bool {
        self.good
            .as_ref()
            .is_some_and(|good| self.runs(&good.ident().id))
    }

    /// What runs is good from now on.
    fn prove(&mut self) -> Vec<Action> {
        let Some(live) = self.live().cloned() else {
            return Vec::new();
        };
        let sha256 = live.ident().sha256.clone();
        self.probation = None;
        self.previous = self.good.replace(live).or(self.previous.take());
        vec![
            Action::Tell(Transition::Proved { sha256 }),
            Action::DropMemoryAside,
            Action::Record,
        ]
    }

    /// From the next tick on `policy` runs. With another good policy behind it, it has to prove itself first.
    fn exchange(&mut self, now: Time, policy: P, accepted: Accepted) -> Vec<Action> {
        let mut actions = Vec::new();
        let was_in_probation = self.probation.take().is_some();
        let good = self.good.as_ref().map(P::ident);
        if good == Some(policy.ident()) {
            // The last good one, put back while another was in probation: there is nothing else to measure it against.
            actions.push(Action::BringMemoryBack);
        } else if good.is_some() {
            if !was_in_probation {
                actions.push(Action::SetMemoryAside);
            }
            self.probation = Some(Probation {
                ident: policy.ident().clone(),
                ticks_left: self.probation_ticks,
                accepted,
            });
        }
        actions.extend(self.seat(now, policy));
        if self.probation_ticks == 0 && self.probation.is_some() {
            actions.extend(self.prove());
        }
        actions
    }

    /// Goes on with the probation in whose midst the host stopped.
    fn resume(&mut self, now: Time, policy: P, probation: Probation) -> Vec<Action> {
        self.probation = self.good.is_some().then_some(probation);
        self.seat(now, policy)
    }

    fn seat(&mut self, now: Time, policy: P) -> Vec<Action> {
        self.candidate = None;
        self.last_refusal = None;
        self.note = None;
        let status = policy.status(now);
        self.live = Some(Seated { policy, since: now });
        vec![
            Action::Tell(Transition::Live { policy: status }),
            Action::Record,
        ]
    }

    fn roll_back(
        &mut self,
        now: Time,
        stage: Stage,
        reason: String,
    ) -> Result<Vec<Action>, String> {
        let Some(live) = self.live().cloned() else {
            return Err("no policy runs in this slot".to_owned());
        };
        let back = if self.is_good() {
            self.previous.take()
        } else {
            self.good.clone()
        };
        let Some(back) = back else {
            return Err(format!(
                "there is no good policy to go back to: {:.8} is the first that this slot had",
                live.ident().sha256
            ));
        };
        let from = live.ident().clone();
        if self.file_holds_what_runs() {
            self.note = Some(quarantine_note(&from, &reason));
        }
        self.enter_quarantine(now, from.clone(), reason.clone());
        self.probation = None;
        self.resuming = None;
        self.good = Some(back.clone());
        let policy = back.status(now);
        self.live = Some(Seated {
            policy: back,
            since: now,
        });
        self.last_refusal = Some(RefusalStatus {
            sha256: Some(from.sha256.clone()),
            stage,
            reason: reason.clone(),
            at: now,
        });
        let told = Transition::RolledBack {
            from: from.sha256,
            policy,
            reason,
        };
        let mut actions = vec![Action::Tell(told), Action::BringMemoryBack, Action::Record];
        actions.extend(self.measure_anew());
        Ok(actions)
    }

    /// Nothing else was found in it since what runs came from it.
    fn file_holds_what_runs(&self) -> bool {
        let is_known = self.note.is_some() || self.refused.is_some() || self.unreadable.is_some();
        !is_known && self.candidate.is_none()
    }

    /// What is on its way was measured against what has just gone, and may be what runs by now.
    fn measure_anew(&mut self) -> Option<Action> {
        let id = &self.candidate.as_ref()?.ident.id;
        if self.runs(id) {
            return self.withdraw();
        }
        let candidate = self.candidate.as_mut()?;
        if let Place::Held(policy, _) = &candidate.place {
            candidate.place = Place::Trial(policy.clone());
        }
        candidate.reason = None;
        self.to_try().map(|_| Action::Try)
    }

    fn accept(&mut self, now: Time) -> Result<Vec<Action>, String> {
        let held = match self.candidate.as_ref().map(|candidate| &candidate.place) {
            Some(Place::Held(policy, accepted)) => Some((policy.clone(), accepted.clone())),
            _ => None,
        };
        let (policy, accepted) = held.ok_or_else(|| self.nothing_held())?;
        let sha256 = policy.ident().sha256.clone();
        let mut actions = vec![Action::Tell(Transition::Accepted { sha256 })];
        actions.extend(self.exchange(now, policy, accepted));
        Ok(actions)
    }

    fn nothing_held(&self) -> String {
        match self.candidate_status() {
            Some(candidate) => format!(
                "the candidate {:.8} is not held: it is in its {}{}",
                candidate.sha256,
                candidate.stage,
                candidate
                    .reason
                    .map(|reason| format!(" ({reason})"))
                    .unwrap_or_default()
            ),
            None => self.last_refusal.as_ref().map_or_else(
                || "there is no candidate".to_owned(),
                |refusal| {
                    let RefusalStatus {
                        sha256,
                        stage,
                        reason,
                        ..
                    } = refusal;
                    let which = sha256.as_ref().map(|sha256| format!(" {sha256:.8}"));
                    let which = which.unwrap_or_default();
                    format!("nothing is held: the last candidate{which} was refused in its {stage} ({reason})")
                },
            ),
        }
    }

    fn reject(&mut self, now: Time) -> Result<Vec<Action>, String> {
        let candidate = self.candidate.as_ref();
        let ident = candidate.map(|candidate| candidate.ident.clone());
        let ident = ident.ok_or_else(|| "there is no candidate".to_owned())?;
        if self.good.as_ref().map(P::ident) == Some(&ident) {
            return Err(format!(
                "the candidate {:.8} is the last good policy, to which this slot would go back: put another file in its place",
                ident.sha256
            ));
        }
        self.candidate = None;
        let mut actions = self.give_up_resuming(|_| true);
        let reason = "an operator rejected it".to_owned();
        let sha256 = ident.sha256.clone();
        // The file still holds it.
        self.note = Some(quarantine_note(&ident, &reason));
        self.enter_quarantine(now, ident, reason.clone());
        self.last_refusal = Some(RefusalStatus {
            sha256: Some(sha256.clone()),
            stage: Stage::Held,
            reason,
            at: now,
        });
        actions.extend([
            Action::Tell(Transition::Rejected { sha256 }),
            Action::Record,
        ]);
        Ok(actions)
    }

    fn forget(&mut self, start: &str) -> Result<Vec<Action>, String> {
        if start.len() < SHORTEST {
            return Err(format!(
                "`{start}` could be many: write at least {SHORTEST} characters"
            ));
        }
        let meant = |entry: &Quarantined| {
            entry.ident.id.starts_with(start) || entry.ident.sha256.starts_with(start)
        };
        let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.quarantine)
            .into_iter()
            .partition(meant);
        self.quarantine = kept;
        if gone.is_empty() {
            return Err(format!("nothing that begins with `{start}` is quarantined"));
        }
        self.note = None;
        let told = gone
            .into_iter()
            .map(|entry| Action::Tell(Transition::Forgotten { id: entry.ident.id }));
        Ok(told.chain([Action::Record]).collect())
    }

    fn enter_quarantine(&mut self, now: Time, ident: Ident, reason: String) {
        // Nor does anything go back to it.
        self.previous.take_if(|previous| *previous.ident() == ident);
        self.quarantine.retain(|entry| entry.ident.id != ident.id);
        self.quarantine.push(Quarantined {
            ident,
            reason,
            at: now,
        });
        let over = self.quarantine.len().saturating_sub(QUARANTINE);
        self.quarantine.drain(..over);
    }

    fn refuse(&mut self, now: Time, stage: Stage, reason: String) -> Vec<Action> {
        let ident = self.candidate.take().map(|candidate| candidate.ident);
        self.refused = ident.as_ref().map(|ident| ident.id.clone());
        let sha256 = ident.map(|ident| ident.sha256);
        let mut actions = self.give_up_resuming(|_| true);
        actions.push(self.note_refusal(now, sha256, stage, reason));
        actions
    }

    fn note_refusal(
        &mut self,
        now: Time,
        sha256: Option<String>,
        stage: Stage,
        reason: String,
    ) -> Action {
        self.last_refusal = Some(RefusalStatus {
            sha256: sha256.clone(),
            stage,
            reason: reason.clone(),
            at: now,
        });
        Action::Tell(Transition::Refused {
            sha256,
            stage,
            reason,
        })
    }

    fn withdraw(&mut self) -> Option<Action> {
        let Ident { sha256, .. } = self.candidate.take()?.ident;
        Some(Action::Tell(Transition::Withdrawn { sha256 }))
    }

    /// What was in probation when the host stopped is not what the file holds: the last good policy goes on as it was.
    fn give_up_resuming(&mut self, when: impl FnOnce(&Ident) -> bool) -> Vec<Action> {
        match self.resuming.take_if(|resuming| when(&resuming.ident)) {
            Some(_) => vec![Action::BringMemoryBack, Action::Record],
            None => Vec::new(),
        }
    }
}

/// Something else runs than the file says.
fn quarantine_note(ident: &Ident, reason: &str) -> String {
    format!(
        "its file holds {:.8}, which is quarantined ({reason}); `locum plugin forget {:.12}` lets it be tried again",
        ident.sha256, ident.id
    )
}

#[cfg(test)]
mod tests;

//! Which fault the next answer gets.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::fault::Fault;

/// How often a scripted fault applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// To the next answer.
    Once,
    /// To the next so many answers.
    Count(usize),
    /// To each answer until the script is cleared.
    Always,
}

/// Faults in a row for each request code.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rows: Mutex<HashMap<i32, VecDeque<(Fault, Times)>>>,
}

impl Script {
    pub(crate) fn add(&self, code: i32, fault: Fault, times: Times) {
        self.with(|rows| rows.entry(code).or_default().push_back((fault, times)));
    }

    pub(crate) fn clear(&self) {
        self.with(HashMap::clear);
    }

    /// Takes the fault of one answer out of the row.
    pub(crate) fn next(&self, code: i32) -> Fault {
        self.with(|rows| rows.get_mut(&code).and_then(take))
            .unwrap_or(Fault::Honest)
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<i32, VecDeque<(Fault, Times)>>) -> T) -> T {
        change(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn take(row: &mut VecDeque<(Fault, Times)>) -> Option<Fault> {
    loop {
        let (fault, times) = row.front_mut()?;
        match times {
            Times::Always => return Some(fault.clone()),
            Times::Count(left @ 2..) => {
                *left -= 1;
                return Some(fault.clone());
            }
            Times::Once | Times::Count(1) => return row.pop_front().map(|(fault, _)| fault),
            Times::Count(0) => {
                row.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_code_come_in_a_row() {
        let script = Script::default();
        script.add(43, Fault::Silent, Times::Count(2));
        script.add(43, Fault::Honest, Times::Count(0));
        script.add(43, Fault::Twice, Times::Once);
        let row: Vec<String> = (0..4).map(|_| format!("{:?}", script.next(43))).collect();
        assert_eq!(row, ["Silent", "Silent", "Twice", "Honest"]);
        assert!(matches!(script.next(21), Fault::Honest));
    }

    #[test]
    fn always_ends_by_clearing() {
        let script = Script::default();
        script.add(21, Fault::Silent, Times::Always);
        script.add(21, Fault::Twice, Times::Once);
        for _ in 0..3 {
            assert!(matches!(script.next(21), Fault::Silent));
        }
        script.clear();
        assert!(matches!(script.next(21), Fault::Honest));
    }
}

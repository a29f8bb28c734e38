//! `locum run` as an operator has it: a process that is told and asked by other runs of the binary.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::SystemTime;

use locum::status::{ReplicaStatus, RoutineState, Status, Time};
use real_master::wait_for;
use rustix::process::{Pid, Signal, kill_process};

use crate::WITHIN;
use crate::stand_in::StandIn;

/// A running host; dropped means killed.
pub(crate) struct Daemon<'a> {
    stand_in: &'a StandIn,
    child: Child,
    log: PathBuf,
}

impl<'a> Daemon<'a> {
    /// Starts it and waits until it can be asked.
    pub(crate) fn start(stand_in: &'a StandIn) -> Self {
        let log = stand_in.config().with_extension("log");
        let child = stand_in
            .command(&["run"])
            .stdin(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let daemon = Self {
            stand_in,
            child,
            log,
        };
        daemon.await_status("an answer of the host", |_| true);
        daemon
    }

    /// The replica's status, once it is as wanted.
    pub(crate) fn await_status(
        &self,
        what: &str,
        wanted: impl Fn(&ReplicaStatus) -> bool,
    ) -> ReplicaStatus {
        let mut last = None;
        let found = wait_for(what, WITHIN, || {
            last = self.status();
            Ok(last.clone().filter(&wanted))
        });
        found.unwrap_or_else(|error| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            panic!("{error}; last: {last:#?}\n{log}")
        })
    }

    /// Waits until every routine has ended well a tick that began after this call.
    pub(crate) fn await_fresh_tick(&self) {
        let called = now();
        self.await_status("a tick of every routine", |replica| {
            replica.routines.iter().all(|routine| {
                routine.state == RoutineState::Active && routine.last_success > Some(called)
            })
        });
    }

    /// Waits until every routine is in this state.
    pub(crate) fn await_state(&self, state: RoutineState) -> ReplicaStatus {
        self.await_status(&format!("state {state}"), |replica| {
            replica
                .routines
                .iter()
                .all(|routine| routine.state == state)
        })
    }

    /// Stops it as a service manager does.
    pub(crate) fn stop(mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.unwrap(), Signal::TERM).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "{ended}");
    }

    /// None while nobody can be asked.
    fn status(&self) -> Option<ReplicaStatus> {
        let asked = self.stand_in.locum(&["status", "--output", "json"]);
        if !asked.is_ok() {
            return None;
        }
        let status: Status = serde_json::from_str(&asked.with_code(0)).unwrap();
        status.replicas.into_iter().next()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This moment on the clock that ticks are stamped with.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Time(since.unwrap().as_millis().try_into().unwrap())
}

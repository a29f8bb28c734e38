//! How many brokers run at once: each is a Java process that has a core to itself while it starts.

use std::sync::{Condvar, Mutex};

/// Room for the brokers of one test; given back when dropped. Bind it before the brokers, so that it outlives them.
pub(crate) struct Room(usize);

static FREE: Mutex<usize> = Mutex::new(4);
static GIVEN_BACK: Condvar = Condvar::new();

/// Waits until so many brokers more may run. All that a test needs is asked for at once: two tests that each wait for
/// their second broker would wait for ever.
pub(crate) fn room_for(brokers: usize) -> Room {
    let mut free = GIVEN_BACK
        .wait_while(FREE.lock().unwrap(), |free| *free < brokers)
        .unwrap();
    *free -= brokers;
    Room(brokers)
}

impl Drop for Room {
    fn drop(&mut self) {
        *FREE.lock().unwrap() += self.0;
        GIVEN_BACK.notify_all();
    }
}

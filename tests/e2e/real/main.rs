//! The host against real brokers: the judge is a broker that booted from our files.
//!
//! Everything here blocks: brokers are asked over blocking sockets, the binary is run and waited for, and the library's
//! host has a runtime of its own. Waiting is always for something that is told or asked, never for time to pass.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, also in what several tests share"
)]

mod another_user;
mod daemon;
mod drill;
mod empty_master;
mod follow;
mod guarded;
mod lost_master;
mod names;
mod room;
mod stand_in;
mod tables;
mod taken_over;
mod watched;

use std::time::Duration;

/// For one thing to happen. Far more than a loaded machine takes, so that only what never comes fails.
const WITHIN: Duration = Duration::from_secs(90);

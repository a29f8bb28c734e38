//! The stub from outside: by sockets, and against bytes of real brokers.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod acl;
mod binary;
mod common;
mod control;
mod dialects;
mod faults;

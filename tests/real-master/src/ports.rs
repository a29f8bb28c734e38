//! Free ports for a broker.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::Error;

/// Below Linux's range for outgoing connections, so that none of those takes a port between the look and the start.
const FIRST: u16 = 12_000;
/// A broker listens on three ports (its own, two below for VIP, one above for HA): four to a block.
const BLOCK: u16 = 4;
const BLOCKS: u16 = 5_000;
/// Blocks of one test process before those of the next pid, so that parallel ones seldom look at the same.
const PER_PROCESS: u32 = 16;

/// The number of starts so far in this process.
static STARTS: AtomicU16 = AtomicU16::new(0);

/// A port that is free together with those that a broker takes besides: port - 2 and port + 1. Each call gives another
/// block, since a broker that was stopped may hold its ports for some seconds.
pub(crate) fn free_port() -> Result<u16, Error> {
    let first = (process::id().wrapping_mul(PER_PROCESS)) % u32::from(BLOCKS);
    let first = u16::try_from(first).unwrap_or_default();
    (0..BLOCKS)
        .map(|_| (first + STARTS.fetch_add(1, Ordering::Relaxed) % BLOCKS) % BLOCKS)
        .map(|block| FIRST + block * BLOCK + 2)
        .find(|port| [port - 2, *port, port + 1].into_iter().all(is_free))
        .ok_or(Error::NoPorts)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

//! The two clocks, in one place: everything below the shell takes `now` as a parameter.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The runtime's monotonic clock, which tests may pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Milliseconds since 1970 on this machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! Runtime info (28) and the timer checkpoint (60).

use std::collections::BTreeMap;

use crate::java::{DEFAULT_SLOTS, hash_order};
use crate::json::{members, quoted};
use crate::state::State;
use crate::version::{Kind, Version, now};

/// `{"table":{..}}`, all values strings. A few of the sixty rows that a real master sends.
pub(crate) fn info(state: &State) -> String {
    let dialect = state.dialect;
    let mut rows = BTreeMap::from(
        [
            ("bootTimestamp", state.booted.to_string()),
            ("brokerVersionDesc", dialect.version_name().to_owned()),
            ("dispatchBehindBytes", "0".to_owned()),
            ("earliestMessageTimeStamp", "-1".to_owned()),
            ("putTps", "0.0 0.0 0.0".to_owned()),
            (
                "runtime",
                "[ 0 days, 0 hours, 0 minutes, 5 seconds ]".to_owned(),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), quoted(&value))),
    );
    if dialect.is_5() {
        rows.insert("brokerActive".to_owned(), quoted("true"));
    }
    if !dialect.pages() {
        // 5.5 no longer sends the ordinal.
        let ordinal = quoted(&dialect.version().to_string());
        rows.insert("brokerVersion".to_owned(), ordinal);
    }
    members([("table", members(hash_order(&rows, DEFAULT_SLOTS)))])
}

/// Seven big-endian integers: last read time, three positions, and a DataVersion.
pub(crate) fn timer_checkpoint(state: &State) -> Vec<u8> {
    let (state_version, timestamp, counter) = match state.version(Kind::TimerMetrics) {
        Version::Known {
            state_version,
            timestamp,
            counter,
        } => (*state_version, *timestamp, *counter),
        Version::Text(_) | Version::Absent => (0, 0, 0),
    };
    [now(), 0, 0, 0, state_version, timestamp, counter]
        .into_iter()
        .flat_map(i64::to_be_bytes)
        .collect()
}

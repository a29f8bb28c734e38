//! RocketMQ's `DataVersion`.

use serde::{Deserialize, Serialize};

use crate::dialect::Scanner;
use crate::error::{Fault, ReadProblem};

const STATE_VERSION: &str = "stateVersion";
const TIMESTAMP: &str = "timestamp";
const COUNTER: &str = "counter";

/// The version that a master gives to a table: RocketMQ's `DataVersion`. Equal versions do not prove equal tables, and a
/// 4.x master, which sends no state version, has 0 there. A version that is not known is no `DataVersion` at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DataVersion {
    /// The epoch of the store's state (DLedger, controller); 0 elsewhere.
    pub state_version: i64,
    /// When the table last changed: milliseconds since 1970, on the master's clock.
    pub timestamp: i64,
    /// How often it changed.
    pub counter: i64,
}

impl DataVersion {
    /// The member as Java writes it, all three fields, in Java's order.
    pub(crate) fn to_json(self) -> String {
        let Self {
            state_version,
            timestamp,
            counter,
        } = self;
        format!(
            r#"{{"{COUNTER}":{counter},"{STATE_VERSION}":{state_version},"{TIMESTAMP}":{timestamp}}}"#
        )
    }

    /// Reads the member. Null, or a missing or null counter or timestamp, is an unknown version (field report 2: a legal
    /// answer); a missing state version is 0, as Java reads a 4.x master. Other fields are not kept.
    pub(crate) fn scan(scanner: &mut Scanner<'_>) -> Result<Option<Self>, Fault> {
        if scanner.peek() == Some(b'n') {
            return scanner.word().map(|_| None);
        }
        if scanner.peek() != Some(b'{') {
            return Err(scanner.fault(ReadProblem::InvalidValue("a data version object")));
        }
        let (mut state_version, mut timestamp, mut counter) = (None, None, None);
        scanner.fields(|scanner, name| {
            match name.decode()?.as_ref() {
                STATE_VERSION => state_version = field(scanner)?,
                TIMESTAMP => timestamp = field(scanner)?,
                COUNTER => counter = field(scanner)?,
                _ => scanner.value()?,
            }
            Ok(())
        })?;
        Ok(timestamp.zip(counter).map(|(timestamp, counter)| Self {
            state_version: state_version.unwrap_or(0),
            timestamp,
            counter,
        }))
    }
}

fn field(scanner: &mut Scanner<'_>) -> Result<Option<i64>, Fault> {
    match scanner.peek() {
        Some(b'n') => scanner.word().map(|_| None),
        _ => scanner.integer("an integer in the data version").map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadLimits;

    fn check(text: &str, expected: Option<(i64, i64, i64)>) {
        let mut scanner = Scanner::new(text.as_bytes(), &ReadLimits::default()).unwrap();
        let version = DataVersion::scan(&mut scanner).unwrap();
        let fields = version.map(|v| (v.state_version, v.timestamp, v.counter));
        assert_eq!(fields, expected, "{text}");
    }

    #[test]
    fn reads_both_generations() {
        check(r#"{"counter":7,"timestamp":5}"#, Some((0, 5, 7)));
        check(
            r#"{"counter":7,"stateVersion":2,"timestamp":5}"#,
            Some((2, 5, 7)),
        );
        check(
            r#"{counter:7, stateVersion:null, timestamp:5, later:{0:1}}"#,
            Some((0, 5, 7)),
        );
        check(
            r#"{"counter":1,"timestamp":5,"counter":9007199254740993}"#,
            Some((0, 5, 9_007_199_254_740_993)),
        );
    }

    #[test]
    fn what_is_not_whole_is_unknown() {
        check("null", None);
        check("{}", None);
        check(r#"{"counter":null,"timestamp":5}"#, None);
        check(r#"{"counter":7,"stateVersion":0}"#, None);
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in [
            "3",
            "[]",
            r#"{"counter":"7","timestamp":5}"#,
            r#"{"counter":1.5}"#,
            "nul",
        ] {
            let mut scanner = Scanner::new(text.as_bytes(), &ReadLimits::default()).unwrap();
            assert!(DataVersion::scan(&mut scanner).is_err(), "{text}");
        }
    }

    #[test]
    fn is_written_with_all_fields() {
        let version = DataVersion {
            state_version: 2,
            timestamp: 5,
            counter: -7,
        };
        assert_eq!(
            version.to_json(),
            r#"{"counter":-7,"stateVersion":2,"timestamp":5}"#
        );
        check(&version.to_json(), Some((2, 5, -7)));
    }
}

//! Pages of topics and groups, as 5.4 and later cut them: by sorted name, from a sequence number, under one DataVersion.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::version::Version;

/// Entries of a page at most (`splitMetadataSize`).
const PAGE_ENTRIES: i64 = 2000;

/// The names of a request's paging fields.
pub(crate) struct Fields {
    sequence: &'static str,
    max: &'static str,
}

/// Paging fields of 21.
pub(crate) const TOPICS: Fields = Fields {
    sequence: "topicSeq",
    max: "maxTopicNum",
};
/// Paging fields of 201.
pub(crate) const GROUPS: Fields = Fields {
    sequence: "groupSeq",
    max: "maxGroupNum",
};

/// What is to be sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Page {
    /// The whole table: no paging field was sent.
    Whole,
    /// The entries of these names.
    Names(BTreeSet<String>),
}

/// Cuts a page. The error is the remark of code 1, as the broker's handler throws on bad fields.
pub(crate) fn page(
    ext: &BTreeMap<String, String>,
    fields: &Fields,
    current: &Version,
    entries: &BTreeMap<String, String>,
) -> Result<Page, String> {
    let names = ["dataVersion", fields.sequence, fields.max];
    if !names.iter().any(|name| ext.contains_key(*name)) {
        return Ok(Page::Whole);
    }
    let number = |name: &str| ext.get(name).and_then(|text| text.parse::<i64>().ok());
    let sequence = number(fields.sequence).ok_or_else(|| {
        format!(
            "java.lang.NullPointerException: Cannot invoke \"java.lang.Integer.intValue()\" because \"{}\" is null",
            fields.sequence
        )
    })?;
    let max = number(fields.max).unwrap_or(PAGE_ENTRIES).min(PAGE_ENTRIES);
    let asked = ext.get("dataVersion").map_or("", String::as_str);
    let first = if same_version(asked, current) {
        sequence
    } else {
        0
    };
    let (Ok(first), Ok(max @ 1..)) = (usize::try_from(first), usize::try_from(max)) else {
        return Err(format!(
            "java.lang.ArrayIndexOutOfBoundsException: Index -1 out of bounds for length {}",
            entries.len()
        ));
    };
    let mut names: Vec<&String> = entries.keys().collect();
    names.sort_by_cached_key(|name| name.encode_utf16().collect::<Vec<u16>>());
    let cut = names.into_iter().skip(first).take(max);
    Ok(Page::Names(cut.cloned().collect()))
}

/// Compares as objects: order, further members, numbers as strings and a missing state version of 0 do not matter.
fn same_version(asked: &str, current: &Version) -> bool {
    let Version::Known {
        state_version,
        timestamp,
        counter,
    } = current
    else {
        return false;
    };
    let Ok(asked) = serde_json::from_str::<Value>(asked) else {
        return false;
    };
    let field = |name: &str| match asked.get(name) {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    field("stateVersion").unwrap_or(0) == *state_version
        && field("timestamp") == Some(*timestamp)
        && field("counter") == Some(*counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: Result<Page, String>) -> Vec<String> {
        match page {
            Ok(Page::Names(names)) => names.into_iter().collect(),
            other => panic!("not a page: {other:?}"),
        }
    }

    fn ask(fields: &[(&str, &str)]) -> Result<Page, String> {
        let entries = ["a", "b", "c", "d"].map(|name| (name.to_owned(), String::new()));
        let ext = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        page(&ext, &TOPICS, &Version::known(7, 3), &entries.into())
    }

    #[test]
    fn no_paging_field_gives_the_whole_table() {
        assert_eq!(ask(&[("other", "1")]), Ok(Page::Whole));
    }

    #[test]
    fn a_page_goes_on_under_the_same_version_only() {
        let same = r#"{"timestamp":"7","counter":3,"more":1}"#;
        let next = [
            ("topicSeq", "3"),
            ("maxTopicNum", "3"),
            ("dataVersion", same),
        ];
        assert_eq!(names(ask(&next)), ["d"]);
        for other in ["", "{oops", r#"{"counter":2,"timestamp":7}"#] {
            let next = [
                ("topicSeq", "3"),
                ("maxTopicNum", "3"),
                ("dataVersion", other),
            ];
            assert_eq!(names(ask(&next)), ["a", "b", "c"], "{other}");
        }
    }

    #[test]
    fn bad_fields_make_the_handler_throw() {
        assert!(
            ask(&[("dataVersion", "")])
                .unwrap_err()
                .contains("topicSeq")
        );
        assert!(ask(&[("topicSeq", "0"), ("maxTopicNum", "0")]).is_err());
        let same = r#"{"counter":3,"timestamp":7}"#;
        assert!(ask(&[("topicSeq", "-1"), ("dataVersion", same)]).is_err());
    }
}

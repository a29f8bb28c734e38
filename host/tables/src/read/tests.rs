use super::*;
use crate::{CONSUMER_OFFSETS, DELAY_OFFSETS, TOPICS};

fn read(kind: &'static TableKind, body: &str) -> Result<Table, ReadError> {
    Table::from_answer(kind, body.as_bytes(), &ReadLimits::default())
}

fn refused(kind: &'static TableKind, body: &str, problem: &ReadProblem) {
    let error = read(kind, body).unwrap_err();
    assert_eq!(error.problem(), problem, "{body}");
}

#[test]
fn a_document_without_entries_is_malformed_and_never_empty() {
    let missing = ReadProblem::NoEntries("offsetTable");
    refused(&CONSUMER_OFFSETS, "{}", &missing);
    refused(
        &CONSUMER_OFFSETS,
        r#"{"dataVersion":{},"offsettable":{}}"#,
        &missing,
    );
    let null = ReadProblem::NullEntries("offsetTable");
    refused(&CONSUMER_OFFSETS, r#"{"offsetTable":null}"#, &null);
    refused(
        &CONSUMER_OFFSETS,
        r#"{"offsetTable":{},"offsetTable":null}"#,
        &null,
    );
    let object = ReadProblem::Expected("an object");
    refused(&CONSUMER_OFFSETS, "null", &object);
    refused(&CONSUMER_OFFSETS, "<html>", &object);
    refused(&CONSUMER_OFFSETS, r#"{"offsetTable":[]}"#, &object);
    refused(&CONSUMER_OFFSETS, "", &ReadProblem::Truncated);
    refused(
        &CONSUMER_OFFSETS,
        r#"{"offsetTable":{"#,
        &ReadProblem::Truncated,
    );
    refused(
        &CONSUMER_OFFSETS,
        r#"{"offsetTable":{}}x"#,
        &ReadProblem::Trailing,
    );
}

#[test]
fn an_absent_null_or_partial_version_is_a_legal_answer() {
    for version in [
        "",
        r#""dataVersion":null,"#,
        r#""dataVersion":{},"#,
        r#""dataVersion":{"counter":4},"#,
    ] {
        let table = read(
            &CONSUMER_OFFSETS,
            &format!(r#"{{{version}"offsetTable":{{"T@G":{{0:1}}}}}}"#),
        )
        .unwrap();
        assert_eq!((table.version(), table.len()), (None, 1), "{version}");
    }
}

#[test]
fn the_last_duplicate_wins() {
    let table = read(
        &CONSUMER_OFFSETS,
        r#"{"offsetTable":{"gone@G":{}},"x":1,"offsetTable":{"T@G":{0:1},"A@G":{},"\u0054@G":{0:2}},"x":2}"#,
    )
    .unwrap();
    assert_eq!(table.len(), 2);
    assert_eq!(table.get("T@G"), Some(r#"{"0":2}"#));
    assert_eq!(table.member("x"), Some("2"));
    let file = String::from_utf8(table.to_file()).unwrap();
    assert!(
        !file.contains("gone") && !file.contains(r#"{"0":1}"#),
        "{file}"
    );
}

#[test]
fn one_bad_delay_offset_fails_the_whole_table() {
    let read = |entry: &str| {
        read(
            &DELAY_OFFSETS,
            &format!(r#"{{"offsetTable":{{1:2,{entry}}}}}"#),
        )
    };
    for good in ["2:0", r#""18":9223372036854775807"#, "2147483647:1"] {
        assert_eq!(read(good).unwrap().len(), 2, "{good}");
    }
    for bad in [
        "-1:1",
        "0:1",
        "01:1",
        "a:1",
        "2147483648:1",
        r#""":1"#,
        r#""+3":1"#,
        r#"" 3":1"#,
    ] {
        assert!(
            matches!(read(bad).unwrap_err().problem(), ReadProblem::InvalidKey(_)),
            "{bad}"
        );
    }
    for bad in [
        "2:-1",
        "2:1.0",
        "2:1e3",
        r#"2:"abc""#,
        r#"2:"7""#,
        "2:null",
        "2:{}",
        "2:9223372036854775808",
    ] {
        let error = read(bad).unwrap_err();
        assert!(
            matches!(error.problem(), ReadProblem::InvalidValue(_)),
            "{bad}"
        );
        assert_eq!(error.offset(), 22, "{bad}");
    }
}

#[test]
fn one_bad_consumer_offset_fails_the_whole_table() {
    let read = |entry: &str| {
        read(
            &CONSUMER_OFFSETS,
            &format!(r#"{{"offsetTable":{{"T@G":{{0:1}},{entry}}}}}"#),
        )
    };
    for good in [
        r#""T@H":{}"#,
        r#""%RETRY%G@G":{0:-1,"1":9007199254740993,-1:0}"#,
        r#""a@b@c":{}"#,
    ] {
        assert_eq!(read(good).unwrap().len(), 2, "{good}");
    }
    for bad in [
        r#""T":{}"#,
        r#""T@H":{a:1}"#,
        r#""T@H":{"00":1}"#,
        r#""T@H":{"":1}"#,
        r#""T@H":{99999999999:1}"#,
    ] {
        assert!(
            matches!(read(bad).unwrap_err().problem(), ReadProblem::InvalidKey(_)),
            "{bad}"
        );
    }
    for bad in [
        r#""T@H":[]"#,
        r#""T@H":1"#,
        r#""T@H":null"#,
        r#""T@H":{0:"1"}"#,
        r#""T@H":{0:1.5}"#,
        r#""T@H":{0:{}}"#,
    ] {
        assert!(
            matches!(
                read(bad).unwrap_err().problem(),
                ReadProblem::InvalidValue(_)
            ),
            "{bad}"
        );
    }
}

#[test]
fn topics_are_objects_and_keep_what_we_do_not_know() {
    let topic = r#"{"attributes":{"message.type":"FIFO","odd":"{0:1, 2}"},"futureField":[1,2,{"a":null}],"perm":6}"#;
    let table = read(
        &TOPICS,
        &format!(r#"{{"topicConfigTable":{{"T":{topic}}}}}"#),
    )
    .unwrap();
    assert_eq!(table.get("T"), Some(topic));
    for bad in [r#""T":1"#, r#""T":null"#, r#""T":[]"#, r#""T":"{}""#] {
        let error = read(&TOPICS, &format!(r#"{{"topicConfigTable":{{{bad}}}}}"#)).unwrap_err();
        assert_eq!(
            error.problem(),
            &ReadProblem::InvalidValue("an object"),
            "{bad}"
        );
    }
    refused(
        &TOPICS,
        r#"{"topicConfigTable":{"":{}}}"#,
        &ReadProblem::InvalidKey("the key is empty"),
    );
    refused(
        &TOPICS,
        r#"{"topicConfigTable":{"\udead":{}}}"#,
        &ReadProblem::Surrogate,
    );
}

#[test]
fn keeps_its_limits() {
    let limits = ReadLimits {
        entries: 2,
        ..ReadLimits::default()
    };
    let read = |body: &str| Table::from_answer(&DELAY_OFFSETS, body.as_bytes(), &limits);
    assert!(read(r#"{"a":1,"b":2,"offsetTable":{1:1,2:2}}"#).is_ok());
    let many = [
        r#"{"offsetTable":{1:1,2:2,3:3}}"#,
        r#"{"a":1,"b":2,"c":3,"offsetTable":{}}"#,
    ];
    for body in many {
        assert_eq!(
            read(body).unwrap_err().problem(),
            &ReadProblem::TooMany(2),
            "{body}"
        );
    }
}

#[test]
fn an_error_says_what_where_and_what_stands_there() {
    let error = read(&DELAY_OFFSETS, r#"{"offsetTable":{1:"abc"}}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"invalid value: expected an offset, an integer from 0 at byte 18, near `{"offsetTable":{1:"abc"}}`"#
    );
}

use super::*;

fn json(text: &str) -> Result<String, ReadError> {
    to_json(text.as_bytes(), &ReadLimits::default())
}

fn check(text: &str, expected: &str) {
    assert_eq!(json(text).unwrap(), expected, "{text}");
}

fn refused(text: &str, problem: ReadProblem, offset: usize) {
    let error = json(text).unwrap_err();
    assert_eq!(
        (error.problem(), error.offset()),
        (&problem, offset),
        "{text}"
    );
}

#[test]
fn quotes_bare_keys_at_any_depth() {
    check("{0:12,1:3}", r#"{"0":12,"1":3}"#);
    check("{-7:{a_$9:[{18:{}}]}}", r#"{"-7":{"a_$9":[{"18":{}}]}}"#);
    check(r#"{"0":12,1:3}"#, r#"{"0":12,"1":3}"#);
    check("{true:1,null:2,$a:3}", r#"{"true":1,"null":2,"$a":3}"#);
}

#[test]
fn the_name_servers_cluster_reads_alike_bare_and_quoted() {
    let bare = r#"{"brokerAddrs":{0:"10.0.0.1:10911",-1:"[fe80::1%eth0]:10911",9999999999:"[::1]:10911"}}"#;
    let quoted = r#"{"brokerAddrs":{"0":"10.0.0.1:10911","-1":"[fe80::1%eth0]:10911","9999999999":"[::1]:10911"}}"#;
    check(bare, quoted);
    check(quoted, quoted);
    let value: serde_json::Value = serde_json::from_str(&json(bare).unwrap()).unwrap();
    assert_eq!(value["brokerAddrs"]["9999999999"], "[::1]:10911");
}

#[test]
fn leaves_strings_and_numbers_alone() {
    for text in [
        r#"{"a":"{0:1, b : 2,}"}"#,
        r#"{"a":"\"{0:1}\\","b":"\u0041\/\n"}"#,
        r#"{"a":"héé 😀 \ud83d\ude00"}"#,
        "[9007199254740993,-9223372036854775808,1e400,0.10,-0,1E-7]",
        r#"[true,false,null,"",[],{}]"#,
        r#"{"0":1,"0":2}"#,
        r#""text""#,
        "null",
    ] {
        check(text, text);
    }
}

#[test]
fn drops_white_space_trailing_commas_and_byte_order_mark() {
    check(
        "\u{feff} { \"a\" : [ 1 , 2 ] ,\r\n\t0 : { } }\n",
        r#"{"a":[1,2],"0":{}}"#,
    );
    check("{\"a\":[1 , ] , }", r#"{"a":[1]}"#);
    check("[{1:2,},]", r#"[{"1":2}]"#);
}

#[test]
fn refuses_references() {
    refused(r#"{"a":{"$ref":"$.b"}}"#, ReadProblem::Reference, 7);
    refused("{$ref:1}", ReadProblem::Reference, 1);
    refused(r#"[{"\u0024ref":"$"}]"#, ReadProblem::Reference, 3);
    check(r#"{"a":"$ref"}"#, r#"{"a":"$ref"}"#);
}

#[test]
fn refuses_what_is_not_whole() {
    for text in [
        "",
        "  ",
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "[1",
        "[1,",
        "-",
        "1.",
        "1e",
    ] {
        refused(text, ReadProblem::Truncated, text.len());
    }
    refused("{} x", ReadProblem::Trailing, 3);
    refused("{}}", ReadProblem::Trailing, 2);
    refused("{}\0", ReadProblem::Trailing, 2);
}

#[test]
fn refuses_what_is_not_well_formed() {
    let value = ReadProblem::Expected("a value");
    refused("<html>", value.clone(), 0);
    refused("[,]", value.clone(), 1);
    refused("[1,,]", value.clone(), 3);
    refused("{\"a\":nul}", value.clone(), 5);
    refused("['a']", value.clone(), 1);
    refused("[+1]", value.clone(), 1);
    refused("[NaN]", value, 1);
    refused("{,}", ReadProblem::Expected("a key"), 1);
    refused("{é:1}", ReadProblem::Expected("a key"), 1);
    refused("{-:1}", ReadProblem::Expected("a key"), 1);
    refused("{1.5:1}", ReadProblem::Expected("a colon after the key"), 2);
    refused("{12a:1}", ReadProblem::Expected("a colon after the key"), 3);
    refused("{a b:1}", ReadProblem::Expected("a colon after the key"), 3);
    refused(
        "[01]",
        ReadProblem::Expected("a comma or the end of the array"),
        2,
    );
    refused(
        "[1}",
        ReadProblem::Expected("a comma or the end of the array"),
        2,
    );
    refused(
        "{\"a\":1]",
        ReadProblem::Expected("a comma or the end of the object"),
        6,
    );
    refused("[-a]", ReadProblem::Expected("a digit"), 2);
    refused(r#"["\x41"]"#, ReadProblem::Escape, 2);
    refused(r#"["\u00g1"]"#, ReadProblem::Escape, 2);
    refused("[\"a\nb\"]", ReadProblem::ControlCharacter, 3);
}

#[test]
fn refuses_what_is_not_utf8() {
    let error = to_json(b"{\"a\":\"\xff\"}", &ReadLimits::default()).unwrap_err();
    assert_eq!(
        (error.problem(), error.offset()),
        (&ReadProblem::NotUtf8, 6)
    );
}

#[test]
fn keeps_its_limits() {
    let limits = ReadLimits {
        bytes: 8,
        depth: 3,
        entries: 0,
    };
    assert_eq!(to_json(b"[[[1]]]", &limits).unwrap(), "[[[1]]]");
    let error = to_json(b"[[[[]]]]", &limits).unwrap_err();
    assert_eq!(
        (error.problem(), error.offset()),
        (&ReadProblem::TooDeep(3), 3)
    );
    let error = to_json(b"[1,2,3,4]", &limits).unwrap_err();
    assert_eq!(
        error.problem(),
        &ReadProblem::TooLarge { size: 9, limit: 8 }
    );
}

#[test]
fn the_deepest_nesting_that_can_be_asked_for_fits_the_stack() {
    let limits = ReadLimits {
        depth: usize::MAX,
        ..ReadLimits::default()
    };
    let deep = "{a:[".repeat(1_000_000);
    let error = to_json(deep.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.problem(), &ReadProblem::TooDeep(MAX_DEPTH));
}

#[test]
fn decodes_keys() {
    let text = |raw| Text {
        raw,
        at: 0,
        escaped: true,
    };
    assert_eq!(text(r"a\u0040\\\ud83d\ude00").decode().unwrap(), "a@\\😀");
    assert_eq!(
        text(r"\ud83d").decode().unwrap_err().problem,
        ReadProblem::Surrogate
    );
}

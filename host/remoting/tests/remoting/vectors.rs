//! Bytes written by hand, and headers as other peers write them.

use locum_remoting::{Command, EncodeError, HeaderForm, Language, encode, response};

use crate::{decode, decode_one, frame};

fn command() -> Command {
    Command {
        code: 17,
        language: Language(12),
        version: 513,
        opaque: -2,
        flag: 1,
        remark: Some("é".to_owned()),
        body: b"ab".as_slice().into(),
        ..Command::default()
    }
    .with_ext("k", "v")
}

#[test]
fn json_by_hand() {
    let header = r#"{"code":17,"extFields":{"k":"v"},"flag":1,"language":"RUST","opaque":-2,"remark":"é","serializeTypeCurrentRPC":"JSON","version":513}"#;
    let bytes = [
        b"\x00\x00\x00\x8b\x00\x00\x00\x85".as_slice(),
        header.as_bytes(),
        b"ab",
    ]
    .concat();
    assert_eq!(encode(&command(), HeaderForm::Json).unwrap(), bytes);
    assert_eq!(decode_one(&bytes).command, command());
}

#[test]
fn binary_by_hand() {
    let bytes = b"\x00\x00\x00\x25\x01\x00\x00\x1f\
        \x00\x11\x0c\x02\x01\xff\xff\xff\xfe\x00\x00\x00\x01\
        \x00\x00\x00\x02\xc3\xa9\
        \x00\x00\x00\x08\x00\x01k\x00\x00\x00\x01v\
        ab";
    assert_eq!(
        encode(&command(), HeaderForm::Binary).unwrap(),
        bytes.as_slice()
    );
    let frame = decode_one(bytes);
    assert_eq!((frame.command, frame.form), (command(), HeaderForm::Binary));
}

fn read_json(header: &str) -> Command {
    decode_one(&frame(0, header.as_bytes(), b"")).command
}

#[test]
fn absent_null_and_empty_fields_are_the_same() {
    let expected = Command {
        code: 3,
        opaque: 5,
        flag: 1,
        ..Command::default()
    };
    for fields in [
        "",
        r#""extFields":null,"#,
        r#""extFields":{},"#,
        r#""extFields":{"a":null},"#,
    ] {
        assert_eq!(
            read_json(&format!(r#"{{"code":3,{fields}"flag":1,"opaque":5}}"#)),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn only_code_and_opaque_are_needed() {
    let least = Command {
        code: 21,
        opaque: 5,
        ..Command::default()
    };
    assert_eq!(read_json(r#"{"opaque":5,"code":21}"#), least);
    let nulls =
        r#"{"code":21,"flag":null,"language":null,"opaque":5,"remark":null,"version":null}"#;
    assert_eq!(read_json(nulls), least);
    for lacking in [
        r#"{"code":0}"#,
        r#"{"opaque":0}"#,
        "{}",
        "null",
        "[]",
        "",
        "{\"code\":0,\"opaque\":0}x",
    ] {
        let error = decode(&frame(0, lacking.as_bytes(), b"")).unwrap_err();
        assert!(
            error.to_string().contains("header cannot be read"),
            "{lacking}: {error}"
        );
    }
}

#[test]
fn unknown_members_and_languages_are_ignored() {
    let header = r#" { "suspended":{"a":[1,{}]}, "code":21, "opaque":5, "language":"COBOL", "serializeTypeCurrentRPC":7 } "#;
    assert_eq!(
        read_json(header),
        Command {
            code: 21,
            opaque: 5,
            language: Language::OTHER,
            ..Command::default()
        }
    );
}

#[test]
fn field_values_that_are_not_strings_are_taken_as_text() {
    let header = r#"{"code":0,"opaque":1,"extFields":{"n":9007199254740993,"f":1.50,"b":true,"o":{"x": 1},"s":"\u00e9\n"}}"#;
    let fields = read_json(header).ext_fields;
    let expected = [
        ("b", "true"),
        ("f", "1.50"),
        ("n", "9007199254740993"),
        ("o", r#"{"x": 1}"#),
        ("s", "é\n"),
    ];
    assert_eq!(
        fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn an_empty_remark_is_none_in_the_binary_form() {
    let empty = Command {
        remark: Some(String::new()),
        ..Command::request(21)
    };
    assert_eq!(
        decode_one(&encode(&empty, HeaderForm::Binary).unwrap())
            .command
            .remark,
        None
    );
    assert_eq!(
        decode_one(&encode(&empty, HeaderForm::Json).unwrap())
            .command
            .remark,
        Some(String::new())
    );
}

#[test]
fn codes_beyond_16_bits_need_json() {
    let pop = Command::request(200_050);
    let error = encode(&pop, HeaderForm::Binary).unwrap_err();
    assert!(
        matches!(
            error,
            EncodeError::Number {
                field: "code",
                value: 200_050
            }
        ),
        "{error}"
    );
    assert_eq!(
        decode_one(&encode(&pop, HeaderForm::Json).unwrap()).command,
        pop
    );
}

#[test]
fn names_of_fields_beyond_15_bits_need_json() {
    let long = Command::request(21).with_ext("k".repeat(40_000), "v");
    let error = encode(&long, HeaderForm::Binary).unwrap_err();
    assert!(
        matches!(error, EncodeError::TooLong { length: 40_000, .. }),
        "{error}"
    );
    assert_eq!(
        decode_one(&encode(&long, HeaderForm::Json).unwrap()).command,
        long
    );
}

#[test]
fn replies_and_flags() {
    let request = Command {
        opaque: 9,
        ..Command::request(402)
    };
    let reply = request
        .reply(response::REQUEST_CODE_NOT_SUPPORTED)
        .with_remark("no")
        .with_body("b");
    assert!(!request.is_response() && reply.is_response());
    assert_eq!(
        (
            reply.opaque,
            reply.code,
            reply.remark.as_deref(),
            &reply.body[..]
        ),
        (9, 3, Some("no"), &b"b"[..])
    );
    assert!(
        Command {
            flag: 2,
            ..request.clone()
        }
        .is_oneway()
            && !request.is_oneway()
    );
    assert_eq!(response::name(3), Some("REQUEST_CODE_NOT_SUPPORTED"));
    assert_eq!(
        locum_remoting::code::name(43),
        Some("GET_ALL_CONSUMER_OFFSET")
    );
    assert_eq!(locum_remoting::code::name(44), None);
}

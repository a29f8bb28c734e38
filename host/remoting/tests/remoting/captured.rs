//! Frames of real brokers, requests and replies, in both forms. Each file's name starts with the release.

use std::fs;
use std::path::PathBuf;

use locum_remoting::{Command, Frame, HeaderForm, Language, code, encode, response};

use crate::decode_one;

const VERSIONS: [(&str, i32); 5] = [
    ("4.9.7", 407),
    ("5.1.4", 441),
    ("5.3.3", 479),
    ("5.4.0", 493),
    ("5.5.0", 513),
];

const TABLES: [(&str, i32); 6] = [
    ("21-topic", code::GET_ALL_TOPIC_CONFIG),
    ("43-offset", code::GET_ALL_CONSUMER_OFFSET),
    ("45-delay", code::GET_ALL_DELAY_OFFSET),
    ("201-subgroup", code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
    ("402-reqmode", code::GET_ALL_MESSAGE_REQUEST_MODE),
    ("106-cluster", code::GET_BROKER_CLUSTER_INFO),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The frames of one exchange: request and reply.
fn exchange(name: &str) -> (Frame, Frame) {
    (
        decode_one(&read(&format!("{name}.req.bin"))),
        decode_one(&read(&format!("{name}.resp.bin"))),
    )
}

/// The raw header and body of a frame, cut by its words.
fn parts(raw: &[u8]) -> (&[u8], &[u8]) {
    let header = usize::from(raw[6]) << 8 | usize::from(raw[7]);
    raw[8..].split_at(header)
}

fn without_empty_fields(header: &[u8]) -> String {
    String::from_utf8_lossy(header).replace("\"extFields\":{},", "")
}

#[test]
fn every_table_of_every_version() {
    for (version, ordinal) in VERSIONS {
        for (table, code) in TABLES {
            let name = format!("{version}-seeded-{table}");
            let (request, reply) = exchange(&name);
            assert_eq!(
                request.command,
                Command {
                    opaque: request.command.opaque,
                    ..Command::request(code)
                },
                "{name}"
            );
            assert!(
                !request.command.is_response() && reply.command.is_response(),
                "{name}"
            );
            assert_eq!(reply.command.opaque, request.command.opaque, "{name}");
            assert_eq!(reply.command.language, Language::JAVA, "{name}");
            assert_eq!(reply.command.version, ordinal, "{name}");
            assert_eq!(
                (request.form, reply.form),
                (HeaderForm::Json, HeaderForm::Json),
                "{name}"
            );
            let served = !(version == "4.9.7" && table == "402-reqmode");
            let expected = if served {
                response::SUCCESS
            } else {
                response::REQUEST_CODE_NOT_SUPPORTED
            };
            assert_eq!(reply.command.code, expected, "{name}");
            assert_eq!(reply.command.body.is_empty(), !served, "{name}");
        }
    }
}

#[test]
fn totals_come_from_5_4_on() {
    for (version, ordinal) in VERSIONS {
        let (_, topics) = exchange(&format!("{version}-seeded-21-topic"));
        let (_, groups) = exchange(&format!("{version}-seeded-201-subgroup"));
        assert_eq!(
            topics.command.ext_fields.contains_key("totalTopicNum"),
            ordinal >= 493,
            "{version}"
        );
        assert_eq!(
            groups.command.ext_fields.contains_key("totalGroupNum"),
            ordinal >= 493,
            "{version}"
        );
    }
}

#[test]
fn the_reply_says_its_own_form() {
    for (version, ordinal) in VERSIONS {
        let (request, reply) = exchange(&format!("{version}-binary-21-topic"));
        assert_eq!(request.form, HeaderForm::Binary, "{version}");
        // 4.9 answers in the request's form, 5.x in the server's own.
        let expected = if ordinal == 407 {
            HeaderForm::Binary
        } else {
            HeaderForm::Json
        };
        assert_eq!(reply.form, expected, "{version}");
        assert_eq!(reply.command.opaque, request.command.opaque, "{version}");
        assert!(
            reply.command.body.starts_with(b"{\"dataVersion\":{"),
            "{version}"
        );
    }
    for name in [
        "5.3.3-binary-server-21-topic-jsonreq",
        "5.5.0-binary-server-21-topic-jsonreq",
    ] {
        let (request, reply) = exchange(name);
        assert_eq!(
            (request.form, reply.form),
            (HeaderForm::Json, HeaderForm::Binary),
            "{name}"
        );
    }
}

#[test]
fn errors_carry_their_remark() {
    let remark = |name: &str| {
        let (_, reply) = exchange(name);
        (reply.command.code, reply.command.remark.unwrap_or_default())
    };
    let unsupported = (
        response::REQUEST_CODE_NOT_SUPPORTED,
        " request type 9999 not supported".to_owned(),
    );
    assert_eq!(remark("4.9.7-binary-9999-unsupported"), unsupported);
    assert_eq!(remark("5.5.0-fresh-9999-unsupported"), unsupported);
    assert_eq!(
        remark("5.5.0-binary-server-9999-unsupported-jsonreq"),
        unsupported
    );
    assert_eq!(
        remark("5.4.0-acl-21-unsigned"),
        (
            response::NO_PERMISSION,
            "username cannot be null.".to_owned()
        )
    );
    let (code, text) = remark("4.9.7-acl-21-unsigned");
    assert_eq!(code, response::SYSTEM_ERROR);
    assert!(
        text.starts_with("org.apache.rocketmq.acl.common.AclException: No accessKey is configured"),
        "{text}"
    );
}

#[test]
fn requests_carry_their_fields() {
    let (paged, reply) = exchange("5.4.0-paged-21-topic-p1");
    assert_eq!(paged.command.ext_fields["topicSeq"], "0");
    assert_eq!(paged.command.ext_fields["dataVersion"], "");
    assert_eq!(reply.command.ext_fields["totalTopicNum"], "23");
    for name in ["4.9.7-acl-21-signed-binary", "5.4.0-acl-21-signed-binary"] {
        let (signed, reply) = exchange(name);
        assert_eq!(signed.form, HeaderForm::Binary, "{name}");
        assert_eq!(signed.command.ext_fields["AccessKey"], "rocketmq", "{name}");
        assert_eq!(
            signed.command.ext_fields["Signature"], "wmnVRiuXwvgUxJ6oySLyc1qu7Z4=",
            "{name}"
        );
        assert_eq!(reply.command.code, response::SUCCESS, "{name}");
    }
}

/// What we write is what Java writes, byte for byte. Two differences remain: an empty `extFields` object is left out,
/// and the paging requests of the captures have their members in another order.
#[test]
fn the_same_bytes_again() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).expect("the fixtures") {
        let path = entry.expect("a fixture").path();
        let raw = fs::read(&path).expect("a fixture's bytes");
        let frame = decode_one(&raw);
        let again = encode(&frame.command, frame.form).expect("an encodable command");
        let (header, body) = parts(&raw);
        let (header_again, body_again) = parts(&again);
        assert_eq!(body_again, body, "{}", path.display());
        assert_eq!(frame.command.body, body, "{}", path.display());
        if frame.form == HeaderForm::Binary {
            assert_eq!(header_again, header, "{}", path.display());
        } else if frame.command.is_response() || frame.command.ext_fields.is_empty() {
            assert_eq!(
                without_empty_fields(header_again),
                without_empty_fields(header),
                "{}",
                path.display()
            );
        } else {
            assert_eq!(decode_one(&again), frame, "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 100, "only {seen} fixtures");
}

#[test]
fn our_request_is_the_captured_one() {
    let captured = read("5.5.0-seeded-21-topic.req.bin");
    let request = Command {
        opaque: 7051,
        ..Command::request(code::GET_ALL_TOPIC_CONFIG)
    };
    assert_eq!(encode(&request, HeaderForm::Json).unwrap(), captured);
    let captured = read("4.9.7-binary-21-topic.req.bin");
    let request = Command {
        opaque: 7058,
        ..request
    };
    assert_eq!(encode(&request, HeaderForm::Binary).unwrap(), captured);
}

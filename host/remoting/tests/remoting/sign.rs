//! Signatures against requests that real brokers took, and against Java's own code.

use locum_remoting::{Command, Credentials, HeaderForm, Secret, code, encode};

use crate::decode_one;

/// What the captured brokers were set up with.
fn captured() -> Credentials {
    Credentials::new("rocketmq", Secret::new("12345678"))
}

fn request(fields: &[(&str, &str)]) -> Command {
    let request = Command::request(code::GET_ALL_TOPIC_CONFIG);
    fields.iter().fold(request, |request, (name, value)| {
        request.with_ext(*name, *value)
    })
}

#[test]
fn requests_that_brokers_of_both_generations_took_are_signed_the_same() {
    let fixtures = [
        include_bytes!("../fixtures/4.9.7-acl-21-signed-binary.req.bin").as_slice(),
        include_bytes!("../fixtures/4.9.7-acl-21-signed-paged.req.bin"),
        include_bytes!("../fixtures/5.4.0-acl-21-signed-binary.req.bin"),
        include_bytes!("../fixtures/5.4.0-acl-21-signed-paged.req.bin"),
    ];
    for bytes in fixtures {
        let taken = decode_one(bytes).command;
        let mut plain = taken.clone();
        plain.ext_fields.remove("AccessKey");
        plain.ext_fields.remove("Signature");
        assert_ne!(plain, taken);
        assert!(captured().sign(plain) == taken, "{taken:?}");
    }
}

/// Printed by `AclUtils.calSignature(AclUtils.combineRequestContent(command, fields), secret)` of rocketmq-acl 4.9.7.
#[test]
fn signatures_are_those_of_java() {
    let foreign = Credentials::new("用户", Secret::new("sécret 密钥"));
    let long = Credentials::new("rocketmq", Secret::new("k".repeat(100)));
    let token = captured().with_security_token(Secret::new("tok"));
    let pages = [("topicSeq", "0"), ("maxTopicNum", "3"), ("dataVersion", "")];
    let around = [("a", "1"), ("AccessKez", "3"), ("B", "2")];
    let cases = [
        (captured(), request(&[]), "wmnVRiuXwvgUxJ6oySLyc1qu7Z4="),
        (token, request(&[]), "gCX4hY/9VbKElMlySHLfYwUUK+U="),
        (captured(), request(&pages), "+Dp1ecpGzWs2bCaMYT2EoNF3Qwg="),
        (
            captured(),
            request(&[]).with_body(r#"{"groupName":"G"}"#),
            "daB37goZIqmOeZt6jNvZyWrqob0=",
        ),
        (
            foreign,
            request(&[("topic", "T_主题"), ("a", "1")]).with_body(&[0, 0xff, 0x80][..]),
            "ZjyIOA5Bgksvh3Fit+8g2mks7/M=",
        ),
        (
            long,
            request(&around).with_body("b"),
            "yGFlBhxv3Lj0uYPJmIRKbogup6g=",
        ),
    ];
    for (credentials, request, expected) in cases {
        let signed = credentials.sign(request);
        assert_eq!(signed.ext_fields["Signature"], expected, "{signed:?}");
    }
}

#[test]
fn opaque_and_form_are_not_signed_and_a_second_signature_takes_the_place_of_the_first() {
    let mut signed = captured().sign(request(&[]));
    let once = signed.ext_fields.clone();
    signed.opaque = 4711;
    for form in [HeaderForm::Json, HeaderForm::Binary] {
        let bytes = encode(&signed, form).expect("a frame");
        assert_eq!(decode_one(&bytes).command.ext_fields, once, "{form:?}");
    }
    assert_eq!(captured().sign(signed).ext_fields, once);
}

#[test]
fn nothing_that_is_printed_has_a_secret() {
    let credentials = Credentials::new("the-user", Secret::new("the-secret"))
        .with_security_token(Secret::new("the-token"));
    let signed = credentials.sign(request(&[("topic", "T")]));
    let signature = signed.ext_fields["Signature"].clone();
    let printed = format!("{credentials:?} {credentials:#?} {signed:?} {signed:#?}");
    for secret in ["the-secret", "the-token", &signature] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
    for plain in ["the-user", "\"topic\": \"T\"", "***"] {
        assert!(printed.contains(plain), "no {plain} in {printed}");
    }

    let remark = format!("the-user, the-token, expected the-secret and {signature}, the-token");
    assert_eq!(
        credentials.conceal(remark, &signed),
        "the-user, ***, expected *** and ***, ***"
    );
    let empty = Credentials::new("", Secret::new("")).with_security_token(Secret::new(""));
    let signed = empty.sign(request(&[]));
    assert_eq!(empty.conceal("no".to_owned(), &signed), "no");
}

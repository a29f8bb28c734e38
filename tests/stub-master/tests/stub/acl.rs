//! Signatures are asked for as real masters ask for them.

use stub_master::{Dialect, Stub};

use crate::common::{Client, Reply, start};

/// Of `rocketmq` with `12345678`, as real masters of both generations took it.
const SIGNATURE: &str = "wmnVRiuXwvgUxJ6oySLyc1qu7Z4=";

async fn ask(stub: &Stub, code: i32, fields: &[(&str, &str)]) -> Reply {
    let mut client = Client::connect(stub).await;
    client.ask(code, 1, fields).await;
    client.reply().await
}

async fn refused(stub: &Stub, code: i32, fields: &[(&str, &str)]) -> (i64, String) {
    let header = ask(stub, code, fields).await.header_json();
    let remark = header["remark"].as_str().unwrap_or_default();
    (header["code"].as_i64().unwrap(), remark.to_owned())
}

#[tokio::test]
async fn each_generation_refuses_with_its_own_words() {
    let says = |what: &str, line: u32| {
        let remark = format!(
            "org.apache.rocketmq.acl.common.AclException: {what}, \
             org.apache.rocketmq.acl.plain.PlainPermissionManager.validate(PlainPermissionManager.java:{line})"
        );
        (1, remark)
    };
    let old = [
        says("No accessKey is configured", 663),
        says("No acl config for nobody1", 667),
        says("Check signature failed for accessKey=rocketmq", 683),
    ];
    let new = [
        "username cannot be null.",
        "User:nobody1 is not found.",
        "check signature failed.",
    ];
    let new = new.map(|remark| (16, remark.to_owned()));
    for (dialect, remarks) in [(Dialect::V4_9, old), (Dialect::V5_5, new)] {
        let stub = start(dialect).await;
        stub.demand_signatures([("rocketmq", "12345678")]);
        let user = ("AccessKey", "rocketmq");
        let cases: [&[(&str, &str)]; 5] = [
            &[],
            &[("Signature", SIGNATURE)],
            &[("AccessKey", "nobody1"), ("Signature", SIGNATURE)],
            &[user],
            &[user, ("Signature", SIGNATURE), ("topicSeq", "0")],
        ];
        for (fields, expected) in cases.into_iter().zip([0, 0, 1, 2, 2]) {
            let told = refused(&stub, 21, fields).await;
            assert_eq!(told, remarks[expected], "{dialect}: {fields:?}");
        }
        let unsupported = refused(&stub, 9999, &[]).await;
        assert_eq!(unsupported, remarks[0], "asked before anything else");
    }
}

#[tokio::test]
async fn who_signs_is_answered_until_the_accounts_change() {
    let stub = start(Dialect::V5_5).await;
    stub.demand_signatures([("other", "secret"), ("rocketmq", "12345678")]);
    let signed = [("AccessKey", "rocketmq"), ("Signature", SIGNATURE)];
    assert_eq!(refused(&stub, 43, &signed).await.0, 0);
    let with_token = [
        signed[0],
        ("SecurityToken", "tok"),
        ("Signature", "gCX4hY/9VbKElMlySHLfYwUUK+U="),
    ];
    assert_eq!(refused(&stub, 43, &with_token).await.0, 0);
    stub.demand_signatures([("rocketmq", "87654321")]);
    assert_eq!(refused(&stub, 43, &signed).await.0, 16);
    stub.demand_nothing();
    assert_eq!(refused(&stub, 43, &[]).await.0, 0);
}

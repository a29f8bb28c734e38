//! Masters that want signatures; what an operator sees of it is in `cli/keys.rs`.

use std::fs;

use locum::status::{ErrorKind, TickResult};
use locum::{AclConfig, ReplicaConfig, Slot};
use stub_master::{Dialect, Stub};

use crate::support::{Pass, Stage, routine};

const USER: &str = "locum-reader";
const SECRET: &str = "the-secret-key-of-the-test";
const TOKEN: &str = "the-security-token-of-the-test";

async fn guarded(dialect: Dialect) -> Stub {
    let stub = Stub::start(dialect).await.unwrap();
    stub.demand_signatures([(USER, SECRET)]);
    stub
}

fn signing(stage: &Stage, stub: &Stub) -> ReplicaConfig {
    let file = |name| stage.path("keys").join(name);
    stage.write_key("access", USER);
    stage.write_key("secret", SECRET);
    ReplicaConfig {
        acl: Some(AclConfig {
            access_key_file: file("access"),
            secret_key_file: file("secret"),
            security_token_file: None,
        }),
        ..stage.replica(stub)
    }
}

/// apache/rocketmq#3115: with access control on, a slave fails.
#[tokio::test]
async fn report_31_every_request_is_signed_if_there_are_keys() {
    for dialect in Dialect::ALL {
        let (stage, stub) = (Stage::new(), guarded(dialect).await);
        let host = stage.quiet_host(stage.replica(&stub)).await;
        let unsigned = Pass::of(&host).await;
        for slot in Slot::ALL {
            let error = unsigned.error(slot);
            let remark = match dialect {
                Dialect::V4_9 => "No accessKey is configured",
                Dialect::V5_0 | Dialect::V5_5 => "code 16: username cannot be null; ",
            };
            assert!(error.contains(remark), "{error}");
            assert!(error.contains("name the files"), "{error}");
            let kind = routine(&host, slot).last_tick.unwrap().error_kind;
            assert_eq!(kind, Some(ErrorKind::Refused));
        }
        host.shutdown().await;

        let host = stage.quiet_host(signing(&stage, &stub)).await;
        Pass::of(&host).await.expect_all(TickResult::Updated);
        for seen in stub.recorder().requests().iter().rev().take(4) {
            assert_eq!(seen.ext_fields["AccessKey"], USER);
            assert_eq!(seen.ext_fields.get("SecurityToken"), None);
        }
    }
}

#[tokio::test]
async fn report_31_a_security_token_is_sent_and_signed() {
    let (stage, stub) = (Stage::new(), guarded(Dialect::V5_5).await);
    let mut replica = signing(&stage, &stub);
    let token = stage.path("keys").join("token");
    stage.write_key("token", TOKEN);
    replica.acl.as_mut().unwrap().security_token_file = Some(token);
    let host = stage.quiet_host(replica).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    for seen in stub.recorder().requests() {
        assert_eq!(seen.ext_fields["SecurityToken"], TOKEN);
    }
}

#[tokio::test]
async fn report_31_keys_are_exchanged_by_exchanging_the_files() {
    let (stage, stub) = (Stage::new(), guarded(Dialect::V5_5).await);
    let host = stage.quiet_host(signing(&stage, &stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);

    // Of the same length, in the same file, in the same moment: nothing that a look at the file would show.
    let other = SECRET.replace("secret", "SECRET");
    stub.demand_signatures([(USER, other.as_str())]);
    let error = Pass::of(&host).await.error(Slot::Topic);
    assert!(error.contains("check signature failed; "), "{error}");
    assert!(error.contains("`secret-key-file` does not hold"), "{error}");
    stage.write_key("secret", &other);
    Pass::of(&host).await.expect_all(TickResult::Unchanged);

    stub.demand_signatures([("another", other.as_str())]);
    let error = Pass::of(&host).await.error(Slot::Topic);
    assert!(
        error.contains("User:locum-reader is not found; "),
        "{error}"
    );
    assert!(error.contains("no user of the name in"), "{error}");
    stage.write_key("fresh", "another");
    let file = |name| stage.path("keys").join(name);
    fs::rename(file("fresh"), file("access")).unwrap();
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
    assert_eq!(stub.recorder().connections(), 1, "all on one connection");
}

#[tokio::test]
async fn report_31_a_key_that_is_missing_is_an_error_that_names_the_file_and_nothing_is_sent() {
    let (stage, stub) = (Stage::new(), guarded(Dialect::V5_5).await);
    let host = stage.quiet_host(signing(&stage, &stub)).await;
    let secret = stage.path("keys").join("secret");
    fs::remove_file(&secret).unwrap();
    let pass = Pass::of(&host).await;
    for slot in Slot::ALL {
        let error = pass.error(slot);
        let names = format!("the file {} (`secret-key-file`)", secret.display());
        assert!(error.contains(&names), "{error}");
        assert!(error.contains("No such file"), "{error}");
        let kind = routine(&host, slot).last_tick.unwrap().error_kind;
        assert_eq!(kind, Some(ErrorKind::Config));
    }
    assert_eq!(stub.recorder().requests(), []);
    stage.write_key("secret", SECRET);
    Pass::of(&host).await.expect_all(TickResult::Updated);
}

//! Masters that cannot be asked, or answer something else.

use locum::status::{ErrorKind, TickResult};
use locum::{ReplicaConfig, Slot};
use stub_master::{Dialect, Fault, Stub, Times};

use crate::support::{Pass, Stage, routine};

/// apache/rocketmq#8086: HTTP, TLS and scanner bytes read as a length, and allocated.
#[tokio::test]
async fn report_32_bytes_that_are_no_frame_are_named_and_the_next_tick_connects_anew() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let before = stage.prints();
    let cases: [(&[u8], &str); 6] = [
        (&[0x15, 3, 3, 0, 2, 2, 40], "TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP"),
        (&[0, 0, 0, 9, 0, 0, 0, 200, 1, 2, 3, 4, 5], "header"),
        (&[0, 0, 0, 0, 0, 0, 0, 0], "length"),
        (&[0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 0], "length"),
    ];
    for (bytes, hint) in cases {
        stub.script(21, Fault::raw(bytes.to_vec()), Times::Once);
        let connections = stub.recorder().connections();
        let error = Pass::of(&host).await.error(Slot::Topic);
        assert!(error.contains(hint), "{hint}: {error}");
        assert_eq!(stage.prints(), before, "{hint}");
        Pass::of(&host).await.expect_all(TickResult::Unchanged);
        assert!(
            stub.recorder().connections() > connections,
            "the spoilt connection was given up"
        );
    }
}

/// apache/rocketmq#2819: pulls hang on the VIP port, listen - 2, which a firewall closes.
#[tokio::test]
async fn report_40_all_four_ask_the_port_that_was_named_and_no_other() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    assert_eq!(stub.recorder().connections(), 1, "one for all four");

    let stage = Stage::new();
    let replica = ReplicaConfig {
        master: Some("127.0.0.1:1".to_owned()),
        ..ReplicaConfig::new(stage.directory())
    };
    let host = stage.quiet_host(replica).await;
    let pass = Pass::of(&host).await;
    for slot in Slot::ALL {
        assert!(
            pass.error(slot).contains("at 127.0.0.1:1"),
            "{}",
            pass.error(slot)
        );
        let kind = routine(&host, slot).last_tick.unwrap().error_kind;
        assert_eq!(kind, Some(ErrorKind::Unreachable));
    }
}

/// "Nothing to send": a system error for an empty table is taken as a fault of the connection, or as "delete all".
#[tokio::test]
async fn report_84_a_master_with_nothing_in_a_table_fails_the_tick_and_the_files_stay() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let remarks = [
        (21, Slot::Topic, "No topic in this broker"),
        (43, Slot::Offset, "No consumer offset in this broker"),
        (45, Slot::Delay, "No delay offset in this broker"),
        (201, Slot::Subgroup, "No subscription group in this broker"),
    ];
    let nothing = |code, remark: &str| {
        let refusal = Fault::error(1, &format!("{remark}, client: 127.0.0.1:1"));
        stub.script(code, refusal, Times::Once);
    };
    let host = stage.quiet_host(stage.replica(&stub)).await;
    remarks
        .iter()
        .for_each(|(code, _, remark)| nothing(*code, remark));
    let pass = Pass::of(&host).await;
    for (_, slot, remark) in remarks {
        let error = pass.error(slot);
        assert!(
            error.contains("has nothing") && error.contains(remark),
            "{error}"
        );
    }
    assert_eq!(
        stage.names(),
        [""; 0],
        "without earlier data there is no file"
    );

    Pass::of(&host).await.expect_all(TickResult::Updated);
    let before = stage.prints();
    remarks
        .iter()
        .for_each(|(code, _, remark)| nothing(*code, remark));
    Pass::of(&host).await.expect_all(TickResult::Failed);
    assert_eq!(stage.prints(), before, "earlier data stays");
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
}

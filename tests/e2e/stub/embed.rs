//! `host/examples/embed.rs`, which is the library as an embedder uses it.

#[path = "../../../host/examples/embed.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
mod example;

use stub_master::{Dialect, Stub};

use crate::support::{Stage, soon};

#[tokio::test(flavor = "multi_thread")]
async fn the_example_copies_a_master_and_tells_what_it_did() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let (plugins, master, folder) = (stage.plugins(), stub.address(), stage.path(""));
    let copy = example::copy(&plugins, &master, &folder);
    let mut told = soon(copy).await.unwrap();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "consumer-offsets: 0 entries",
            "delay-offsets: 0 entries",
            "subscription-groups: 8 entries",
            "topics: 15 entries",
        ]
    );
    let standin = stage.path("broker-a/config");
    let report = locum::store::inspect(&locum::store::RealDisk, &standin).unwrap();
    assert!(report.boot_ready);
}

//! Components for another interface, put in the place of one that runs.

use std::time::Duration;

use components::broken;
use locum::status::TickResult;
use locum::{ReplicaConfig, Slot};
use stub_master::{Dialect, Stub};

use crate::support::{Pass, Stage, Watched};

/// Puts each in the place of the running topic policy: it is refused for the reason, and the old one goes on.
async fn refuses(cases: Vec<(Vec<u8>, &str)>) {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    let running = watched.routine(Slot::Topic).policy;
    for (n, (component, reason)) in cases.into_iter().enumerate() {
        stage.replace(Slot::Topic, &component);
        let told = watched.refused(Slot::Topic).await;
        assert!(told.starts_with("topic.wasm is refused: "), "{told}");
        assert!(told.contains(reason), "{reason}: {told}");
        let routine = watched.routine(Slot::Topic);
        let known = routine.last_refusal.map(|refusal| refusal.reason);
        assert_eq!(known, Some(told), "status says so");
        assert_eq!(routine.policy, running);
        stub.tables().set_topic(format!("T{n}").as_str());
        let pass = Pass::of(&watched.host).await;
        assert_eq!(
            pass.result(Slot::Topic),
            Some(TickResult::Updated),
            "the old one goes on"
        );
    }
}

/// swc-project/swc#4333, wasmCloud#4954: an enum case more, and a linker text that names neither it nor the version.
#[tokio::test]
async fn report_57_a_component_for_another_interface_is_refused_with_the_first_difference() {
    let topic = policies::all().bytes("topic");
    refuses(vec![
        (broken::changed_enum(), "expected enum of 5 names"),
        (broken::changed_function(), "fetch"),
        (broken::newer_function(), "clear"),
        (
            broken::missing_export(),
            "it does not export locum:sync/policy",
        ),
        (broken::changed_export(), "sync"),
        (broken::other_version(&topic), "locum:sync/"),
    ])
    .await;
}

/// bytecodealliance/wasmtime#10663: unknown imports turned into traps load well and die at the first call.
#[tokio::test]
async fn report_59_an_import_that_nobody_serves_is_refused_at_load() {
    let import = "it imports wasi:cli/environment@0.2.6, and a policy gets nothing but locum:sync";
    refuses(vec![(broken::extra_import(), import)]).await;
}

//! Masters that answer signed requests only, in both generations of access control.

use std::fs::{self, OpenOptions};
use std::io::Write;

use locum::status::RoutineState;
use real_master::accounts::READER;
use real_master::{Broker, Version, seed, skipped};

use crate::room::room_for;
use crate::stand_in::{StandIn, text};
use crate::tables::Tables;

/// What a guarded master of a generation refuses with.
struct Refusals {
    unsigned: &'static str,
    wrong_secret: &'static str,
    unknown_user: &'static str,
}

const OF_4: Refusals = Refusals {
    unsigned: "refused with code 1: org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
    wrong_secret: "AclException: Check signature failed for accessKey=locum-reader",
    unknown_user: "AclException: No acl config for nobody1",
};

const OF_5: Refusals = Refusals {
    unsigned: "refused with code 16: username cannot be null; ",
    wrong_secret: "refused with code 16: check signature failed; ",
    unknown_user: "refused with code 16: User:nobody1 is not found; ",
};

fn is_copied_by_who_signs(version: Version, refusals: &Refusals) {
    let _room = room_for(1);
    let master = Broker::builder(version).guarded().start().unwrap();
    seed(&master).unwrap();
    master.create_reader().unwrap();
    let stand_in = StandIn::of(&master);
    let config = stand_in.config();
    let sync = |code| {
        stand_in
            .locum(&["sync", "--config", text(&config)])
            .with_code(code)
    };
    let refuses = |remark: &str, advice: &str| {
        let told = sync(77);
        for row in told.lines().skip(1) {
            assert!(row.contains(remark) && row.contains(advice), "{row}");
        }
    };
    refuses(refusals.unsigned, "name the files with an access key");

    with_keys(&stand_in);
    write_key(&stand_in, "secret-key", "not-that-of-the-reader");
    refuses(refusals.wrong_secret, "`secret-key-file` does not hold");
    write_key(&stand_in, "access-key", "nobody1");
    refuses(
        refusals.unknown_user,
        "no user of the name in `access-key-file`",
    );

    write_key(&stand_in, "access-key", READER.access_key);
    write_key(&stand_in, "secret-key", READER.secret_key);
    sync(0);
    stand_in.tables().assert_are(&Tables::answered_by(&master));
    keys_are_exchanged_while_it_runs(&stand_in);
}

/// For the reader, who may do nothing that needs a permission: reading the tables needs none.
fn with_keys(stand_in: &StandIn) {
    let mut config = OpenOptions::new()
        .append(true)
        .open(stand_in.config())
        .unwrap();
    let acl = "[replica.broker-a.acl]\n\
               access-key-file = \"access-key\"\n\
               secret-key-file = \"secret-key\"\n\
               security-token-file = \"token\"\n";
    config.write_all(acl.as_bytes()).unwrap();
    write_key(stand_in, "access-key", READER.access_key);
    write_key(
        stand_in,
        "token",
        "a-token-that-brokers-sign-and-do-not-check",
    );
}

fn write_key(stand_in: &StandIn, name: &str, key: &str) {
    fs::write(stand_in.config().with_file_name(name), format!("{key}\n")).unwrap();
}

fn keys_are_exchanged_while_it_runs(stand_in: &StandIn) {
    let daemon = stand_in.run();
    daemon.await_fresh_tick();
    write_key(stand_in, "secret-key", "not-that-of-the-reader");
    daemon.await_state(RoutineState::Failing);
    write_key(stand_in, "secret-key", READER.secret_key);
    daemon.await_fresh_tick();
    daemon.stop();
}

#[test]
fn guarded_4_9_7_is_copied_by_who_signs() {
    if !skipped("guarded_4_9_7_is_copied_by_who_signs") {
        is_copied_by_who_signs(Version::V4_9_7, &OF_4);
    }
}

#[test]
fn guarded_5_5_0_is_copied_by_who_signs() {
    if !skipped("guarded_5_5_0_is_copied_by_who_signs") {
        is_copied_by_who_signs(Version::V5_5_0, &OF_5);
    }
}

//! What is refused at load, and in which words.

use std::collections::BTreeMap;
use std::sync::Arc;

use components::{broken, guests};
use locum::policy::{COMPONENT_BYTES, Refusal, RunError};
use locum::status::Stage;
use locum_tables::{Slot, TOPICS};

use crate::support::{chain, engine, misbehave};

fn refusal(component: &[u8]) -> Refusal {
    engine()
        .load(component)
        .err()
        .expect("the component is refused")
}

fn refused(component: &[u8]) -> String {
    chain(&refusal(component))
}

#[test]
fn the_four_policies_load_and_say_what_they_are() {
    let expected = [
        ("topic", vec!["topics"], Slot::Topic),
        ("offset", vec!["consumer-offsets"], Slot::Offset),
        ("delay", vec!["delay-offsets"], Slot::Delay),
        ("subgroup", vec!["subscription-groups"], Slot::Subgroup),
    ];
    for (name, writes, slot) in expected {
        let bytes = policies::all().bytes(name);
        assert!(bytes.len() < 64_000, "{name}: {} bytes", bytes.len());
        for import in policies::imports(name, &bytes).unwrap() {
            assert!(import.starts_with("locum:sync/"), "{name} imports {import}");
        }
        let policy = engine().load(bytes).unwrap();
        assert_eq!(policy.description().name, name);
        let tables: Vec<_> = policy
            .description()
            .writes
            .iter()
            .map(|kind| kind.name)
            .collect();
        assert_eq!(tables, writes);
        policy.settle(slot, &BTreeMap::new()).unwrap();
    }
}

#[test]
fn a_policy_has_the_hash_of_its_file() {
    let policy = engine().load(guests().bytes("marker-v1")).unwrap();
    let other = engine().load(guests().bytes("marker-v2")).unwrap();
    assert_eq!(policy.sha256().len(), 64);
    assert_ne!(policy.sha256(), other.sha256());
}

#[test]
fn files_that_are_no_component_are_called_by_their_kind() {
    assert_eq!(
        refused(b""),
        "the file is empty; copy it again, under another name first, then rename it"
    );
    assert_eq!(
        refused(&broken::text()),
        "the file is text, not a component; build the policy with `locum plugin build`"
    );
    assert_eq!(
        refused(b"(component)"),
        "the file is WebAssembly text, not a component; build the policy with `locum plugin build`"
    );
    assert_eq!(
        refused(&broken::core_module()),
        "the file is a core WebAssembly module, not a component; build the policy with `locum plugin build`, which \
         encodes it"
    );
    assert_eq!(
        refused(b"\x7fELF\x02\x01\x01\0"),
        "the file is not a component but an ELF file (a precompiled .cwasm is not taken); put a policy component in its \
         place"
    );
    assert_eq!(
        refused(&[0xff, 0xfe, 0x00]),
        "the file is not a component but something that begins with [ff, fe, 00]; put a policy component in its place"
    );
    assert_eq!(
        refused(&vec![0; COMPONENT_BYTES + 1]),
        "the file has 67108865 bytes, over the limit of 67108864; build with opt-level s and strip debug information"
    );
}

#[test]
fn a_component_that_is_cut_off_anywhere_is_never_taken() {
    let good = guests().bytes("marker-v1");
    let half = refused(&broken::truncated(&good));
    assert!(
        half.starts_with("the component is cut off (it has "),
        "{half}"
    );
    assert!(half.contains("unexpected end-of-file"), "{half}");
    for length in (1..good.len()).step_by(61) {
        let refusal = refusal(&good[..length]);
        let fits = matches!(
            refusal,
            Refusal::Truncated { .. } | Refusal::NoPolicy { .. }
        );
        assert!(fits, "{length} bytes: {refusal:?}");
    }
}

#[test]
fn bytes_that_changed_never_take_the_host_down() {
    let good = guests().bytes("marker-v1");
    let _ = engine().load(broken::flipped(&good));
    for at in (8..good.len()).step_by(997) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        let _ = engine().load(bytes);
    }
}

#[test]
fn imports_outside_locum_sync_are_named() {
    assert_eq!(
        refused(&broken::extra_import()),
        "it imports wasi:cli/environment@0.2.6, and a policy gets nothing but locum:sync; build it with \
         `locum plugin build`, or in another language with WASI stubbed out"
    );
}

#[test]
fn another_version_of_the_interface_is_named_before_anything_else() {
    let refusal = refusal(&broken::other_version(&guests().bytes("marker-v1")));
    let Refusal::InterfaceVersion { found, served } = &refusal else {
        panic!("{refusal:?}")
    };
    assert!(
        found.starts_with("locum:sync/") && found.ends_with("@0.2.0"),
        "{found}"
    );
    assert!(served.contains("0.1.0"), "{served}");
}

#[test]
fn a_newer_patch_that_uses_nothing_new_is_taken() {
    let policy = engine()
        .load(broken::newer_patch(&guests().bytes("marker-v1")))
        .unwrap();
    assert_eq!(policy.description().name, "topic");
}

#[test]
fn the_first_difference_of_an_interface_is_named_with_both_versions() {
    let both = "its locum:sync@0.1.0 is not the interface that this host serves (locum:sync@0.1.0, and newer 0.1.x that use \
                nothing new); build it against that version (`locum plugin new NAME --update-sdk` renews its SDK): ";
    for (component, difference) in [
        (
            broken::changed_enum(),
            "expected enum of 5 names, found 6 names",
        ),
        (broken::changed_function(), "type mismatch with parameters"),
        (
            broken::newer_function(),
            "instance export `clear` has the wrong type: function implementation is missing",
        ),
        (
            broken::changed_export(),
            "it exports `sync` of `locum:sync/policy` with the wrong type: failed to convert function to given type: type \
             mismatch with results: expected `result` found `bool`",
        ),
    ] {
        let text = refused(&component);
        assert!(text.starts_with(both), "{text}");
        assert!(text.contains(difference), "{text}");
    }
}

#[test]
fn a_difference_is_named_in_a_newer_patch_too() {
    let text = refused(&broken::newer_patch(&broken::changed_export()));
    assert!(text.starts_with("its locum:sync@0.1.1 is not"), "{text}");
    assert!(text.contains("it exports `sync` of"), "{text}");
}

#[test]
fn a_component_without_the_export_is_refused() {
    assert_eq!(
        refused(&broken::missing_export()),
        "it does not export locum:sync/policy (it exports none); implement the world `routine`"
    );
}

#[test]
fn a_policy_that_cannot_say_what_it_is_is_refused() {
    let panics = refused(&guests().bytes("describe-panics"));
    assert!(panics.starts_with(
        "it cannot say what it is; mend its describe(): the policy trapped: panicked at "
    ));
    assert!(panics.ends_with("I will not say what I am"), "{panics}");

    let loops = refusal(&guests().bytes("describe-loops"));
    let Refusal::Describe(RunError::Limit { limit, value, .. }) = &loops else {
        panic!("{loops:?}")
    };
    assert_eq!((*limit, value.as_str()), ("guest-time", "2s"));

    let traps = refused(&broken::describe_traps());
    assert!(
        traps.contains("the policy trapped: wasm `unreachable` instruction executed"),
        "{traps}"
    );
}

#[test]
fn a_table_that_no_host_knows_is_refused() {
    let text = refused(&guests().bytes("foreign-table"));
    assert!(text.starts_with("it writes a table `"), "{text}");
    assert!(
        text.ends_with("; it knows topics, consumer-offsets, delay-offsets, subscription-groups"),
        "{text}"
    );
}

#[test]
fn a_refusal_tells_how_far_the_component_came() {
    let marker = guests().bytes("marker-v1");
    let mut garbled = marker.clone();
    // The code of its core module, somewhere in the middle of it.
    let code = garbled.len() / 2;
    garbled[code..code + 64].fill(0xff);
    let settle = |slot, settings: &[(&str, &str)]| misbehave().settle(slot, &given(settings));
    let cases = [
        (refusal(b""), Stage::Check),
        (refusal(&broken::text()), Stage::Check),
        (refusal(&broken::core_module()), Stage::Check),
        (refusal(&broken::truncated(&marker)), Stage::Check),
        (refusal(&broken::extra_import()), Stage::Check),
        (refusal(&broken::missing_export()), Stage::Check),
        (refusal(&broken::changed_enum()), Stage::Check),
        (refusal(&broken::other_version(&marker)), Stage::Check),
        (refusal(&garbled), Stage::Compile),
        (refusal(&broken::describe_traps()), Stage::Describe),
        (refusal(&guests().bytes("foreign-table")), Stage::Describe),
        (settle(Slot::Delay, &[]).unwrap_err(), Stage::Describe),
        (
            settle(Slot::Topic, &[("wiht", "x")]).unwrap_err(),
            Stage::Describe,
        ),
    ];
    for (refusal, stage) in cases {
        assert_eq!(refusal.stage(), stage, "{refusal:?}");
    }
}

#[test]
fn a_component_that_is_not_valid_is_refused_with_the_whole_cause() {
    let mut bytes = guests().bytes("marker-v1");
    let code = bytes.len() / 2;
    bytes[code..code + 64].fill(0xff);
    let text = refused(&bytes);
    let start = "the component cannot be compiled; build it again with a current toolchain: ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("offset"), "it says where: {text}");
}

#[test]
fn a_policy_gives_its_component_back() {
    let bytes = guests().bytes("marker-v1");
    let component: Arc<[u8]> = bytes.into();
    let policy = engine().load(Arc::clone(&component)).unwrap();
    assert!(Arc::ptr_eq(policy.component(), &component));
    assert!(!policy.from_cache());
}

fn given(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_policy_fits_its_slot_only() {
    misbehave().settle(Slot::Topic, &given(&[])).unwrap();
    let refusal = misbehave().settle(Slot::Offset, &given(&[])).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it writes `topics`, which the slot `offset` may not write; put it in the slot `topic`"
    );
    assert_eq!(
        refusal,
        Refusal::ForbiddenTable {
            table: TOPICS.name,
            slot: Slot::Offset,
            owner: Slot::Topic
        }
    );
}

#[test]
fn settings_are_checked_and_filled_in() {
    let settings = misbehave().settle(Slot::Topic, &given(&[])).unwrap();
    assert_eq!(
        settings,
        given(&[("do", "take-over")]),
        "defaults are filled in, nothing else"
    );

    let refusal = misbehave()
        .settle(Slot::Topic, &given(&[("wiht", "x")]))
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it has no setting `wiht`; did you mean `with`?; it has do, with"
    );
}

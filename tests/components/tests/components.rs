//! The guests are components of the right interface, and the broken files are broken in the way they say.

use std::collections::BTreeSet;

use components::{broken, guests, misbehaving, variant};

#[test]
fn all_guests_are_components_that_import_nothing_else() {
    let names: Vec<_> = guests().names().collect();
    let expected = [
        "describe-loops",
        "describe-panics",
        "foreign-table",
        "marker-v1",
        "marker-v2",
        "misbehave",
    ];
    assert_eq!(names, expected);
    for name in names {
        let imports = policies::imports(name, &guests().bytes(name)).unwrap();
        assert!(
            imports
                .iter()
                .all(|import| import.starts_with(policies::PACKAGE)),
            "{name}: {imports:?}"
        );
    }
}

#[test]
fn files_that_are_no_component() {
    let good = guests().bytes("marker-v1");
    for (what, file) in [
        ("text", broken::text()),
        ("empty", broken::empty()),
        ("truncated", broken::truncated(&good)),
    ] {
        assert!(policies::imports(what, &file).is_err(), "{what}");
    }
    assert!(
        broken::core_module().starts_with(b"\0asm\x01\0\0\0"),
        "a core module, version 1"
    );
}

#[test]
fn ten_cut_off_files_are_no_component_and_a_bare_header_is_one_that_offers_nothing() {
    let good = guests().bytes("marker-v1");
    let cut = broken::truncations(&good);
    let lengths: BTreeSet<_> = cut.iter().map(|(length, _)| *length).collect();
    assert_eq!(lengths.len(), 10);
    for (length, file) in &cut {
        assert_eq!(file.len(), *length);
        assert!(good.starts_with(file));
        assert!(policies::imports("cut", file).is_err(), "{length}");
    }
    assert!(good.starts_with(&broken::header_only()));
    assert_eq!(
        policies::imports("header", &broken::header_only()).unwrap(),
        [""; 0]
    );
}

#[test]
fn what_a_file_does_is_written_into_it() {
    let guest = guests().bytes("misbehave");
    let deeds = [("trap", ""), ("mark", "a"), ("mark", "b")];
    let files: BTreeSet<_> = deeds
        .map(|(deed, with)| misbehaving(deed, with))
        .into_iter()
        .chain([guest.clone()])
        .collect();
    assert_eq!(files.len(), 4);
    for file in files {
        assert_eq!(file.len(), guest.len());
        assert_eq!(
            policies::imports("file", &file).unwrap(),
            policies::imports("guest", &guest).unwrap()
        );
    }
}

#[test]
#[should_panic(expected = "does not fit")]
fn what_is_too_long_for_a_file_is_the_tests_mistake() {
    let _ = misbehaving("mark", &"x".repeat(600));
}

#[test]
fn a_variant_is_another_file_with_the_same_component() {
    let good = guests().bytes("marker-v1");
    assert_ne!(variant(&good, 1), variant(&good, 2));
    assert_eq!(
        policies::imports("variant", &variant(&good, 1)).unwrap(),
        policies::imports("good", &good).unwrap()
    );
}

#[test]
fn components_for_another_interface_import_what_they_say() {
    let extra = policies::imports("extra", &broken::extra_import()).unwrap();
    assert!(
        extra.contains(&"wasi:cli/environment@0.2.6".to_owned()),
        "{extra:?}"
    );
    let good = guests().bytes("marker-v1");
    let imports = |version: &str, file: &[u8]| {
        let imports = policies::imports(version, file).unwrap();
        assert!(
            !imports.is_empty() && imports.iter().all(|import| import.ends_with(version)),
            "{imports:?}"
        );
    };
    imports("@0.1.0", &good);
    imports("@0.1.1", &broken::newer_patch(&good));
    imports("@0.2.0", &broken::other_version(&good));
}

#[test]
fn every_dummy_can_be_made() {
    let dummies = [
        broken::changed_enum(),
        broken::changed_function(),
        broken::newer_function(),
        broken::missing_export(),
        broken::changed_export(),
        broken::describe_traps(),
    ];
    for dummy in &dummies {
        policies::imports("dummy", dummy).unwrap();
    }
    let distinct: BTreeSet<_> = dummies.iter().collect();
    assert_eq!(distinct.len(), dummies.len());
}

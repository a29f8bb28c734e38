//! The guests are components of the right interface, and the broken files are broken in the way they say.

use components::{broken, guests};

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
    let distinct: std::collections::BTreeSet<_> = dummies.iter().collect();
    assert_eq!(distinct.len(), dummies.len());
}

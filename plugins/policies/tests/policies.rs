//! What is promised of the components that we hand out.

use policies::{MAX_BYTES, PACKAGE};

#[test]
fn all_are_small_and_import_only_the_interface() {
    let names: Vec<_> = policies::all().names().collect();
    assert_eq!(
        names,
        [
            "delay",
            "offset",
            "offset-mirror",
            "subgroup",
            "topic",
            "topic-filter"
        ]
    );
    for name in names {
        let bytes = policies::all().bytes(name);
        assert!(
            bytes.len() as u64 <= MAX_BYTES,
            "{name} has {} bytes",
            bytes.len()
        );
        let imports = policies::imports(name, &bytes).unwrap();
        assert!(
            imports.contains(&format!("{PACKAGE}master@0.1.0")),
            "{name}: {imports:?}"
        );
        assert!(
            imports.iter().all(|import| import.starts_with(PACKAGE)),
            "{name}: {imports:?}"
        );
    }
}

#[test]
fn names_are_kept_for_backtraces_and_no_path_of_this_machine_is() {
    let topic = policies::all().bytes("topic");
    let contains = |text: &str| {
        topic
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(
        contains("locum_sdk..routine..Routine"),
        "the name of the routine's function"
    );
    assert!(!contains(
        env!("CARGO_MANIFEST_DIR").trim_end_matches("/plugins/policies")
    ));
}

#[test]
fn a_second_build_leaves_what_is_right_alone() {
    let path = policies::all().path("topic");
    let before = std::fs::metadata(path).unwrap().modified().unwrap();
    let again = policies::build(&["policy-topic"]).unwrap();
    assert_eq!(again[0].path, path);
    assert_eq!(std::fs::metadata(path).unwrap().modified().unwrap(), before);
}

#[test]
fn a_package_that_does_not_exist_is_an_error() {
    assert!(matches!(
        policies::build(&["policy-that-does-not-exist"]),
        Err(policies::Error::Cargo { .. })
    ));
}

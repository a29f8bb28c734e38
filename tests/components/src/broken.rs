//! Files that a host must refuse, or accept although they look odd. Each is what an operator could copy by mistake, or
//! what was built for another interface.
//!
//! Some are made from a good component by changing its bytes; some are *dummies*: components without a body for a
//! changed interface, which trap when they are called, so they serve for what must be refused before that.

use std::error::Error;

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve};

/// The interface as it is served.
const WIT: &str = include_str!("../../../wit/0.1.0/sync.wit");

/// A text, as an editor or a failed download leaves it.
#[must_use]
pub fn text() -> Vec<u8> {
    b"<html><body>404 Not Found</body></html>\n".to_vec()
}

/// Nothing.
#[must_use]
pub fn empty() -> Vec<u8> {
    Vec::new()
}

/// A core module: what cargo alone builds, not yet made a component.
#[must_use]
pub fn core_module() -> Vec<u8> {
    dummy(WIT).0
}

/// The first half of a good component: a copy that is under way.
#[must_use]
pub fn truncated(good: &[u8]) -> Vec<u8> {
    good[..good.len() / 2].to_vec()
}

/// A good component cut off at ten places, each with how many bytes are left: within its first word, and behind it, within its
/// header, at every sixth, and one byte before its end.
#[must_use]
pub fn truncations(good: &[u8]) -> [(usize, Vec<u8>); 10] {
    let sixth = good.len() / 6;
    let lengths = [
        1,
        4,
        7,
        9,
        sixth,
        2 * sixth,
        3 * sixth,
        4 * sixth,
        5 * sixth,
        good.len() - 1,
    ];
    lengths.map(|length| (length, good[..length].to_vec()))
}

/// The header of a component and nothing behind it: well made, and it offers nothing.
#[must_use]
pub fn header_only() -> Vec<u8> {
    b"\0asm\x0d\0\x01\0".to_vec()
}

/// A good component with one byte in its middle changed: it may be refused at any step, and must not be at none.
#[must_use]
pub fn flipped(good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    bytes
}

/// A good component built against the interface's next patch, of which it uses nothing new.
#[must_use]
pub fn newer_patch(good: &[u8]) -> Vec<u8> {
    renamed(good, b"@0.1.0", b"@0.1.1")
}

/// A good component built against another 0.y of the interface.
#[must_use]
pub fn other_version(good: &[u8]) -> Vec<u8> {
    renamed(good, b"@0.1.0", b"@0.2.0")
}

/// A component that wants more than `locum:sync`: `wasi:cli/environment@0.2.6`.
#[must_use]
pub fn extra_import() -> Vec<u8> {
    let environment = r#"
        package wasi:cli@0.2.6 {
            interface environment { get-environment: func() -> list<tuple<string, string>>; }
        }"#;
    let wit = changed(
        "world routine {",
        "world routine {\n    import wasi:cli/environment@0.2.6;",
    );
    dummy(&format!("{wit}{environment}")).1
}

/// A component for an interface whose `log.level` has one case more.
#[must_use]
pub fn changed_enum() -> Vec<u8> {
    dummy(&changed(
        "enum level { trace,",
        "enum level { verbose, trace,",
    ))
    .1
}

/// A component for an interface in which `master.fetch` takes another argument.
#[must_use]
pub fn changed_function() -> Vec<u8> {
    dummy(&changed(
        "fetch: func(table: string)",
        "fetch: func(table: string, timeout: u32)",
    ))
    .1
}

/// A component that calls a function that the served interface does not have.
#[must_use]
pub fn newer_function() -> Vec<u8> {
    dummy(&changed(
        "    remove: func(name: string);",
        "    remove: func(name: string);\n    clear: func();",
    ))
    .1
}

/// A component that does not offer `policy`.
#[must_use]
pub fn missing_export() -> Vec<u8> {
    dummy(&changed("    export policy;", "")).1
}

/// A component whose `sync` gives back something else.
#[must_use]
pub fn changed_export() -> Vec<u8> {
    let (old, new) = (
        "sync: func(tick: tick) -> result<_, failure>",
        "sync: func(tick: tick) -> bool",
    );
    dummy(&changed(old, new)).1
}

/// A component that is well made and traps in `describe`, without a panic's text.
#[must_use]
pub fn describe_traps() -> Vec<u8> {
    dummy(WIT).1
}

/// The interface with one place changed.
fn changed(old: &str, new: &str) -> String {
    assert_eq!(
        WIT.matches(old).count(),
        1,
        "the interface has `{old}` once"
    );
    WIT.replace(old, new)
}

/// The core module and the component of a guest without a body, for the world `routine` of an interface.
fn dummy(wit: &str) -> (Vec<u8>, Vec<u8>) {
    make_dummy(wit).unwrap_or_else(|error| panic!("cannot make a dummy: {error}"))
}

fn make_dummy(wit: &str) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("sync.wit", wit)?;
    let world = resolve.select_world(&[package], Some("routine"))?;
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let component = ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()?;
    Ok((module, component))
}

/// A component with a text in it replaced by one of the same length, wherever it is.
fn renamed(component: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = component.to_vec();
    for at in 0..=bytes.len().saturating_sub(old.len()) {
        if bytes[at..].starts_with(old) {
            bytes[at..at + old.len()].copy_from_slice(new);
        }
    }
    bytes
}

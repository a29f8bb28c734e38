//! What can be said of a file before it is compiled: what kind of file it is, what it imports and exports, for which version
//! of the interface it was built.

use wasmparser::{Encoding, Parser, Payload};

use super::cause::Cause;
use super::limits::COMPONENT_BYTES;
use super::refusal::Refusal;

/// The versions of the interface that this host serves.
pub(super) const SERVED: &str = "locum:sync@0.1.0, and newer 0.1.x that use nothing new";
const PACKAGE: &str = "locum:sync/";
/// The interfaces of the package that this host offers.
const INTERFACES: [&str; 6] = ["tables", "master", "replica", "settings", "memory", "log"];
/// The one that a policy exports.
const EXPORT: &str = "policy";

/// The interface that a component was built for, such as `locum:sync@0.1.3`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package(pub(super) String);

/// Checks `bytes` as far as it goes without compiling.
pub(super) fn check(bytes: &[u8]) -> Result<Package, Refusal> {
    check_kind(bytes)?;
    let outside = read_outside(bytes).map_err(|error| malformed(bytes, &error))?;
    check_imports(&outside)?;
    check_exports(&outside)?;
    Ok(outside.package())
}

fn check_kind(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::Empty);
    }
    if bytes.len() > COMPONENT_BYTES {
        return Err(Refusal::TooLarge {
            size: bytes.len(),
            limit: COMPONENT_BYTES,
        });
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        return Err(Refusal::CoreModule);
    }
    if b"\0asm\x0d\0\x01\0".starts_with(bytes) {
        let source = Cause::text("not even the header is whole");
        return Err(Refusal::Truncated {
            size: bytes.len(),
            source,
        });
    }
    if let Some(what) = text_kind(bytes) {
        return Err(Refusal::Text { what });
    }
    Err(Refusal::NotAComponent {
        what: file_kind(bytes),
    })
}

/// What kind of text the file is, if it is text.
fn text_kind(bytes: &[u8]) -> Option<&'static str> {
    let text = str::from_utf8(bytes).ok()?;
    if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    let text = text.trim_start();
    let is_wat = text.starts_with("(module") || text.starts_with("(component");
    Some(if is_wat { "WebAssembly text" } else { "text" })
}

fn file_kind(bytes: &[u8]) -> String {
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => {
            "an ELF file (a precompiled .cwasm is not taken)".to_owned()
        }
        [0x1f, 0x8b, ..] => "a gzip archive".to_owned(),
        [b'P', b'K', 3, 4, ..] => "a zip archive".to_owned(),
        [0, b'a', b's', b'm', ..] => "WebAssembly of an unknown encoding".to_owned(),
        _ => format!(
            "something that begins with {:02x?}",
            &bytes[..bytes.len().min(8)]
        ),
    }
}

fn malformed(bytes: &[u8], error: &wasmparser::Error) -> Refusal {
    let source = Cause::of(error);
    if error.message().starts_with("unexpected end") {
        Refusal::Truncated {
            size: bytes.len(),
            source,
        }
    } else {
        Refusal::Invalid(source)
    }
}

/// The names by which a component meets the world outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// What it imports, such as `locum:sync/master@0.1.0`, in its own order.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
}

impl Outside {
    /// What a component imports and exports, whether or not it could be a policy; none where that cannot be read.
    #[must_use]
    pub fn of(component: &[u8]) -> Option<Self> {
        check_kind(component).ok()?;
        read_outside(component).ok()
    }
}

/// Walks over the whole file, so that one that is cut off is found out here, and notes the outermost imports and exports.
fn read_outside(bytes: &[u8]) -> Result<Outside, wasmparser::Error> {
    let mut outside = Outside::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version {
                encoding: Encoding::Component | Encoding::Module,
                ..
            } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    outside.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    outside.exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(outside)
}

impl Outside {
    fn package(&self) -> Package {
        let patch = self.names().filter_map(patch).max().unwrap_or_default();
        Package(format!("locum:sync@0.1.{patch}"))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.imports.iter().chain(&self.exports).map(String::as_str)
    }
}

fn check_imports(outside: &Outside) -> Result<(), Refusal> {
    let foreign: Vec<String> = outside
        .imports
        .iter()
        .filter(|name| !name.starts_with(PACKAGE))
        .cloned()
        .collect();
    if !foreign.is_empty() {
        return Err(Refusal::ForeignImports { names: foreign });
    }
    outside
        .imports
        .iter()
        .try_for_each(|name| check_version(name))?;
    match outside
        .imports
        .iter()
        .find(|name| !INTERFACES.contains(&interface(name)))
    {
        None => Ok(()),
        Some(unknown) => Err(Refusal::Mismatch {
            package: outside.package().0,
            served: SERVED,
            source: Cause::text(format!(
                "it imports {unknown}, an interface that is not served"
            )),
        }),
    }
}

fn check_exports(outside: &Outside) -> Result<(), Refusal> {
    let policy = outside
        .exports
        .iter()
        .find(|name| name.starts_with(PACKAGE) && interface(name) == EXPORT)
        .ok_or_else(|| Refusal::NoPolicy {
            exports: outside.exports.clone(),
        })?;
    check_version(policy)
}

/// Another 0.y is named here: linking would fail too, with a text that speaks of anything but the version.
fn check_version(name: &str) -> Result<(), Refusal> {
    match patch(name) {
        Some(_) => Ok(()),
        None => Err(Refusal::InterfaceVersion {
            found: name.to_owned(),
            served: SERVED,
        }),
    }
}

/// `tables` of `locum:sync/tables@0.1.0`.
fn interface(name: &str) -> &str {
    let name = name.strip_prefix(PACKAGE).unwrap_or(name);
    name.split_once('@')
        .map_or(name, |(interface, _)| interface)
}

/// The patch of a name of this host's 0.1 line; none for any other name.
fn patch(name: &str) -> Option<u64> {
    let (name, version) = name.split_once('@')?;
    name.strip_prefix(PACKAGE)?;
    version.strip_prefix("0.1.")?.parse().ok()
}

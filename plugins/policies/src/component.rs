//! Core modules made components, and what is asked of the components that we hand out.

use wit_component::{ComponentEncoder, DecodedWasm};

use crate::{Error, MAX_BYTES, PACKAGE};

/// Wraps a core module, whose custom section tells its world, as a component. Function names stay, for backtraces.
pub(crate) fn encode(name: &str, module: &[u8]) -> Result<Vec<u8>, Error> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| Error::Encode {
            name: name.to_owned(),
            source: error.into(),
        })
}

/// What a component imports, such as `locum:sync/master@0.1.0`.
///
/// # Errors
/// [`Error::Encode`] if it is no component.
pub fn imports(name: &str, component: &[u8]) -> Result<Vec<String>, Error> {
    let no_component = |source| Error::Encode {
        name: name.to_owned(),
        source,
    };
    match wit_component::decode(component).map_err(|error| no_component(error.into()))? {
        DecodedWasm::Component(resolve, world) => {
            let imports = resolve.worlds[world].imports.keys();
            Ok(imports
                .map(|import| resolve.name_world_key(import))
                .collect())
        }
        DecodedWasm::WitPackage(..) => Err(no_component("it is a WIT package".into())),
    }
}

/// Whether a component is fit to be handed out.
pub(crate) fn check(name: &str, component: &[u8]) -> Result<(), Error> {
    let name = || name.to_owned();
    let bytes = component.len() as u64;
    if bytes > MAX_BYTES {
        return Err(Error::TooLarge {
            name: name(),
            bytes,
        });
    }
    match imports(&name(), component)?
        .into_iter()
        .find(|import| !import.starts_with(PACKAGE))
    {
        Some(import) => Err(Error::ForeignImport {
            name: name(),
            import,
        }),
        None => Ok(()),
    }
}

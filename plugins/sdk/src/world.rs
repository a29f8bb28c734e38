//! The host, as the SDK's own types see it: the generated imports in a component, the bench in a native test. Both offer
//! the same names, which is how one source of a policy compiles for both.

#[cfg(any(target_arch = "wasm32", not(feature = "bench")))]
mod component;
#[cfg(any(target_arch = "wasm32", not(feature = "bench")))]
pub(crate) use component::{
    Draft, Table, current, edit, fetch, forget, log, remember, remembered, setting,
};

#[cfg(all(feature = "bench", not(target_arch = "wasm32")))]
mod native;
#[cfg(all(feature = "bench", not(target_arch = "wasm32")))]
pub(crate) use native::{
    Draft, Table, World, current, edit, enter, fetch, forget, log, remember, remembered, setting,
};

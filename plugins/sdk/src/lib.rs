//! What a Locum policy is written with.
//!
//! A policy is a component for the world `routine` of `locum:sync`: once for each tick the host calls it in a fresh
//! instance, and it asks the master, looks at what the replica holds, and drafts what the replica shall hold. A whole
//! one:
//!
//! ```
//! use locum_sdk::prelude::*;
//!
//! struct Mirror;
//!
//! impl Routine for Mirror {
//!     fn describe() -> Description {
//!         Description::new("mirror", env!("CARGO_PKG_VERSION"), "topics exactly as the master has them").writes(TOPICS)
//!     }
//!
//!     fn sync(_: Tick) -> Result<(), Failure> {
//!         let theirs = master::fetch(TOPICS)?;
//!         replica::edit(TOPICS).replace(&theirs);
//!         Ok(())
//!     }
//! }
//!
//! locum_sdk::export!(Mirror);
//! ```
//!
//! Built for `wasm32-unknown-unknown` it is a component without any import outside `locum:sync`. The same source runs
//! natively on the `bench` (feature `bench`, a dev-dependency), so that a policy's tests are plain `cargo test`.
//! Built natively without that feature it compiles, and any call into the host panics.
//!
//! A panic's text and place reach the host's log at error level, and end the tick. Nothing is kept between ticks but
//! what goes through [`memory`].

#[cfg(any(target_arch = "wasm32", not(feature = "bench")))]
#[doc(hidden)] // public for `export!` alone
pub mod bindings;
mod error;
#[cfg(target_arch = "wasm32")]
mod guest;
mod packed;
mod routine;
mod tables;
mod world;

#[cfg(all(feature = "bench", not(target_arch = "wasm32")))]
pub mod bench;
pub mod log;
pub mod master;
pub mod memory;
pub mod replica;
pub mod settings;
pub mod system;

pub use error::{DraftError, Failure, FetchError, MemoryError};
pub use log::Level;
pub use routine::{Description, Routine, Setting, Tick};
pub use tables::{
    CONSUMER_OFFSETS, DELAY_OFFSETS, DataVersion, Draft, Entries, Entry, Keys, SUBSCRIPTION_GROUPS,
    TOPICS, Table,
};

/// What nearly every policy needs, for one `use`.
pub mod prelude {
    pub use crate::{
        CONSUMER_OFFSETS, DELAY_OFFSETS, Description, Draft, Entry, Failure, FetchError, Level,
        Routine, SUBSCRIPTION_GROUPS, Setting, TOPICS, Table, Tick, debug, error, export, info,
        master, memory, replica, settings, trace, warn,
    };
}

/// Makes a type that is a [`Routine`] the policy of this component. Once in a crate.
#[macro_export]
macro_rules! export {
    ($routine:ident) => {
        const _: () = {
            // Says what is missing at the place of the call, on every target.
            const fn is_a_routine<R: $crate::Routine>() {}
            is_a_routine::<$routine>();
        };

        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export_routine!($routine with_types_in $crate::bindings);
    };
}

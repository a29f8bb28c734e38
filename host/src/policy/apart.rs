//! A thread for each load: what a component does to the compiler stays there.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::limits::{LOAD_STACK, TEXT_BYTES, clip};
use super::refusal::Refusal;

/// Runs a load on a thread of its own and waits for it. The thread's stack is known, whatever thread asks: parsing and
/// validation recurse with the component. (Functions are compiled one by one on the compiler's own pool.) Damaged components
/// have crashed compilers before (bytecodealliance/wasmtime#8322): a panic refuses the component, and no more.
pub(super) fn apart<T: Send>(load: impl Fn() -> Result<T, Refusal> + Sync) -> Result<T, Refusal> {
    let thread = thread::Builder::new()
        .name("load".to_owned())
        .stack_size(LOAD_STACK);
    let loaded = thread::scope(|scope| match thread.spawn_scoped(scope, &load) {
        Ok(thread) => thread.join(),
        // No thread is to be had, and that is not the component's fault: the caller's own must do.
        Err(_) => catch_unwind(AssertUnwindSafe(&load)),
    });
    loaded.unwrap_or_else(|panic| {
        Err(Refusal::Crashed {
            what: clip(text(&*panic), TEXT_BYTES),
        })
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        text
    } else {
        panic
            .downcast_ref::<String>()
            .map_or("it does not say why", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Stage;

    #[test]
    fn a_panic_is_a_refusal_in_its_own_words() {
        let refused = apart(|| -> Result<(), _> { panic!("index {} out of range", 7) });
        let refusal = refused.unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the compiler panicked on it (index 7 out of range); build it again with a current toolchain"
        );
        assert_eq!(refusal.stage(), Stage::Compile);
        let silent = apart(|| -> Result<(), _> { std::panic::resume_unwind(Box::new(7)) });
        assert!(matches!(silent, Err(Refusal::Crashed { what }) if what == "it does not say why"));
    }

    #[test]
    fn a_deep_recursion_has_the_room_that_is_named() {
        /// A kibibyte or more for each level.
        fn descend(levels: usize) -> usize {
            let level = std::hint::black_box([levels; 128]);
            if levels == 0 {
                0
            } else {
                1 + descend(level[0] - 1)
            }
        }
        // 4 MiB or more: over the 2 MiB of a runtime's thread.
        assert_eq!(apart(|| Ok(descend(4096))).unwrap(), 4096);
    }
}

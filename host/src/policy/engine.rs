//! The process's one engine, and the clock of its epochs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};

use rustix::process::{Resource, getrlimit};
use wasmtime::component::{Component, Linker};

use super::apart::apart;
use super::bindings::Routine;
use super::cause::Cause;
use super::check;
use super::code_cache::{CodeCache, Key};
use super::limits::{EPOCH, FRAMES, SCARCE_GROWTH, SCARCE_GUARD, SCARCE_RESERVATION};
use super::linked::Linked;
use super::refusal::Refusal;
use super::state::State;
use super::tick::{Policy, Source};
use super::world::World;
use crate::hash::sha256;

/// Compiles policies. One serves the whole process; a clone is the same engine. The thread that advances its epoch ends with
/// the last clone and the last policy.
#[derive(Clone)]
pub struct Engine {
    linker: Arc<Linker<State>>,
    ticker: Ticker,
    code: Option<Arc<CodeCache>>,
}

/// Why there is no engine: this machine cannot run WebAssembly, or has no thread left.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime refuses its settings on this machine.
    #[error("the WebAssembly engine cannot be set up")]
    Engine(#[source] Cause),
    /// The epoch's thread could not be started.
    #[error("the thread that limits guest time cannot be started")]
    Ticker(#[source] std::io::Error),
}

impl Engine {
    /// Sets up the engine and starts its ticker.
    ///
    /// # Errors
    ///
    /// When the machine offers no memory or no thread for it.
    pub fn new() -> Result<Self, EngineError> {
        Self::with_config(&config())
    }

    /// An engine that counts what a policy computes ([`Spent::fuel`](super::Spent::fuel)), to compare two policies with. Its code
    /// is another than an ordinary engine's, and somewhat slower; limits and epochs are the same.
    ///
    /// # Errors
    ///
    /// As for [`Engine::new`].
    pub fn metered() -> Result<Self, EngineError> {
        let mut config = config();
        config.consume_fuel(true);
        Self::with_config(&config)
    }

    fn with_config(config: &wasmtime::Config) -> Result<Self, EngineError> {
        let engine = wasmtime::Engine::new(config).map_err(|e| EngineError::Engine(e.into()))?;
        let (ticker, _thread) = Ticker::start(engine.clone()).map_err(EngineError::Ticker)?;
        Self::with_ticker(&engine, ticker)
    }

    pub(super) fn with_ticker(
        engine: &wasmtime::Engine,
        ticker: Ticker,
    ) -> Result<Self, EngineError> {
        let mut linker = Linker::new(engine);
        Routine::add_to_linker::<_, World>(&mut linker, World::enter)
            .map_err(|e| EngineError::Engine(e.into()))?;
        Ok(Self {
            linker: Arc::new(linker),
            ticker,
            code: None,
        })
    }

    /// Keeps compiled code in a folder, which is made when there is something to keep. Code is only used if nobody but this
    /// process's user can have written it; whatever is wrong with the folder or a file in it, the component is compiled again.
    #[must_use]
    pub fn with_code_cache(mut self, folder: PathBuf) -> Self {
        self.code = Some(Arc::new(CodeCache::new(folder)));
        self
    }

    /// Removes all but the `keep` files of compiled code that were used last, and what a killed host left half-written. Blocking;
    /// it never fails.
    pub fn prune_code(&self, keep: usize) {
        if let Some(code) = &self.code {
            code.prune(keep);
        }
    }

    /// Waits until the compiled code of everything that was loaded is written or given up: before the end of a process that wants
    /// it kept. Blocking.
    pub fn wait_for_code(&self) {
        if let Some(code) = &self.code {
            code.wait();
        }
    }

    /// Checks, compiles and asks a component what it is. This computes for 20 ms (a Rust policy) to 10 s (JavaScript or
    /// Python), on a thread of its own that the caller's waits for: call it off the scheduler.
    ///
    /// # Errors
    ///
    /// The first reason why it cannot be a policy; a panic of the compiler too is one.
    pub fn load(&self, component: impl Into<Arc<[u8]>>) -> Result<Policy, Refusal> {
        let component = component.into();
        apart(|| self.load_here(&component))
    }

    fn load_here(&self, component: &Arc<[u8]>) -> Result<Policy, Refusal> {
        let package = check::check(component)?;
        let sha256 = sha256(component);
        let engine = self.linker.engine();
        let key = Key::of(engine, &sha256);
        let cached = self.code.as_ref().and_then(|code| code.get(&key, engine));
        let source = Source {
            component: Arc::clone(component),
            sha256,
            from_cache: cached.is_some(),
        };
        let compiled = match cached {
            Some(compiled) => compiled,
            None => compile(engine, component)?,
        };
        let linked = Linked::new(&self.linker, &compiled, package)?;
        let policy = Policy::new(linked, source, self.ticker.clone())?;
        // What is no policy is not worth a file: it is refused once, and not asked for again.
        if let Some(code) = self.code.as_ref().filter(|_| !policy.from_cache()) {
            code.put(key, compiled);
        }
        Ok(policy)
    }
}

fn compile(engine: &wasmtime::Engine, component: &[u8]) -> Result<Component, Refusal> {
    Component::new(engine, component).map_err(|error| Refusal::Uncompilable(error.into()))
}

/// The settings under which all policies are compiled.
pub(super) fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    config.concurrency_support(false);
    config.wasm_backtrace_max_frames(Some(FRAMES));
    if getrlimit(Resource::As).current.is_some() {
        scarce_address_space(&mut config);
    }
    config
}

/// For `ulimit -v`: ordinarily 4 GiB of address space are reserved for each running guest, so that its code needs no checks of
/// bounds. That is more than such a process is given.
fn scarce_address_space(config: &mut wasmtime::Config) {
    config.memory_reservation(SCARCE_RESERVATION);
    config.memory_reservation_for_growth(SCARCE_GROWTH);
    config.memory_guard_size(SCARCE_GUARD);
}

/// Advances the epoch as long as somebody holds it.
#[derive(Clone)]
pub(super) struct Ticker {
    _alive: mpsc::Sender<()>,
}

impl Ticker {
    /// The thread ends by itself when the last clone of the ticker is gone.
    pub(super) fn start(engine: wasmtime::Engine) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (alive, gone) = mpsc::channel();
        let run = move || {
            while gone.recv_timeout(EPOCH) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        let thread = thread::Builder::new().name("epoch".to_owned()).spawn(run)?;
        Ok((Self { _alive: alive }, thread))
    }

    /// A ticker that stands still: tests advance the epoch themselves.
    #[cfg(test)]
    pub(super) fn stopped() -> Self {
        Self {
            _alive: mpsc::channel().0,
        }
    }
}

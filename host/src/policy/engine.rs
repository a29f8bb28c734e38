//! The process's one engine, and the clock of its epochs.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};

use wasmtime::component::Linker;

use super::apart::apart;
use super::bindings::Routine;
use super::cause::Cause;
use super::check;
use super::limits::{EPOCH, FRAMES};
use super::linked::Linked;
use super::refusal::Refusal;
use super::state::State;
use super::tick::Policy;
use super::world::World;

/// Compiles policies. One serves the whole process; a clone is the same engine. The thread that advances its epoch ends with
/// the last clone and the last policy.
#[derive(Clone)]
pub struct Engine {
    linker: Arc<Linker<State>>,
    ticker: Ticker,
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
        let engine = wasmtime::Engine::new(&config()).map_err(|e| EngineError::Engine(e.into()))?;
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
        })
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
        let linked = Linked::new(&self.linker, component, package)?;
        Policy::new(linked, Arc::clone(component), self.ticker.clone())
    }
}

/// The settings under which all policies are compiled.
pub(super) fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    config.concurrency_support(false);
    config.wasm_backtrace_max_frames(Some(FRAMES));
    config
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

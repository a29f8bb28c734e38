//! A compiled component with its imports linked, and one call into it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{Component, Instance, InstancePre, Linker};
use wasmtime::{Store, UpdateDeadline};

use super::bindings::exports::locum::sync::policy as wit;
use super::bindings::{Routine, RoutineIndices};
use super::cause::Cause;
use super::check::{Package, SERVED};
use super::limits::{Exceeded, FUEL, LENT};
use super::meter::Meter;
use super::refusal::Refusal;
use super::report::RunError;
use super::state::State;
use super::tick::Done;

/// What a fresh instance is made from. Nothing of an instance lives longer than one call.
pub(super) struct Linked {
    pre: InstancePre<State>,
    indices: RoutineIndices,
    package: Package,
}

impl Linked {
    /// Links a component that was checked and compiled.
    pub(super) fn new(
        linker: &Linker<State>,
        component: &Component,
        package: Package,
    ) -> Result<Self, Refusal> {
        let link = || {
            let pre = linker.instantiate_pre(component)?;
            let indices = RoutineIndices::new(&pre)?;
            wasmtime::error::Ok((pre, indices))
        };
        match link() {
            Ok((pre, indices)) => Ok(Self {
                pre,
                indices,
                package,
            }),
            Err(error) => Err(mismatch(&package, error)),
        }
    }

    /// Asks the policy what it is. There is nothing to wait for, so this needs no runtime, and gives no thread back.
    pub(super) fn describe(&self, state: State) -> Result<wit::Description, Refusal> {
        let mut store = self.store(state);
        store.epoch_deadline_callback(|store| {
            let meter = &store.data().meter;
            meter.end_epoch()?;
            meter.resume();
            Ok(UpdateDeadline::Continue(1))
        });
        let describing = pin!(self.call_describe(&mut store));
        match describing.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(described) => described,
            Poll::Pending => {
                let cause = Cause::text("describe waits for something");
                Err(Refusal::Describe(RunError::Host(cause)))
            }
        }
    }

    async fn call_describe(&self, store: &mut Store<State>) -> Result<wit::Description, Refusal> {
        let failed =
            |error, store: &Store<State>| Refusal::Describe(RunError::of(error, store.data()));
        let instance = match self.pre.instantiate_async(&mut *store).await {
            Ok(instance) => instance,
            Err(error) => return Err(failed(error, store)),
        };
        let routine = self.indices.load(&mut *store, &instance);
        let routine = routine.map_err(|error| {
            let function = differing(store, &instance);
            let context =
                format!("it exports `{function}` of `locum:sync/policy` with the wrong type");
            mismatch(&self.package, error.context(context))
        })?;
        store.set_epoch_deadline(1);
        let described = routine.locum_sync_policy().call_describe(&mut *store).await;
        described.map_err(|error| failed(error, store))
    }

    /// One tick in a fresh store and instance.
    pub(super) async fn sync(&self, state: State) -> Result<Done, RunError> {
        let tick = wit::Tick {
            number: state.tick.number,
            started_at: state.tick.started_at,
        };
        let meter = state.meter.clone();
        let mut store = self.store(state);
        store.epoch_deadline_callback(|store| Ok(yield_epoch(&store.data().meter)?));
        let synced = self.call_sync(&mut store, tick).await;
        meter.pause();
        if let Ok(left) = store.get_fuel() {
            meter.set_fuel(FUEL - left);
        }
        match synced {
            Ok(Ok(())) => Ok(store.into_data().finish()),
            Ok(Err(failure)) => Err(RunError::Failure(store.data().failure(failure))),
            Err(error) => Err(RunError::of(error, store.data())),
        }
    }

    async fn call_sync(
        &self,
        store: &mut Store<State>,
        tick: wit::Tick,
    ) -> wasmtime::Result<Result<(), wit::Failure>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let routine: Routine = self.indices.load(&mut *store, &instance)?;
        store.set_epoch_deadline(1);
        routine
            .locum_sync_policy()
            .call_sync(&mut *store, tick)
            .await
    }

    /// A store with all limits set. Its first deadline is the next epoch: instantiation runs guest code too.
    fn store(&self, state: State) -> Store<State> {
        let (bytes, handles) = (state.tick.limits.host_call_bytes, state.tick.limits.handles);
        let meter = state.meter.clone();
        let mut store = Store::new(self.pre.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(bytes);
        store.set_max_component_handles(handles.saturating_add(LENT));
        store.set_epoch_deadline(1);
        // An error says that the engine does not count it.
        let _ = store.set_fuel(FUEL);
        meter.resume();
        store
    }
}

/// An epoch ended while the guest ran: it stops if its time is used up, else it gives its thread back for a moment.
fn yield_epoch(meter: &Meter) -> Result<UpdateDeadline, Exceeded> {
    meter.end_epoch()?;
    meter.count_yield();
    let meter = meter.clone();
    let pause = async move {
        // tokio's own, not a bare wake: it looks at sockets and timers before it comes back.
        tokio::task::yield_now().await;
        meter.resume();
    };
    Ok(UpdateDeadline::YieldCustom(1, Box::pin(pause)))
}

/// Which of the two functions that a policy exports is not the served one. wasmtime's text does not say.
fn differing(store: &mut Store<State>, instance: &Instance) -> &'static str {
    let interface = instance.get_export_index(&mut *store, None, "locum:sync/policy@0.1.0");
    let describe = instance.get_export_index(&mut *store, interface.as_ref(), "describe");
    let served = describe.is_some_and(|describe| {
        let typed = instance.get_typed_func::<(), (wit::Description,)>(&mut *store, describe);
        typed.is_ok()
    });
    if served { "sync" } else { "describe" }
}

fn mismatch(package: &Package, error: wasmtime::Error) -> Refusal {
    Refusal::Mismatch {
        package: package.0.clone(),
        served: SERVED,
        source: error.into(),
    }
}

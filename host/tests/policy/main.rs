//! Policies as the host runs them: real components on a scripted master.

mod limits;
mod load;
mod support;
mod ticks;

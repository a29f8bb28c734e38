//! The host against a stub master, and, for what is about time, against a scripted master without sockets.

mod behaviour;
mod support;

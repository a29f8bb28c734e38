//! The host against a stub master.

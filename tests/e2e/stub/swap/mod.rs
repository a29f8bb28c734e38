//! The way of a candidate into a slot, and out of it again.

mod candidates;
mod probation;
mod restart;

//! The behaviour of RocketMQ's `SlaveSynchronize` and of the schedule around it, sentence by sentence.

mod sync;
mod time;

//! RocketMQ's remoting protocol: bytes in, commands out.
//!
//! No sockets, no clock and no runtime: the caller reads socket bytes into [`Decoder::buffer`] and asks for whole
//! frames, [`encode`] gives the bytes of one frame, [`InFlight`] finds the waiter of a reply, and [`Credentials`] sign
//! a request. What always holds: every length that the peer claims is checked before anything is done with it, the
//! decoder never reserves memory on the peer's word, no input makes it panic, and no debug print has a secret.
//!
//! Java's side of this is `RemotingCommand`, `RocketMQSerializable` and `NettyDecoder` (one format from 4.9 to 5.5).

mod codes;
mod command;
mod decoder;
mod header;
mod in_flight;
mod limits;
mod peer;
mod sign;

pub use codes::{code, response};
pub use command::{Command, Language};
pub use decoder::{Decoder, Frame, FrameError};
pub use header::{EncodeError, HeaderError, HeaderForm, encode};
pub use in_flight::{Dropped, DroppedCounts, InFlight, Taken, TooMany};
pub use limits::Limits;
pub use peer::Peer;
pub use sign::{Credentials, Secret};

//! Every bound of the protocol, in one place.

/// Largest frame that is accepted unless configured otherwise, length word included: 256 MiB.
///
/// Java receivers stop at 16 MiB, but a master sends what it has: replies to 43 of 69 MB were seen on real brokers
/// (apache/rocketmq#9467, #10168).
pub(crate) const FRAME: usize = 256 * 1024 * 1024;

/// Largest header that is accepted: 1 MiB. The format itself has 24 bits for it; real headers are about 100 bytes.
pub(crate) const HEADER: usize = 1024 * 1024;

/// Largest header that the format can hold: the low 24 bits of its length word.
pub(crate) const HEADER_FORMAT: usize = 0x00ff_ffff;

/// Requests that may wait for a reply on one connection.
pub(crate) const IN_FLIGHT: usize = 1024;

/// How many answered or given-up opaques are remembered, to tell a late or double reply from an unknown one.
pub(crate) const REMEMBERED: usize = 256;

/// What a [`Decoder`](crate::Decoder) accepts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest frame, its length word included (as `com.rocketmq.remoting.frameMaxLength` counts).
    pub frame: usize,
    /// Largest header.
    pub header: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: FRAME,
            header: HEADER,
        }
    }
}

//! The place in the guest's data where a file says what it does. Known to both sides: the guest that reads it, and the crate
//! that writes it into a file.

/// What the place begins with, once in each component.
pub(crate) const MARK: &[u8; 24] = b"locum-test-guest-orders:";

/// How long the place is, in bytes: the mark, the deed, a zero, its argument, a zero, and dots up to the end.
pub(crate) const SIZE: usize = 512;

/// What stands in the place behind the mark where nobody wrote anything.
pub(crate) const FILLER: u8 = b'.';

//! Files made from a good component by writing into its bytes.

use crate::guests;
use crate::place::{FILLER, MARK, SIZE};

/// The guest `misbehave` as a file that does a deed without being told by a setting: each deed and argument is another file, as
/// an operator would put one in the place of another. A setting `do`, where one is given, goes first.
///
/// The deeds are in `guests/src/deeds.rs`, such as `trap`, `remove-half`, or `trap-after-ticks` with the argument `2`.
///
/// # Panics
/// If both texts do not fit into the guest's place for them, hold a zero, or the guests cannot be built.
#[must_use]
pub fn misbehaving(deed: &str, with: &str) -> Vec<u8> {
    let mut bytes = guests().bytes("misbehave");
    let starts = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(MARK));
    let [start] = starts.collect::<Vec<_>>()[..] else {
        panic!("the guest has not exactly one place for its orders")
    };
    let orders = [deed.as_bytes(), b"\0", with.as_bytes(), b"\0"].concat();
    let zeros = orders.iter().filter(|&&byte| byte == 0).count();
    assert_eq!(zeros, 2, "neither `{deed}` nor `{with}` may hold a zero");
    let place = &mut bytes[start + MARK.len()..start + SIZE];
    assert!(
        place.iter().all(|&byte| byte == FILLER),
        "nobody wrote there yet"
    );
    assert!(
        orders.len() <= place.len(),
        "`{deed}` with {} bytes does not fit",
        with.len()
    );
    place[..orders.len()].copy_from_slice(&orders);
    bytes
}

/// The same component as another file: with a custom section behind it that holds a number. It does the same under another hash.
#[must_use]
pub fn variant(component: &[u8], number: u32) -> Vec<u8> {
    const NAME: &[u8] = b"variant";
    /// Of a custom section.
    const ID: u8 = 0;
    let content = [&[length(NAME)], NAME, &number.to_le_bytes()].concat();
    [component, &[ID, length(&content)], &content].concat()
}

/// A length as LEB128, of what is so short that it is one byte.
fn length(bytes: &[u8]) -> u8 {
    assert!(bytes.len() < 0x80);
    bytes.len().to_le_bytes()[0]
}

//! Files made from a good component by writing into its bytes, or behind them.

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

/// The same component with at least `bytes` of code more, which is compiled and never runs.
#[must_use]
pub fn heavy(component: &[u8], bytes: usize) -> Vec<u8> {
    /// `local.get 0`, `i32.const 7`, `i32.mul`, `local.set 0`.
    const STEP: &[u8] = b"\x20\0\x41\x07\x6c\x21\0";
    /// Steps of one function.
    const STEPS: usize = 1000;
    let steps = STEP.repeat(STEPS);
    // One local, of type i32; and its end.
    let body = [b"\x01\x01\x7f", &steps[..], b"\x0b"].concat();
    let functions = bytes.div_ceil(body.len());
    let of_type = [&leb128(functions)[..], &vec![0; functions]].concat();
    let function = [&leb128(body.len())[..], &body].concat();
    let code = [leb128(functions), function.repeat(functions)].concat();
    // One type: from nothing to nothing.
    let module = [
        HEADER,
        &section(1, b"\x01\x60\0\0"),
        &section(3, &of_type),
        &section(10, &code),
    ];
    with_module(component, &module.concat())
}

/// The same component with a module in it that uses wide arithmetic, which this host does not offer.
#[must_use]
pub fn with_wide_arithmetic(component: &[u8]) -> Vec<u8> {
    // From nothing to two i64, of `i64.const 1` four times and `i64.add128`.
    let body = b"\0\x42\x01\x42\x01\x42\x01\x42\x01\xfc\x13\x0b";
    let code = [&[1, length(body)], &body[..]].concat();
    let module = [
        HEADER,
        &section(1, b"\x01\x60\0\x02\x7e\x7e"),
        &section(3, b"\x01\0"),
        &section(10, &code),
    ];
    with_module(component, &module.concat())
}

/// What a core module begins with.
const HEADER: &[u8] = b"\0asm\x01\0\0\0";

fn with_module(component: &[u8], module: &[u8]) -> Vec<u8> {
    /// Of a core module in a component.
    const ID: u8 = 1;
    [component, &section(ID, module)].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], &leb128(content.len())[..], content].concat()
}

/// A length as LEB128, of what is so short that it is one byte.
fn length(bytes: &[u8]) -> u8 {
    assert!(bytes.len() < 0x80);
    bytes.len().to_le_bytes()[0]
}

/// A number as LEB128.
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f).to_le_bytes()[0];
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

//! What this file says that it does, where the operator's settings say nothing.

use std::hint::black_box;

use crate::place::{FILLER, MARK, SIZE};

static PLACE: [u8; SIZE] = unwritten();

const fn unwritten() -> [u8; SIZE] {
    let mut place = [FILLER; SIZE];
    place.split_at_mut(MARK.len()).0.copy_from_slice(MARK);
    place
}

/// The deed and its argument, if anything was written into the file.
pub(crate) fn read() -> Option<(String, String)> {
    // The compiler must not know what is there: it changes after it.
    let place: &[u8; SIZE] = black_box(&PLACE);
    let mut texts = place[MARK.len()..].split(|&byte| byte == 0);
    let mut text = || String::from_utf8(texts.next()?.to_vec()).ok();
    let written = (text()?, text()?);
    // What is behind the second zero; without it there is one text, or none, and filler.
    text().map(|_filler| written)
}

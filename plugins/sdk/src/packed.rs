//! Packed pages, the cheap way of entries across the boundary (see `table.page-packed` in the WIT): for each entry the
//! key's length and the value's (u32, little-endian), then both texts. A list of keys has neither the value nor its length.

/// Takes one entry off the front of a packed page; `None` at its end.
///
/// # Panics
/// If the page is not what the WIT says: the host has broken its promise.
pub(crate) fn take_entry(page: &mut &[u8]) -> Option<(String, String)> {
    if page.is_empty() {
        return None;
    }
    let (key, value) = (take_length(page), take_length(page));
    Some((take_text(page, key), take_text(page, value)))
}

/// Takes one key off the front of a packed list of keys; `None` at its end. Panics as [`take_entry`] does.
pub(crate) fn take_key(page: &mut &[u8]) -> Option<String> {
    if page.is_empty() {
        return None;
    }
    let key = take_length(page);
    Some(take_text(page, key))
}

/// Appends an entry to a packed page.
pub(crate) fn put_entry(page: &mut Vec<u8>, key: &str, value: &str) {
    put_length(page, key);
    put_length(page, value);
    page.extend_from_slice(key.as_bytes());
    page.extend_from_slice(value.as_bytes());
}

/// Appends a key to a packed list of keys.
pub(crate) fn put_key(page: &mut Vec<u8>, key: &str) {
    put_length(page, key);
    page.extend_from_slice(key.as_bytes());
}

fn put_length(page: &mut Vec<u8>, text: &str) {
    // A longer text does not fit the guest's memory; the host would call the page malformed.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    page.extend_from_slice(&length.to_le_bytes());
}

fn take_length(page: &mut &[u8]) -> usize {
    match page.split_first_chunk() {
        Some((length, rest)) => {
            *page = rest;
            u32::from_le_bytes(*length) as usize
        }
        None => broken(),
    }
}

fn take_text(page: &mut &[u8], length: usize) -> String {
    match page.split_at_checked(length) {
        Some((text, rest)) => {
            *page = rest;
            str::from_utf8(text).unwrap_or_else(|_| broken()).to_owned()
        }
        None => broken(),
    }
}

#[cold]
fn broken() -> ! {
    panic!("the host handed out a malformed page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_as_they_went_in() {
        let mut page = Vec::new();
        put_entry(&mut page, "topic", "{}");
        put_entry(&mut page, "", "");
        put_entry(&mut page, "Thema-\u{fc}", "[1]");
        let mut rest = page.as_slice();
        let entries: Vec<_> = std::iter::from_fn(|| take_entry(&mut rest)).collect();
        let expected = [("topic", "{}"), ("", ""), ("Thema-\u{fc}", "[1]")];
        assert_eq!(
            entries,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn keys_come_out_as_they_went_in() {
        let mut page = Vec::new();
        put_key(&mut page, "a");
        put_key(&mut page, "bc");
        let mut rest = page.as_slice();
        assert_eq!(
            std::iter::from_fn(|| take_key(&mut rest)).collect::<Vec<_>>(),
            ["a", "bc"]
        );
    }

    #[test]
    #[should_panic(expected = "malformed page")]
    fn a_page_that_ends_too_early_is_the_hosts_fault() {
        take_key(&mut [9, 0, 0, 0, b'a'].as_slice());
    }
}

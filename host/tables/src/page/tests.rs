use super::*;
use crate::{DELAY_OFFSETS, ReadLimits};

fn table() -> Table {
    let body = br#"{"offsetTable":{1:10,2:20,3:30,4:40}}"#;
    Table::from_answer(&DELAY_OFFSETS, body, &ReadLimits::default()).unwrap()
}

fn keys(after: Option<&str>, limit: usize, max_bytes: usize) -> Vec<String> {
    let table = table();
    let page = table.page(after, limit, max_bytes);
    page.map(|entry| entry.key.to_owned()).collect()
}

#[test]
fn a_page_starts_after_a_key_that_need_not_be_there() {
    assert_eq!(keys(None, 2, 1000), ["1", "2"]);
    assert_eq!(keys(Some("2"), 9, 1000), ["3", "4"]);
    assert_eq!(keys(Some("25"), 1, 1000), ["3"]);
    assert_eq!(keys(Some("4"), 9, 1000), [""; 0]);
    assert_eq!(keys(Some(""), 1, 1000), ["1"]);
}

#[test]
fn a_page_has_an_entry_as_long_as_one_is_left() {
    assert_eq!(keys(None, 9, 0), ["1"]);
    assert_eq!(keys(Some("3"), 9, 0), ["4"]);
    assert_eq!(keys(None, 0, 1000), [""; 0]);
    assert_eq!(keys(None, 9, 22), ["1", "2"]);
    assert_eq!(keys(None, 9, 32), ["1", "2"]);
}

#[test]
fn packs_and_unpacks() {
    let table = table();
    let page = table.page_packed(Some("3"), 9, 1000);
    assert_eq!(page, b"\x01\0\0\0\x02\0\0\x00440");
    let page = table.page_packed(None, 9, 1000);
    assert!(unpack(&page).unwrap().into_iter().eq(table.entries()));
    let keys = table.keys_packed(None, 3, 1000);
    assert_eq!(unpack_keys(&keys).unwrap(), ["1", "2", "3"]);
    assert_eq!(unpack(b"").unwrap(), []);
}

#[test]
fn a_buffer_that_is_no_page_is_refused_with_the_place() {
    let page = table().page_packed(None, 2, 1000);
    for length in 1..page.len() {
        let at = if length > 11 { 11 } else { 0 };
        let result = unpack(&page[..length]);
        if length == 11 {
            assert_eq!(result.unwrap().len(), 1);
        } else {
            assert_eq!(result, Err(PageError::Truncated { at }), "{length}");
        }
    }
    let huge = [0xff; 64];
    assert_eq!(unpack(&huge), Err(PageError::Truncated { at: 0 }));
    assert_eq!(
        unpack_keys(b"\x01\0\0\0\xff"),
        Err(PageError::NotUtf8 { at: 0 })
    );
}

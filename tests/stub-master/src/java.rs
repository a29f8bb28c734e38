//! The order in which Java walks its hash maps, which is the order of every table that a real master sends.

use std::collections::BTreeMap;

/// Slots of the maps of topics and groups: `ConcurrentHashMap(1024)` rounds up to this.
pub(crate) const CONFIG_SLOTS: usize = 2048;
/// Slots of the map of consumer offsets: `ConcurrentHashMap(512)`.
pub(crate) const OFFSET_SLOTS: usize = 1024;
/// Slots of the accidental `groupTopicMap`.
pub(crate) const GROUP_TOPIC_SLOTS: usize = 128;
/// Slots of a map that was made without a size, as each page of topics and groups is.
pub(crate) const DEFAULT_SLOTS: usize = 16;

/// The entries of `map` as Java iterates a hash map of `slots` slots that grew as it filled.
///
/// Keys of one slot come by name instead of by age, the one thing that differs.
pub(crate) fn hash_order<K: AsRef<str>, V>(map: &BTreeMap<K, V>, slots: usize) -> Vec<(&str, &V)> {
    let mask = grown(slots, map.len()) - 1;
    let mut entries: Vec<(u32, (&str, &V))> = map
        .iter()
        .map(|(key, value)| (key.as_ref(), value))
        .map(|entry| (slot(entry.0, mask), entry))
        .collect();
    entries.sort_by_key(|(slot, _)| *slot);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// A table doubles when it is three quarters full.
fn grown(slots: usize, len: usize) -> u32 {
    let mut slots = slots;
    while len > slots / 4 * 3 {
        slots *= 2;
    }
    u32::try_from(slots).unwrap_or(1 << 30)
}

fn slot(key: &str, mask: u32) -> u32 {
    let hash = key.encode_utf16().fold(0_u32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    });
    (hash ^ (hash >> 16)) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hash_as_in_java() {
        // "Aa" and "BB" are Java's best known collision (2112), "C1" is 2126.
        assert_eq!(slot("Aa", u32::MAX), 2112);
        assert_eq!(slot("BB", u32::MAX), 2112);
        assert_eq!(slot("C1", u32::MAX), 2126);
    }

    #[test]
    fn a_map_doubles_when_three_quarters_are_used() {
        assert_eq!(grown(16, 12), 16);
        assert_eq!(grown(16, 13), 32);
    }
}

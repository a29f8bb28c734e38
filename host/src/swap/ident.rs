//! What makes two policies the same for swapping.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::hash::sha256;

/// A component with the operator's settings: what is live, good, quarantined or accepted goes by this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ident {
    /// SHA-256 in hex over the component's hash and the settings by name, defaults not filled in.
    pub(crate) id: String,
    /// SHA-256 of the component's bytes, in hex.
    pub(crate) sha256: String,
}

impl Ident {
    /// Of a component with that hash, and what the operator set for it.
    pub(crate) fn new(component: &str, settings: &BTreeMap<String, String>) -> Self {
        let mut canonical = component.to_owned();
        for text in settings.iter().flat_map(|(name, value)| [name, value]) {
            // With its length, so that no two lists of settings read the same. Writing to a string does not fail.
            let _ = write!(canonical, "\n{}:{text}", text.len());
        }
        Self {
            id: sha256(canonical.as_bytes()),
            sha256: component.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn component_and_settings_both_count() {
        let ident = |component: &str, settings: &[(&str, &str)]| {
            let settings = settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Ident::new(component, &settings.collect()).id
        };
        let plain = ident("ab", &[]);
        assert_eq!(plain, ident("ab", &[]));
        assert_eq!(
            ident("ab", &[("a", "1"), ("b", "2")]),
            ident("ab", &[("b", "2"), ("a", "1")]),
            "in canonical order"
        );
        let others = [
            ident("ac", &[]),
            ident("ab", &[("a", "1")]),
            ident("ab", &[("a", "2")]),
            ident("ab", &[("a", "1\n1:b\n1:2")]),
            ident("ab", &[("a", "1"), ("b", "2")]),
        ];
        for (place, one) in others.iter().enumerate() {
            assert_ne!(*one, plain);
            assert!(others.iter().skip(place + 1).all(|other| other != one));
        }
    }
}

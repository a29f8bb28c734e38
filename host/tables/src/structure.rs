//! Whether two JSON texts say the same, whatever the order of their members.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::dialect::{Scanner, Text};
use crate::error::Fault;
use crate::limits::{MAX_DEPTH, MAX_DOCUMENT_BYTES, ReadLimits};

/// A value taken apart. Numbers stay as they are written, so that 64-bit integers are exact.
#[derive(Debug, PartialEq, Eq)]
enum Node<'a> {
    Plain(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Map(BTreeMap<Cow<'a, str>, Self>),
}

/// Compares two values, bytes first. Texts that are not JSON are the same only when their bytes are.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one == other || parse(one).is_some_and(|one| parse(other).is_some_and(|other| one == other))
}

fn parse(text: &str) -> Option<Node<'_>> {
    let limits = ReadLimits {
        bytes: MAX_DOCUMENT_BYTES,
        depth: MAX_DEPTH,
        entries: 0,
    };
    let mut scanner = Scanner::new(text.as_bytes(), &limits).ok()?;
    let node = node(&mut scanner).ok()?;
    scanner.end().ok().map(|()| node)
}

fn node<'a>(scanner: &mut Scanner<'a>) -> Result<Node<'a>, Fault> {
    match scanner.peek() {
        Some(b'{') => {
            let mut map = BTreeMap::new();
            scanner.fields(|scanner, key| {
                map.insert(decoded(key), node(scanner)?);
                Ok(())
            })?;
            Ok(Node::Map(map))
        }
        Some(b'[') => {
            let mut list = Vec::new();
            scanner.items(|scanner| {
                list.push(node(scanner)?);
                Ok(())
            })?;
            Ok(Node::List(list))
        }
        Some(b'"') => Ok(Node::Text(decoded(scanner.string()?))),
        Some(b'-' | b'0'..=b'9') => scanner.number().map(Node::Plain),
        _ => scanner.word().map(Node::Plain),
    }
}

/// What a text says; one with half a character stands for itself.
fn decoded(text: Text<'_>) -> Cow<'_, str> {
    text.decode().unwrap_or(Cow::Borrowed(text.raw))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn order_of_members_and_spelling_do_not_count() {
        assert!(same(
            r#"{"a":1,"b":[{"c":2,"d":3}]}"#,
            r#"{"b":[{"d":3,"c":2}],"a":1}"#
        ));
        assert!(same(r#"{"a":"\u0041\/"}"#, r#"{"a":"A/"}"#));
        assert!(same(r#"{"0":1,"0":2}"#, r#"{"0":2}"#));
    }

    #[test]
    fn everything_else_counts() {
        for (one, other) in [
            ("[1,2]", "[2,1]"),
            ("9007199254740993", "9007199254740992"),
            ("1", "1.0"),
            (r#""1""#, "1"),
            ("null", r#""null""#),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
            ("true", "false"),
            (r#"{"a":"x y"}"#, r#"{"a":"xy"}"#),
        ] {
            assert!(!same(one, other), "{one} {other}");
            assert!(same(one, one));
        }
    }
}

//! Lists in the order of their keys: brought into it, and two walked at once.

use std::cmp::Ordering;
use std::iter::{Peekable, from_fn};

/// Brings a list into order; of equal items only the last one stays, as fastjson reads duplicate keys.
pub(crate) fn sort_last_wins<T>(items: &mut Vec<T>, order: impl Fn(&T, &T) -> Ordering) {
    items.sort_by(&order);
    items.dedup_by(|later, kept| {
        let twice = order(later, kept).is_eq();
        if twice {
            std::mem::swap(later, kept);
        }
        twice
    });
}

/// Every key of either list, in order, with what each list has there. Both must be in the order of their keys, each key
/// once.
pub(crate) fn join<'a, A, B>(
    left: impl Iterator<Item = (&'a str, A)>,
    right: impl Iterator<Item = (&'a str, B)>,
) -> impl Iterator<Item = (&'a str, Option<A>, Option<B>)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    from_fn(move || match next(&mut left, &mut right)? {
        Ordering::Less => left.next().map(|(key, a)| (key, Some(a), None)),
        Ordering::Greater => right.next().map(|(key, b)| (key, None, Some(b))),
        Ordering::Equal => left
            .next()
            .zip(right.next())
            .map(|((key, a), (_, b))| (key, Some(a), Some(b))),
    })
}

/// Which list has the next key: the left one (less), the right one, or both.
fn next<'a, A, B>(
    left: &mut Peekable<impl Iterator<Item = (&'a str, A)>>,
    right: &mut Peekable<impl Iterator<Item = (&'a str, B)>>,
) -> Option<Ordering> {
    match (left.peek(), right.peek()) {
        (Some((left, _)), Some((right, _))) => Some(left.cmp(right)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{join, sort_last_wins};

    #[test]
    fn the_last_of_equal_items_stays() {
        let mut items = vec![("b", 1), ("a", 2), ("b", 3), ("b", 4), ("a", 5)];
        sort_last_wins(&mut items, |one, other| one.0.cmp(other.0));
        assert_eq!(items, [("a", 5), ("b", 4)]);
    }

    #[test]
    fn has_every_key_once() {
        let left = [("a", 1), ("c", 2), ("d", 3)];
        let right = [("b", 10), ("c", 20)];
        let joined: Vec<_> = join(left.into_iter(), right.into_iter()).collect();
        assert_eq!(
            joined,
            [
                ("a", Some(1), None),
                ("b", None, Some(10)),
                ("c", Some(2), Some(20)),
                ("d", Some(3), None),
            ]
        );
    }
}

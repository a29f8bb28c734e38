//! Patterns of names: `*` is any text, also none, `?` any one character. A pattern matches a whole name.

use locum_sdk::Failure;

/// At least one pattern.
pub(crate) struct Patterns(Vec<Vec<char>>);

impl Patterns {
    /// Reads patterns separated by commas; blanks around them do not count. No name has a comma, `*` or `?` in it.
    pub(crate) fn read(text: &str) -> Result<Self, Failure> {
        let pattern = |text: &str| text.trim().chars().collect::<Vec<_>>();
        let patterns: Vec<_> = text
            .split(',')
            .map(pattern)
            .filter(|pattern| !pattern.is_empty())
            .collect();
        if patterns.is_empty() {
            return Err(Failure::invalid(
                "setting `keep` has no pattern; `*` keeps every topic",
            ));
        }
        Ok(Self(patterns))
    }

    /// Whether one of the patterns matches the whole name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, name))
    }
}

/// Goes on greedily, and back to the last `*` only: never more than pattern times name steps.
fn matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut last_star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                last_star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((star, taken)) = last_star else {
                    return false;
                };
                last_star = Some((star, taken + 1));
                p = star + 1;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patterns: &str, name: &str, expected: bool) {
        let matched = Patterns::read(patterns).unwrap().matches(name);
        assert_eq!(matched, expected, "`{patterns}` on `{name}`");
    }

    #[test]
    fn a_pattern_is_anchored_at_both_ends() {
        check("T1", "T1", true);
        check("T1", "T10", false);
        check("T1", "xT1", false);
    }

    #[test]
    fn a_star_is_any_text_also_none() {
        check("orders*", "orders", true);
        check("orders*", "orders-eu", true);
        check("*-eu", "orders-eu", true);
        check("*-eu", "orders-eu-old", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("*", "", true);
    }

    #[test]
    fn a_question_mark_is_one_character() {
        check("T?", "T1", true);
        check("T?", "T", false);
        check("T?", "T\u{e9}", true);
        check("T??", "T1", false);
    }

    #[test]
    fn one_of_many_patterns_is_enough() {
        check(" orders-* , %RETRY%*,", "%RETRY%billing", true);
        check("orders-*,%RETRY%*", "billing", false);
    }

    #[test]
    fn no_pattern_at_all_is_refused() {
        assert!(matches!(Patterns::read(" , "), Err(Failure::Invalid(_))));
    }

    #[test]
    fn many_stars_do_not_explode() {
        check("*a*a*a*a*a*a*a*a*a*a*b", &"a".repeat(2000), false);
    }
}

//! Reading what a broker calls JSON.
//!
//! On purpose not the reader of the tables: tests compare what that one made of an answer with the answer itself.

use serde_json::Value;

use crate::Error;

/// A broker's JSON, whose integer keys are bare.
pub(crate) fn parse(body: &[u8]) -> Result<Value, Error> {
    let text = str::from_utf8(body).map_err(Error::malformed)?;
    serde_json::from_str(&quote_bare_keys(text)).map_err(Error::malformed)
}

/// The same text with each bare number before a colon in quotes.
fn quote_bare_keys(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '-' | '0'..='9' => rest
                .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
                .unwrap_or(rest.len()),
            other => other.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let number = matches!(first, '-' | '0'..='9');
        let bare_key = number && after.trim_start().starts_with(':');
        let quote = if bare_key { "\"" } else { "" };
        quoted.extend([quote, token, quote]);
        rest = after;
    }
    quoted
}

/// How long the string at the start of the text is, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn quotes_bare_keys_and_nothing_else() {
        let body =
            br#"{"a:1@\"{2:":{0:-1 , 17 :9007199254740993},"list":[1,-2,{3:"4:"}],"x":null}"#;
        let expected = json!({
            "a:1@\"{2:": {"0": -1, "17": 9_007_199_254_740_993_i64},
            "list": [1, -2, {"3": "4:"}],
            "x": null,
        });
        assert_eq!(parse(body).unwrap(), expected);
    }
}

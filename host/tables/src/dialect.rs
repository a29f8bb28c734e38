//! The JSON that Java brokers write and read, fastjson's dialect, in one pass.
//!
//! It is JSON with these differences: integer map keys are bare at any depth (`{0:12}`, all versions, on the wire and on
//! disk), identifiers may be bare too; a byte order mark and a comma before a closing bracket are read, as Java reads
//! them. What comes out is plain JSON on one line: keys quoted, no white space between tokens, everything else byte for
//! byte, 64-bit integers included. `$ref` is refused. Of duplicate keys the last one wins: among a table's entries and a
//! document's members only that one is kept; inside a value all are, as every reader takes the last.

use std::borrow::Cow;

use crate::error::{Fault, ReadError, ReadProblem};
use crate::limits::{MAX_DEPTH, MAX_DOCUMENT_BYTES, ReadLimits};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Plain JSON out of any document that a Java broker or name server wrote, for a reader such as `serde_json`.
///
/// ```
/// # use locum_tables::{ReadLimits, dialect};
/// let body = br#"{"brokerAddrs":{0:"[::1]:10911", -1:"a:{0:1}"}}"#;
/// let json = dialect::to_json(body, &ReadLimits::default())?;
/// assert_eq!(json, r#"{"brokerAddrs":{"0":"[::1]:10911","-1":"a:{0:1}"}}"#);
/// # Ok::<(), locum_tables::ReadError>(())
/// ```
///
/// # Errors
/// When the document is not whole and well formed in this dialect, is not UTF-8, or passes the limits (the one on
/// entries is not asked here).
pub fn to_json(document: &[u8], limits: &ReadLimits) -> Result<String, ReadError> {
    let mut scanner = Scanner::new(document, limits)?;
    scanner.out.reserve(document.len());
    let scan = |scanner: &mut Scanner<'_>| {
        scanner.space();
        scanner.text(Scanner::value)?;
        scanner.end()
    };
    scan(&mut scanner).map_err(|fault| fault.within(document))?;
    Ok(scanner.out)
}

/// A key or string as it stands in the document, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) raw: &'a str,
    /// Where it starts in the document.
    pub(crate) at: usize,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// What the text says; an error when an escape stands for half a character.
    pub(crate) fn decode(&self) -> Result<Cow<'a, str>, Fault> {
        if !self.escaped {
            return Ok(Cow::Borrowed(self.raw));
        }
        serde_json::from_str(&format!("\"{}\"", self.raw))
            .map(Cow::Owned)
            .map_err(|_| Fault {
                problem: ReadProblem::Surrogate,
                at: self.at,
            })
    }

    fn is_reference(&self) -> bool {
        self.raw == "$ref" || (self.escaped && self.decode().is_ok_and(|text| text == "$ref"))
    }
}

/// One pass over a document. What is read between [`Scanner::text`]'s start and end goes to `out` as plain JSON, copied
/// in runs as long as nothing has to change; what is read outside is only checked.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    input: &'a str,
    at: usize,
    /// Start of the run that is read and not yet copied.
    run: usize,
    copying: bool,
    depth: usize,
    max_depth: usize,
    pub(crate) out: String,
}

impl<'a> Scanner<'a> {
    /// Starts at the document's first byte; size and UTF-8 are checked here.
    pub(crate) fn new(document: &'a [u8], limits: &ReadLimits) -> Result<Self, ReadError> {
        let limit = limits.bytes.min(MAX_DOCUMENT_BYTES);
        let size = document.len();
        let refuse = |problem, at| Fault { problem, at }.within(document);
        if size > limit {
            return Err(refuse(ReadProblem::TooLarge { size, limit }, 0));
        }
        let input = std::str::from_utf8(document)
            .map_err(|error| refuse(ReadProblem::NotUtf8, error.valid_up_to()))?;
        let at = if input.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        Ok(Self {
            input,
            at,
            run: at,
            copying: false,
            depth: 0,
            max_depth: limits.depth.min(MAX_DEPTH),
            out: String::new(),
        })
    }

    /// Where the scanner stands, in bytes from the document's start.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.input.as_bytes().get(self.at).copied()
    }

    /// Appends to `out`, as plain JSON, what `scan` reads.
    pub(crate) fn text(
        &mut self,
        scan: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.run = self.at;
        self.copying = true;
        scan(self)?;
        self.flush();
        self.copying = false;
        Ok(())
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(ReadProblem::Trailing)),
        }
    }

    /// Any value.
    pub(crate) fn value(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'{') => self.fields(|scanner, _| scanner.value()),
            Some(b'[') => self.items(Self::value),
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(_) => self.word().map(drop),
            None => Err(self.fault(ReadProblem::Truncated)),
        }
    }

    /// An object: `each` is called at each value, with its key, and reads the value.
    pub(crate) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, Text<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'{', "an object")?;
        while !self.close(b'}') {
            let key = self.key()?;
            self.space();
            self.expect(b':', "a colon after the key")?;
            self.space();
            each(self, key)?;
            self.comma(b'}', "a comma or the end of the object")?;
        }
        Ok(())
    }

    /// An array: `each` is called at each item and reads it.
    pub(crate) fn items(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'[', "an array")?;
        while !self.close(b']') {
            each(self)?;
            self.comma(b']', "a comma or the end of the array")?;
        }
        Ok(())
    }

    /// A quoted string.
    pub(crate) fn string(&mut self) -> Result<Text<'a>, Fault> {
        let start = self.at + 1;
        let mut escaped = false;
        self.expect(b'"', "a string")?;
        loop {
            let rest = &self.input.as_bytes()[self.at..];
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | ..0x20));
            self.at += plain.unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault(ReadProblem::ControlCharacter)),
                None => return Err(self.fault(ReadProblem::Truncated)),
            }
            escaped = true;
        }
        let raw = &self.input[start..self.at];
        self.at += 1;
        Ok(Text {
            raw,
            at: start,
            escaped,
        })
    }

    /// A number, as JSON writes it; its text.
    pub(crate) fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        self.skip(b"-");
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        Ok(&self.input[start..self.at])
    }

    /// A 64-bit integer; `expected` names it in the error.
    pub(crate) fn integer(&mut self, expected: &'static str) -> Result<i64, Fault> {
        let at = self.at;
        let invalid = Fault {
            problem: ReadProblem::InvalidValue(expected),
            at,
        };
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(invalid);
        }
        self.number()?.parse().map_err(|_| invalid)
    }

    /// `true`, `false` or `null`.
    pub(crate) fn word(&mut self) -> Result<&'static str, Fault> {
        let rest = &self.input[self.at..];
        let found = ["true", "false", "null"]
            .into_iter()
            .find(|word| rest.starts_with(word));
        let word = found.ok_or_else(|| self.fault(ReadProblem::Expected("a value")))?;
        self.at += word.len();
        Ok(word)
    }

    /// Skips white space, which is never copied.
    pub(crate) fn space(&mut self) {
        let blank = blanks(&self.input.as_bytes()[self.at..]);
        if blank > 0 {
            self.leave_out(blank);
        }
    }

    /// A fault at the place where the scanner stands.
    pub(crate) fn fault(&self, problem: ReadProblem) -> Fault {
        Fault {
            problem,
            at: self.at,
        }
    }

    fn open(&mut self, bracket: u8, what: &'static str) -> Result<(), Fault> {
        if self.depth == self.max_depth {
            return Err(self.fault(ReadProblem::TooDeep(self.max_depth)));
        }
        self.expect(bracket, what)?;
        self.depth += 1;
        self.space();
        Ok(())
    }

    fn close(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    /// A comma, unless `bracket` follows; one right before it is left out, since Java reads it and JSON does not.
    fn comma(&mut self, bracket: u8, what: &'static str) -> Result<(), Fault> {
        self.space();
        if self.peek() == Some(bracket) {
            return Ok(());
        }
        let before = self.at;
        self.expect(b',', what)?;
        let bytes = self.input.as_bytes();
        if bytes.get(self.at + blanks(&bytes[self.at..])) == Some(&bracket) {
            self.at = before;
            self.leave_out(1);
        }
        self.space();
        Ok(())
    }

    fn key(&mut self) -> Result<Text<'a>, Fault> {
        let key = match self.peek() {
            Some(b'"') => self.string()?,
            _ => self.bare_key()?,
        };
        if key.is_reference() {
            return Err(Fault {
                problem: ReadProblem::Reference,
                at: key.at,
            });
        }
        Ok(key)
    }

    fn bare_key(&mut self) -> Result<Text<'a>, Fault> {
        let at = self.at;
        let length = bare_length(&self.input.as_bytes()[at..]);
        if length == 0 {
            return Err(self.expected("a key"));
        }
        self.flush();
        self.insert('"');
        self.at += length;
        self.flush();
        self.insert('"');
        Ok(Text {
            raw: &self.input[at..self.at],
            at,
            escaped: false,
        })
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let rest = &self.input.as_bytes()[self.at..];
        let length = match rest {
            [
                _,
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                ..,
            ] => 2,
            [_, b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => {
                6
            }
            _ => return Err(self.fault(ReadProblem::Escape)),
        };
        self.at += length;
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let digits = digits(&self.input.as_bytes()[self.at..]);
        if digits == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += digits;
        Ok(())
    }

    fn skip(&mut self, any: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| any.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    fn expected(&self, what: &'static str) -> Fault {
        self.fault(match self.peek() {
            Some(_) => ReadProblem::Expected(what),
            None => ReadProblem::Truncated,
        })
    }

    fn flush(&mut self) {
        if self.copying {
            self.out.push_str(&self.input[self.run..self.at]);
        }
        self.run = self.at;
    }

    fn insert(&mut self, quote: char) {
        if self.copying {
            self.out.push(quote);
        }
    }

    fn leave_out(&mut self, bytes: usize) {
        self.flush();
        self.at += bytes;
        self.run = self.at;
    }
}

fn blanks(bytes: &[u8]) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    bytes.iter().take_while(blank).count()
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// How long the bare key at the start of `bytes` is: an integer or an identifier; 0 when there is none.
fn bare_length(bytes: &[u8]) -> usize {
    let identifier = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    match bytes {
        [b'0'..=b'9', ..] => digits(bytes),
        [b'-', rest @ ..] if digits(rest) > 0 => 1 + digits(rest),
        _ => bytes.iter().take_while(identifier).count(),
    }
}

#[cfg(test)]
mod tests;

//! Values with units, as an operator writes them.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// A length of time: `"3s"`, `"200ms"`, `"1m 30s"`.
#[derive(Clone, Copy)]
pub(super) struct Span(Duration);

/// A number of bytes: `"256MiB"`, `"64 kB"`, `"1024"`.
#[derive(Clone, Copy)]
pub(super) struct Size(usize);

/// A part of a whole, from `"0%"` to `"100%"`: `"2.5%"`.
#[derive(Clone, Copy)]
pub(super) struct Share(f64);

/// Permission bits: `"0640"`.
pub(super) struct Mode(u32);

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl From<Size> for usize {
    fn from(size: Size) -> Self {
        size.0
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

impl From<Mode> for u32 {
    fn from(mode: Mode) -> Self {
        mode.0
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|span| Duration::try_from(span).ok())
            .map(Self)
            .ok_or_else(|| {
                D::Error::custom(format!(
                    "`{text}` is not a duration: write \"10s\" or \"200ms\""
                ))
            })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        bytes_of(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a size: write \"256MiB\" or \"64kB\""
            ))
        })
    }
}

fn bytes_of(text: &str) -> Option<usize> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        share_of(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a share from \"0%\" to \"100%\": write \"10%\" or \"2.5%\""
            ))
        })
    }
}

/// 0.1 for `"10%"`.
fn share_of(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    // What a float may be besides, such as "inf" or "1e2", nobody means here.
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let percent = number.parse::<f64>().ok().filter(|_| plain)?;
    (percent <= 100.0).then_some(percent / 100.0)
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 8)
            .ok()
            .filter(|mode| mode & 0o600 == 0o600 && *mode <= 0o777)
            .map(Self)
            .ok_or_else(|| {
                D::Error::custom(format!(
                    "`{text}` is not a file mode that its owner can read and write: write octal digits such as \"0644\""
                ))
            })
    }
}

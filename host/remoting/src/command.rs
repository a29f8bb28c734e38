//! One command: a request or its reply.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

use crate::sign::Shown;

/// `flag` bit of a reply.
const RESPONSE: i32 = 1;
/// `flag` bit of a request that wants no reply.
const ONEWAY: i32 = 2;
/// What our requests say they are: V4_9_4 (`MQVersion`). From it on 105 is answered as standard JSON, and below 441
/// a server never answers GO_AWAY instead of the table.
const OUR_VERSION: i32 = 401;

/// The peer's language by its number (`LanguageCode.java`). Nothing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Language(pub u8);

impl Language {
    /// What our requests say, since strict peers refuse names they do not know.
    pub const JAVA: Self = Self(0);
    /// A language without a number of its own.
    pub const OTHER: Self = Self(7);

    const NAMES: [&'static str; 14] = [
        "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO",
        "PHP", "OMS", "RUST", "NODE_JS",
    ];

    /// The name that the JSON header form uses; `OTHER` for a number without one.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES
            .get(usize::from(self.0))
            .copied()
            .unwrap_or("OTHER")
    }

    /// The language of a name; [`Language::OTHER`] for one that is not known.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let numbers = 0u8..;
        numbers
            .zip(Self::NAMES)
            .find(|(_, known)| *known == name)
            .map_or(Self::OTHER, |(number, _)| Self(number))
    }
}

/// A request or a reply, whatever its header form was (`RemotingCommand.java`).
#[derive(Clone, PartialEq, Default)]
pub struct Command {
    /// What is asked ([`code`](crate::code)), or how it went ([`response`](crate::response)).
    pub code: i32,
    /// Who sent it.
    pub language: Language,
    /// The sender's version: the ordinal of `MQVersion.Version`, 0 when it did not say.
    pub version: i32,
    /// Chosen by the requester, echoed in the reply.
    pub opaque: i32,
    /// Bit 0: a reply. Bit 1: no reply wanted.
    pub flag: i32,
    /// A text for people, mostly why a request failed.
    pub remark: Option<String>,
    /// Fields beyond the header, always text. Absent, null and empty are the same here.
    pub ext_fields: BTreeMap<String, String>,
    /// The rest of the frame.
    pub body: Bytes,
}

impl Command {
    /// A request with this code, without fields and body.
    #[must_use]
    pub fn request(code: i32) -> Self {
        Self {
            code,
            version: OUR_VERSION,
            ..Self::default()
        }
    }

    /// The reply to this request, with that response code: same opaque, no remark, no fields, no body.
    #[must_use]
    pub fn reply(&self, code: i32) -> Self {
        Self {
            code,
            version: OUR_VERSION,
            opaque: self.opaque,
            flag: RESPONSE,
            ..Self::default()
        }
    }

    /// Whether this is a reply.
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.flag & RESPONSE != 0
    }

    /// Whether the sender wants no reply.
    #[must_use]
    pub fn is_oneway(&self) -> bool {
        self.flag & ONEWAY != 0
    }

    /// The same with one more ext field.
    #[must_use]
    pub fn with_ext(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.ext_fields.insert(name.into(), value.into());
        self
    }

    /// The same with this body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The same with this remark.
    #[must_use]
    pub fn with_remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }
}

/// Without the values that make a signature: a command may end up in a log.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            language,
            version,
            opaque,
            flag,
            remark,
            ext_fields,
            body,
        } = self;
        f.debug_struct("Command")
            .field("code", code)
            .field("language", language)
            .field("version", version)
            .field("opaque", opaque)
            .field("flag", flag)
            .field("remark", remark)
            .field("ext_fields", &Shown(ext_fields))
            .field("body", body)
            .finish()
    }
}

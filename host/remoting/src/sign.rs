//! Signatures: who asks. Client and server build them alike in both generations of RocketMQ's access control
//! (`AclClientRPCHook` and `AclUtils` up to 5.3, `auth`'s `DefaultAuthenticationContextBuilder` from 5.3 on).

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha1::Sha1;

use crate::command::Command;

const ACCESS_KEY: &str = "AccessKey";
const SECURITY_TOKEN: &str = "SecurityToken";
const SIGNATURE: &str = "Signature";

/// What stands where a secret would.
const HIDDEN: &str = "***";

/// A text that is shown to nobody: its debug print is empty of it, and it can be neither displayed nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret in.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// With what requests are signed: an account of the master's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    access_key: String,
    secret_key: Secret,
    security_token: Option<Secret>,
}

impl Credentials {
    /// An access key, which is a user's name and is sent, and its secret key, which never is.
    #[must_use]
    pub fn new(access_key: impl Into<String>, secret_key: Secret) -> Self {
        Self {
            access_key: access_key.into(),
            secret_key,
            security_token: None,
        }
    }

    /// The same with a token that is sent along, as temporary keys of cloud providers need it.
    #[must_use]
    pub fn with_security_token(mut self, token: Secret) -> Self {
        self.security_token = Some(token);
        self
    }

    /// The request with its signature, in place of one that it may have had. Nothing that it has may change afterwards
    /// but its opaque.
    ///
    /// Send a request with an empty value in the JSON header form only: in the binary one Java reads `null` for it, and
    /// computes another signature.
    #[must_use]
    pub fn sign(&self, command: Command) -> Command {
        let mut command = command.with_ext(ACCESS_KEY, &self.access_key);
        if let Some(Secret(token)) = &self.security_token {
            command = command.with_ext(SECURITY_TOKEN, token);
        }
        let signature = signature(&command, &self.secret_key);
        command.with_ext(SIGNATURE, signature)
    }

    /// A peer's text without our secrets, wherever it may have them from: it was sent `signed`.
    #[must_use]
    pub fn conceal(&self, text: String, signed: &Command) -> String {
        let sent = signed.ext_fields.iter().filter(|(name, _)| is_secret(name));
        let Secret(secret_key) = &self.secret_key;
        sent.map(|(_, value)| value)
            .chain([secret_key])
            .filter(|secret| !secret.is_empty())
            .fold(text, |text, secret| text.replace(secret.as_str(), HIDDEN))
    }
}

/// Whether nobody may see the value of this ext field. Signatures too: of a request without other fields it is always the
/// same, and who has it can ask.
fn is_secret(name: &str) -> bool {
    name == SECURITY_TOKEN || name == SIGNATURE
}

/// The HMAC-SHA1 in Base64 of all values in the order of their names, one after the other, and the body. Java orders by
/// UTF-16 units, which for the names of RocketMQ's fields is the same.
fn signature(command: &Command, Secret(secret): &Secret) -> String {
    let mut hmac =
        Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    for (name, value) in &command.ext_fields {
        if name != SIGNATURE {
            hmac.update(value.as_bytes());
        }
    }
    hmac.update(&command.body);
    STANDARD.encode(hmac.finalize().into_bytes())
}

/// Ext fields as they may be printed.
pub(crate) struct Shown<'a>(pub(crate) &'a BTreeMap<String, String>);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(name, value)| {
            let value = if is_secret(name) { HIDDEN } else { value };
            (name, value)
        });
        f.debug_map().entries(shown).finish()
    }
}

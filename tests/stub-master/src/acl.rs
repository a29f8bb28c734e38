//! Who may ask: signatures are checked as real masters do, with the texts that they refuse with.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use locum_remoting::{Command, response};
use sha1::Sha1;

use crate::answer::Answer;
use crate::dialect::Dialect;

/// Secret keys by access key; none where everybody may ask.
#[derive(Debug, Default)]
pub(crate) struct Acl(Mutex<Option<BTreeMap<String, String>>>);

/// What is wrong with a request.
#[derive(Debug, Clone, Copy)]
enum Wrong<'a> {
    NoAccessKey,
    NoSuchUser(&'a str),
    Signature(&'a str),
}

impl Acl {
    pub(crate) fn set(&self, accounts: Option<BTreeMap<String, String>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = accounts;
    }

    /// The refusal of a request that is not signed by somebody who is known.
    pub(crate) fn refusal(&self, dialect: Dialect, request: &Command) -> Option<Answer> {
        let accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = wrong(accounts.as_ref()?, &request.ext_fields, &request.body)?;
        Some(match dialect {
            Dialect::V4_9 => Answer::error(response::SYSTEM_ERROR, &wrong.in_4_9()),
            Dialect::V5_0 | Dialect::V5_5 => Answer::error(response::NO_PERMISSION, &wrong.in_5()),
        })
    }
}

fn wrong<'a>(
    accounts: &BTreeMap<String, String>,
    fields: &'a BTreeMap<String, String>,
    body: &[u8],
) -> Option<Wrong<'a>> {
    let Some(access_key) = fields.get("AccessKey") else {
        return Some(Wrong::NoAccessKey);
    };
    let Some(secret_key) = accounts.get(access_key) else {
        return Some(Wrong::NoSuchUser(access_key));
    };
    // On purpose not what the client signs with.
    let mut content = Vec::new();
    for (_, value) in fields.iter().filter(|(name, _)| *name != "Signature") {
        content.extend_from_slice(value.as_bytes());
    }
    content.extend_from_slice(body);
    let expected = Hmac::<Sha1>::new_from_slice(secret_key.as_bytes())
        .ok()
        .map(|hmac| hmac.chain_update(content).finalize().into_bytes())
        .map(|digest| STANDARD.encode(digest));
    (fields.get("Signature") != expected.as_ref()).then_some(Wrong::Signature(access_key))
}

impl Wrong<'_> {
    /// As 4.9.7 was captured.
    fn in_4_9(self) -> String {
        let (what, line) = match self {
            Self::NoAccessKey => ("No accessKey is configured".to_owned(), 663),
            Self::NoSuchUser(user) => (format!("No acl config for {user}"), 667),
            Self::Signature(user) => (format!("Check signature failed for accessKey={user}"), 683),
        };
        format!(
            "org.apache.rocketmq.acl.common.AclException: {what}, \
             org.apache.rocketmq.acl.plain.PlainPermissionManager.validate(PlainPermissionManager.java:{line})"
        )
    }

    /// As 5.4.0 was captured, with its own access control.
    fn in_5(self) -> String {
        match self {
            Self::NoAccessKey => "username cannot be null.".to_owned(),
            Self::NoSuchUser(user) => format!("User:{user} is not found."),
            Self::Signature(_) => "check signature failed.".to_owned(),
        }
    }
}

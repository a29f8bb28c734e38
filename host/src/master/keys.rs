//! The keys that requests are signed with, from the operator's files.
//!
//! They are read for each request anew: three small files each few seconds cost nothing, and nothing has to be noticed
//! when an operator, a cron job or a secret store exchanges them, by whatever means.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use locum_remoting::{Credentials, Secret};

use crate::config::AclConfig;

/// No key or token is longer.
const LONGEST: u64 = 64 * 1024;

/// Why there is no key. The text names the file, and never has anything of what is in it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the file {} (`{key}`) {problem}", path.display())]
pub struct KeyError {
    /// The file's key in the configuration.
    key: &'static str,
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug, Clone, thiserror::Error)]
enum Problem {
    // The kind and the system's own words, not the error: it would be the only thing here that is not plain.
    #[error("cannot be read ({0}): put the key there, for the user that this runs as to read")]
    Unreadable(String),
    #[error("is no regular file: write the key into one")]
    NoFile,
    #[error("is empty: write the key into it")]
    Empty,
    #[error("is longer than {LONGEST} bytes: it shall hold the key and nothing else")]
    TooLong,
    #[error("is not text in UTF-8: it shall hold the key and nothing else")]
    NotText,
    #[error("has more than one line: it shall hold the key and nothing else")]
    Lines,
}

/// Reads the files as they are now. Blocking.
///
/// # Errors
///
/// When one of them is missing, cannot be read, or holds no key.
pub(crate) fn read(files: &AclConfig) -> Result<Credentials, KeyError> {
    let access_key = key("access-key-file", &files.access_key_file)?;
    let secret_key = key("secret-key-file", &files.secret_key_file)?;
    let credentials = Credentials::new(access_key, Secret::new(secret_key));
    match &files.security_token_file {
        None => Ok(credentials),
        Some(file) => {
            let token = key("security-token-file", file)?;
            Ok(credentials.with_security_token(Secret::new(token)))
        }
    }
}

fn key(key: &'static str, path: &Path) -> Result<String, KeyError> {
    content(path)
        .and_then(only_line)
        .map_err(|problem| KeyError {
            key,
            path: path.to_owned(),
            problem,
        })
}

fn content(path: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: io::Error| Problem::Unreadable(error.to_string());
    // Before it is opened: a pipe without a writer would hold the opening up.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(Problem::NoFile);
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut file = file.take(LONGEST + 1);
    file.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > LONGEST {
        return Err(Problem::TooLong);
    }
    Ok(content)
}

/// Editors and `echo` end a line; the end is no part of a key.
fn only_line(content: Vec<u8>) -> Result<String, Problem> {
    let text = String::from_utf8(content).map_err(|_| Problem::NotText)?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.trim().is_empty() {
        return Err(Problem::Empty);
    }
    if line.contains(['\r', '\n']) {
        return Err(Problem::Lines);
    }
    Ok(line.to_owned())
}

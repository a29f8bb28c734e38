//! `[replica.NAME.acl]`: where the keys are. What is in the files, nobody here reads.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `[replica.NAME.acl]`: the files with the keys that requests are signed with. They are read for each request anew, so
/// that keys are exchanged by exchanging the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclConfig {
    /// Holds the access key: the user's name.
    pub access_key_file: PathBuf,
    /// Holds the secret key: the user's password.
    pub secret_key_file: PathBuf,
    /// Holds the token that is sent along, where the keys are temporary ones.
    pub security_token_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AclTable {
    access_key_file: PathBuf,
    secret_key_file: PathBuf,
    security_token_file: Option<PathBuf>,
}

impl AclTable {
    pub(super) fn resolve(self, base: &Path) -> Result<AclConfig, String> {
        let file =
            |key, path| checked_file(base, key, path).map_err(|error| format!("acl: {error}"));
        let token = self.security_token_file;
        let token = token.map(|path| file("security-token-file", path));
        Ok(AclConfig {
            access_key_file: file("access-key-file", self.access_key_file)?,
            secret_key_file: file("secret-key-file", self.secret_key_file)?,
            security_token_file: token.transpose()?,
        })
    }
}

fn checked_file(base: &Path, key: &str, path: PathBuf) -> Result<PathBuf, String> {
    if path.as_os_str().is_empty() {
        return Err(format!("`{key}` is empty: name a file"));
    }
    Ok(base.join(path))
}

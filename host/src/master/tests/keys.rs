//! Files of keys, and what is made of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use locum_remoting::{Credentials, Secret};
use tempfile::TempDir;

use super::super::keys::read;
use crate::config::AclConfig;
use crate::telemetry::chain;

struct Keys(TempDir);

impl Keys {
    /// A user's name and key as they should be.
    fn new() -> Self {
        let keys = Self(TempDir::new().unwrap());
        keys.write("access", "user\n");
        keys.write("secret", "key\n");
        keys
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).unwrap();
    }

    fn files(&self) -> AclConfig {
        AclConfig {
            access_key_file: self.path().join("access"),
            secret_key_file: self.path().join("secret"),
            security_token_file: None,
        }
    }

    /// What is said of the file with the secret key.
    fn said(&self) -> String {
        let error = read(&self.files()).unwrap_err();
        let said = chain(&error);
        let names = format!(
            "the file {} (`secret-key-file`) ",
            self.files().secret_key_file.display()
        );
        let said = said.strip_prefix(&names);
        said.unwrap_or_else(|| panic!("{error}")).to_owned()
    }
}

fn user(secret: &str) -> Credentials {
    Credentials::new("user", Secret::new(secret))
}

#[test]
fn the_end_of_the_line_is_no_part_of_a_key_and_all_else_is() {
    let keys = Keys::new();
    for content in ["key", "key\n", "key\r\n", "key\n\n"] {
        keys.write("secret", content);
        assert_eq!(read(&keys.files()).unwrap(), user("key"), "{content:?}");
    }
    keys.write("secret", " k ey= \n");
    assert_eq!(read(&keys.files()).unwrap(), user(" k ey= "));

    keys.write("token", "a-token\n");
    let files = AclConfig {
        security_token_file: Some(keys.path().join("token")),
        ..keys.files()
    };
    let with_token = user(" k ey= ").with_security_token(Secret::new("a-token"));
    assert_eq!(read(&files).unwrap(), with_token);
    keys.write("token", "");
    let error = read(&files).unwrap_err().to_string();
    assert!(
        error.contains("/token (`security-token-file`) is empty"),
        "{error}"
    );
}

/// Secret stores exchange a link to a folder.
#[test]
fn links_are_followed_and_what_is_there_now_is_read() {
    let keys = Keys::new();
    for version in ["1", "2"] {
        fs::create_dir(keys.path().join(version)).unwrap();
        keys.write(&format!("{version}/secret"), version);
        let link = keys.path().join("link");
        symlink(version, &link).unwrap();
        fs::rename(&link, keys.path().join("now")).unwrap();
        let files = AclConfig {
            secret_key_file: keys.path().join("now/secret"),
            ..keys.files()
        };
        assert_eq!(read(&files).unwrap(), user(version));
    }
}

#[test]
fn what_is_no_key_is_named_and_not_shown() {
    let keys = Keys::new();
    let cases: [(&[u8], &str); 7] = [
        (b"", "is empty: write the key into it"),
        (b"\r\n", "is empty: write the key into it"),
        (b" \n", "is empty: write the key into it"),
        (
            b"user\nhush-hush\n",
            "has more than one line: it shall hold the key and nothing else",
        ),
        (
            b"\nhush-hush",
            "has more than one line: it shall hold the key and nothing else",
        ),
        (
            b"hush-\xff-hush",
            "is not text in UTF-8: it shall hold the key and nothing else",
        ),
        (
            &[b'h'; 65537],
            "is longer than 65536 bytes: it shall hold the key and nothing else",
        ),
    ];
    for (content, expected) in cases {
        keys.write("secret", content);
        assert_eq!(keys.said(), expected);
        let printed = format!("{:?}", read(&keys.files()).unwrap_err());
        assert!(!printed.contains("hush"), "{printed}");
    }
    let secret = keys.files().secret_key_file;
    fs::remove_file(&secret).unwrap();
    assert_eq!(
        keys.said(),
        "cannot be read (No such file or directory (os error 2)): put the key there, for the user that this runs as to read"
    );
    fs::create_dir(&secret).unwrap();
    assert_eq!(keys.said(), "is no regular file: write the key into one");
}

use super::*;

fn replica(acl: &str) -> Result<ReplicaConfig, String> {
    let text = format!("[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n[replica.a.acl]\n{acl}");
    read(&text).map(|mut config| config.replicas.remove("a").unwrap())
}

#[test]
fn files_of_keys_are_relative_to_the_configuration() {
    let acl = "access-key-file = 'keys/access'\nsecret-key-file = '/run/secrets/secret'";
    let expected = AclConfig {
        access_key_file: "/etc/locum/keys/access".into(),
        secret_key_file: "/run/secrets/secret".into(),
        security_token_file: None,
    };
    assert_eq!(replica(acl).unwrap().acl, Some(expected.clone()));
    let with_token = format!("{acl}\nsecurity-token-file = 'token'");
    let expected = AclConfig {
        security_token_file: Some("/etc/locum/token".into()),
        ..expected
    };
    assert_eq!(replica(&with_token).unwrap().acl, Some(expected));
    let none = read("[replica.a]\ndirectory = 'a'\nmaster = 'm:1'").unwrap();
    assert_eq!(none.replicas["a"].acl, None);
}

#[test]
fn a_bad_acl_table_says_what_is_wrong() {
    let cases = [
        ("", "missing field `access-key-file`"),
        ("access-key-file = 'a'", "missing field `secret-key-file`"),
        (
            "access-key-file = 'a'\nsecret-key = '12345678'",
            "unknown key `secret-key`: expected one of `access-key-file`",
        ),
        (
            "access-key-file = 'a'\nsecret-key-file = 's'\ntoken-file = 't'",
            "unknown key `token-file`",
        ),
        (
            "access-key-file = 'a'\nsecret-key-file = ''",
            "replica `a`: acl: `secret-key-file` is empty: name a file",
        ),
    ];
    for (acl, expected) in cases {
        let error = replica(acl).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains("12345678"), "{error}");
    }
}

#[test]
fn the_example_in_the_document_is_read() {
    let broker = "[replica.broker-a]\ndirectory = 'a'\nmaster = 'm:1'\n";
    let example = slots::example("Masters that want signatures");
    let config = read(&format!("{broker}{example}")).unwrap();
    let acl = config.replicas["broker-a"].acl.clone().unwrap();
    assert_eq!(acl.secret_key_file, Path::new("/etc/locum/keys/secret-key"));
}

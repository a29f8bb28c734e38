use super::*;

const NAMES: &str = "[replica.a]\ndirectory = 'a'\ncluster = 'C1'\nbroker = 'broker-a'\n";

fn replica(text: &str, environment: Option<&str>) -> Result<ReplicaConfig, String> {
    let path = Path::new("/etc/locum/locum.toml");
    let config = Config::resolved(text, path, environment).map_err(|error| error.to_string())?;
    Ok(config.replicas["a"].clone())
}

fn name_servers(text: &str, environment: Option<&str>) -> Vec<String> {
    let replica = replica(text, environment).unwrap();
    assert_eq!(replica.master, None);
    replica.lookup.unwrap().name_servers
}

#[test]
fn name_servers_find_a_master_by_its_names() {
    let text = format!(
        "{NAMES}name-servers = 'one:9876;127.0.0.1:9877'\n[replica.a.address-map]\n'10.1.2.3:10911' = '127.0.0.1:10911'\n"
    );
    let replica = replica(&text, Some("other:9876")).unwrap();
    let expected = LookupConfig {
        name_servers: vec!["one:9876".to_owned(), "127.0.0.1:9877".to_owned()],
        cluster: "C1".to_owned(),
        broker: "broker-a".to_owned(),
    };
    assert_eq!((replica.master, replica.lookup), (None, Some(expected)));
    let mapped = replica.address_map.get("10.1.2.3:10911");
    assert_eq!(mapped.map(String::as_str), Some("127.0.0.1:10911"));
}

#[test]
fn name_servers_are_separated_as_rocketmq_does() {
    let cases: [(&str, &[&str]); 4] = [
        ("a:1", &["a:1"]),
        ("a:1;b:2;", &["a:1", "b:2"]),
        (" a:1 ; ;b:2;a:1", &["a:1", "b:2"]),
        ("[::1]:9876;b:2", &["[::1]:9876", "b:2"]),
    ];
    for (list, expected) in cases {
        let text = format!("{NAMES}name-servers = '{list}'");
        assert_eq!(name_servers(&text, None), expected, "{list}");
        assert_eq!(name_servers(NAMES, Some(list)), expected, "{list}");
    }
}

#[test]
fn the_environment_is_for_replicas_that_name_neither() {
    let master = "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'";
    let replica = replica(master, Some("env:9876")).unwrap();
    assert_eq!(
        (replica.master.as_deref(), replica.lookup),
        (Some("m:1"), None)
    );
    let named = format!("{NAMES}name-servers = 'file:9876'");
    assert_eq!(name_servers(&named, Some("env:9876")), ["file:9876"]);
}

#[test]
fn half_a_way_to_a_master_is_refused_with_the_other_half() {
    let whole = "[replica.a]\ndirectory = 'a'\n";
    let cases = [
        (
            whole.to_owned(),
            None,
            "replica `a`: no master is named: write `master = \"host:port\"`, or `name-servers = \"host:port;host:port\"` with \
             `cluster` and `broker` (NAMESRV_ADDR is not set)",
        ),
        (whole.to_owned(), Some(""), "(NAMESRV_ADDR is not set)"),
        (
            whole.to_owned(),
            Some("n:9876"),
            "`cluster` is missing: name servers find a master by `cluster` and `broker`, or write `master = \"host:port\"`",
        ),
        (
            format!("{whole}name-servers = 'n:9876'\ncluster = 'C1'"),
            None,
            "`broker` is missing",
        ),
        (
            format!("{NAMES}master = 'm:1'"),
            None,
            "`cluster` is for a master that name servers find, and `master` names it: leave one of the two out",
        ),
        (
            format!("{whole}master = 'm:1'\naddress-map = {{ 'a:1' = 'b:2' }}"),
            None,
            "`address-map` is for a master that name servers find",
        ),
        (
            format!("{NAMES}name-servers = 'n'"),
            None,
            "`name-servers = \"n\"`: write \"host:port\"",
        ),
        (
            NAMES.to_owned(),
            Some("n:9876;m:0"),
            "`NAMESRV_ADDR = \"m:0\"`: write \"host:port\"",
        ),
        (
            format!("{NAMES}name-servers = ' ; '"),
            None,
            "`name-servers` is empty: write \"host:port\", or several with `;` between them",
        ),
        (
            format!("{NAMES}name-servers = 'n:1'\naddress-map = {{ 'a:1' = 'b' }}"),
            None,
            "`address-map = \"b\"`: write \"host:port\"",
        ),
        (
            format!("{NAMES}name-server = 'n:1'"),
            None,
            "unknown key `name-server`; did you mean `name-servers`?",
        ),
    ];
    for (text, environment, expected) in cases {
        let error = replica(&text, environment).unwrap_err();
        assert!(
            error.contains(expected),
            "{text}\n  said: {error}\n  want: {expected}"
        );
    }
}

#[test]
fn the_example_in_the_document_is_read() {
    let config = read(slots::example("Finding the master")).unwrap();
    let replica = &config.replicas["broker-a"];
    assert_eq!(replica.lookup.as_ref().unwrap().name_servers.len(), 2);
    assert_eq!(replica.address_map["10.1.2.3:10911"], "127.0.0.1:10911");
}

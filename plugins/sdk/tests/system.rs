//! What policies and the host's guards take for the broker's own is the same.
#![cfg(feature = "bench")]

use locum_sdk::system as policies;
use locum_tables::system as guards;

#[test]
fn the_lists_are_one() {
    assert_eq!(policies::TOPICS, guards::TOPICS);
    assert_eq!(policies::TOPIC_PREFIXES, guards::TOPIC_PREFIXES);
    assert_eq!(policies::REPLY_TOPIC_SUFFIX, guards::REPLY_TOPIC_SUFFIX);
    assert_eq!(policies::GROUP_TOPIC_PREFIXES, guards::GROUP_TOPIC_PREFIXES);
    assert_eq!(policies::GROUPS, guards::GROUPS);
    assert_eq!(policies::GROUP_PREFIX, guards::GROUP_PREFIX);
}

/// Both have a rule of their own around the lists: every name that either could stumble over, with every configuration.
#[test]
fn the_rules_are_one() {
    let stems = || guards::TOPICS.into_iter().chain(guards::GROUPS);
    let parts: Vec<&str> = stems()
        .chain(guards::TOPIC_PREFIXES)
        .chain(guards::GROUP_TOPIC_PREFIXES)
        .chain([guards::GROUP_PREFIX, guards::REPLY_TOPIC_SUFFIX])
        .chain(["", "x", "orders"])
        .collect();
    let configs = [
        "",
        "{}",
        r#"{"perm":6}"#,
        r#"{"perm":7,"order":false}"#,
        r#"{"order":false,"perm":1}"#,
        r#"{"perm":}"#,
        r#"{"perm":-1}"#,
        r#"{"perm":4294967297}"#,
    ];
    let mut topics = 0;
    for name in parts
        .iter()
        .flat_map(|one| parts.iter().map(move |other| format!("{one}{other}")))
    {
        assert_eq!(policies::is_group(&name), guards::is_group(&name), "{name}");
        for config in configs {
            let is_topic = guards::is_topic(&name, config);
            assert_eq!(
                policies::is_topic(&name, config),
                is_topic,
                "{name} {config}"
            );
            topics += usize::from(is_topic);
        }
    }
    assert!(topics > 0);
}

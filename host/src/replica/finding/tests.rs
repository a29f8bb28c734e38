//! What follows from a look-up, as a table.

use locum_tables::ReadLimits;

use super::*;
use crate::master::{ClusterInfo, ConnectError, NameServerError};

fn lookup() -> LookupConfig {
    LookupConfig {
        name_servers: vec!["ns0:9876".to_owned(), "ns1:9876".to_owned()],
        cluster: "C".to_owned(),
        broker: "b".to_owned(),
    }
}

/// Each name server says this of `b`'s addresses; empty: it knows nobody.
fn heard(answers: &[&str]) -> Heard {
    let answer = |(place, addresses): (usize, &&str)| {
        let brokers = match *addresses {
            "" => String::new(),
            addresses => format!(r#""b":{{"brokerAddrs":{{{addresses}}},"cluster":"C"}}"#),
        };
        let body = format!(r#"{{"brokerAddrTable":{{{brokers}}}}}"#);
        let info = ClusterInfo::read(body.as_bytes(), &ReadLimits::default()).unwrap();
        (Arc::from(format!("ns{place}:9876")), info)
    };
    Heard {
        answers: answers.iter().enumerate().map(answer).collect(),
        failures: Vec::new(),
    }
}

fn dead(address: &str) -> NameServerError {
    NameServerError::Unreachable {
        address: Arc::from(address),
        source: ConnectError::TimedOut(Duration::from_secs(1)),
    }
}

fn after(before: &Sight, heard: &Heard, doubted: bool) -> Sight {
    let map = BTreeMap::from([("192.0.2.1:10911".to_owned(), "127.0.0.1:7".to_owned())]);
    before.clone().after(heard, doubted, &lookup(), &map)
}

fn address(sight: &Sight) -> Option<&str> {
    sight.master.as_ref().map(|master| master.address.as_str())
}

/// After a look-up that found `m:1`.
fn seen() -> Sight {
    after(&Sight::default(), &heard(&[r#"0:"m:1""#]), false)
}

#[test]
fn id_0_is_the_master_and_is_said_to_be_found() {
    let sight = seen();
    let master = sight.master.clone().unwrap();
    assert_eq!(master.address, "m:1");
    assert_eq!(
        master.how.to_string(),
        "found by the name server at ns0:9876"
    );
    assert!(master.hint().contains("`address-map`"));
    assert_eq!((sight.unfound, sight.trouble), (None, None));
    let moved = after(&seen(), &heard(&[r#"0:"n:1""#]), false);
    assert_eq!(address(&moved), Some("n:1"));
}

/// apache/rocketmq#4140: the advertised address cannot be reached from here.
#[test]
fn report_41_an_advertised_address_is_mapped_and_told() {
    let sight = after(
        &Sight::default(),
        &heard(&[r#"0:"192.0.2.1:10911""#]),
        false,
    );
    let master = sight.master.unwrap();
    assert_eq!(master.address, "127.0.0.1:7");
    let how = "mapped from 192.0.2.1:10911, which was found by the name server at ns0:9876";
    assert_eq!(master.how.to_string(), how);
    assert!(master.is("127.0.0.1:7") && master.is("192.0.2.1:10911"));
    assert_eq!(master.hint(), format!("; 127.0.0.1:7 is {how}"));
}

#[test]
fn an_address_that_is_none_is_refused() {
    for address in ["", "m", "m:", ":1", "m:0", "m:70000"] {
        let sight = after(&seen(), &heard(&[&format!(r#"0:"{address}""#)]), false);
        let Some(Unfound::Failed(ErrorKind::BadData, text)) = sight.unfound else {
            panic!("{address}: {sight:?}");
        };
        let expected = format!("the name server at ns0:9876 gives `{address}` as the address");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn no_id_0_is_no_master_whatever_was_before() {
    for before in [Sight::default(), seen()] {
        for doubted in [false, true] {
            let sight = after(&before, &heard(&[r#"1:"s:1""#]), doubted);
            let text = "`b` in the cluster `C` has no master (id 0) now, by the name server at ns0:9876, only id 1 at s:1; \
                        the files stay as they are";
            let expected = Sight::unfound(Unfound::NoMaster(text.to_owned()));
            assert_eq!(sight, expected);
        }
    }
}

#[test]
fn names_that_nobody_knows_are_wrong_at_first_and_gone_later() {
    let unknown = || heard(&["", ""]);
    // A typo: it was never found.
    let sight = after(&Sight::default(), &unknown(), false);
    assert!(
        matches!(sight.unfound, Some(Unfound::Failed(ErrorKind::Config, _))),
        "{sight:?}"
    );
    // Name servers that have just started: the master itself still answers.
    let sight = after(&seen(), &unknown(), false);
    assert_eq!(address(&sight), Some("m:1"));
    let trouble = sight.trouble.clone().unwrap();
    assert!(
        trouble.ends_with("m:1 still answers, and is still the master"),
        "{trouble}"
    );
    // It has gone: it does not answer either.
    let gone = after(&sight, &unknown(), true);
    assert!(
        matches!(gone.unfound, Some(Unfound::NoMaster(_))) && gone.master.is_none(),
        "{gone:?}"
    );
    // And stays gone until it is back.
    let still = after(&gone, &unknown(), false);
    assert!(matches!(still.unfound, Some(Unfound::NoMaster(_))));
    let back = after(&still, &heard(&["", r#"0:"m:1""#]), false);
    assert_eq!(address(&back), Some("m:1"));
}

#[test]
fn name_servers_that_disagree_leave_no_master() {
    for before in [Sight::default(), seen()] {
        let sight = after(&before, &heard(&[r#"0:"m:1""#, r#"0:"n:1""#]), false);
        assert_eq!(sight.master, None);
        assert!(
            matches!(sight.unfound, Some(Unfound::Failed(ErrorKind::BadData, _))),
            "{sight:?}"
        );
    }
}

#[test]
fn while_no_name_server_answers_what_was_known_holds() {
    let silence = Heard {
        failures: vec![dead("ns0:9876"), dead("ns1:9876")],
        ..Heard::default()
    };
    for doubted in [false, true] {
        let sight = after(&seen(), &silence, doubted);
        assert_eq!(address(&sight), Some("m:1"));
        let trouble = sight.trouble.unwrap();
        let begin = "no name server answers, so m:1 is still the master: cannot reach the name server at ns0:9876";
        assert!(
            trouble.starts_with(begin) && trouble.contains("ns1:9876"),
            "{trouble}"
        );
    }
    let sight = after(&Sight::default(), &silence, false);
    let Some(Unfound::Failed(ErrorKind::Unreachable, text)) = sight.unfound else {
        panic!("{sight:?}");
    };
    let begin = "cannot look up the master of `b` in the cluster `C`, since no name server answers: cannot reach";
    assert!(text.starts_with(begin), "{text}");
}

#[test]
fn one_that_does_not_answer_beside_one_that_does_is_a_note() {
    let one = Heard {
        failures: vec![dead("ns1:9876")],
        ..heard(&[r#"0:"m:1""#])
    };
    let sight = after(&Sight::default(), &one, false);
    assert_eq!(address(&sight), Some("m:1"));
    assert!(sight.trouble.unwrap().contains("ns1:9876"));
    assert_eq!(seen().trouble, None, "and none when it answers again");
}

#[test]
fn name_servers_are_asked_first_on_doubt_and_beside_each_minute() {
    let (finder, start) = (Finder::default(), now());
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(finder.due(start, false), Due::First);
    assert_eq!(
        finder.due(start, true),
        Due::Beside,
        "a master that was told"
    );
    assert_eq!(finder.due(at(59), true), Due::No, "one is on its way");
    assert_eq!(finder.due(at(60), true), Due::Beside);
    assert_eq!(finder.due(at(60), true), Due::No);
    finder.doubt().store(true, Ordering::Relaxed);
    assert_eq!(finder.due(at(61), true), Due::First);
}

//! Name servers: what they say, what follows from it, and those that say nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use locum_tables::ReadLimits;
use tokio::time::{Instant, sleep, timeout};

use super::super::{
    Answers, AskBrokers, Asking, ClientOptions, ClusterInfo, ConnectError, Followed, NameServer,
    NameServerError, NameServers, UnfoundError, Wanted, master_of,
};
use super::{LONG, Peer, SHORT, refusal, reply, said};

fn read(body: &str) -> ClusterInfo {
    ClusterInfo::read(body.as_bytes(), &ReadLimits::default()).unwrap()
}

/// What a name server says of broker `b` in cluster `C`.
fn knows(addresses: &str) -> ClusterInfo {
    read(&format!(
        r#"{{"brokerAddrTable":{{"b":{{"brokerAddrs":{{{addresses}}},"brokerName":"b","cluster":"C"}}}},"clusterAddrTable":{{"C":["b"]}}}}"#
    ))
}

fn answers<const N: usize>(infos: [ClusterInfo; N]) -> Answers {
    let named = |(place, info)| (Arc::from(format!("ns{place}:9876")), info);
    infos.into_iter().enumerate().map(named).collect()
}

fn of_b(infos: Answers) -> Result<Followed, UnfoundError> {
    let wanted = Wanted {
        cluster: "C",
        broker: "b",
    };
    master_of(&infos, wanted)
}

fn master(followed: Result<Followed, UnfoundError>) -> String {
    match followed {
        Ok(Followed::Master { address, .. }) => address,
        other => panic!("{other:?}"),
    }
}

#[test]
fn captured_answers_of_every_version_are_read() {
    let captured = [
        include_str!("fixtures/4.9.7-fresh-106-cluster.body"),
        include_str!("fixtures/5.1.4-fresh-106-cluster.body"),
        include_str!("fixtures/5.3.3-fresh-106-cluster.body"),
        include_str!("fixtures/5.4.0-fresh-106-cluster.body"),
        include_str!("fixtures/5.5.0-fresh-106-cluster.body"),
    ];
    for body in captured {
        let wanted = Wanted {
            cluster: "C1",
            broker: "broker-a",
        };
        let followed = master_of(&answers([read(body)]), wanted);
        assert!(master(followed).starts_with("127.0.0.1:32"), "{body}");
    }
}

/// mxsm/rocketmq-rust and fastjson: ids are bare keys (report 39).
#[test]
fn report_39_ids_are_bare_or_quoted_and_as_long_as_they_are() {
    let cases = [
        (r#"0:"10.0.0.1:10911""#, "10.0.0.1:10911"),
        (r#""0":"10.0.0.1:10911""#, "10.0.0.1:10911"),
        (r#"-1:"x:1", 9999999999:"y:2", 0:"z:3""#, "z:3"),
        (r#""-1":"x:1","9999999999":"y:2","0":"z:3""#, "z:3"),
        (
            r#"1:"10.0.0.2:10911",0:"[2001:db8::7]:10911""#,
            "[2001:db8::7]:10911",
        ),
        (r#"0:"fe80::1:10911",2:"a:{0:1}""#, "fe80::1:10911"),
    ];
    for (addresses, expected) in cases {
        let followed = of_b(answers([knows(addresses)]));
        assert_eq!(master(followed), expected, "{addresses}");
    }
    let ids: Vec<i64> = knows(r#"-1:"x:1", 9999999999:"y:2""#).brokers["b"]
        .addresses
        .keys()
        .copied()
        .collect();
    assert_eq!(ids, [-1, 9_999_999_999]);
}

#[test]
fn what_is_missing_or_null_is_empty_and_what_is_unknown_is_passed_over() {
    let thin = [
        r#"{"brokerAddrTable":{}}"#,
        r#"{"brokerAddrTable":{},"clusterAddrTable":null}"#,
        r#"{"brokerAddrTable":{"x":null},"clusterAddrTable":{"C":null}}"#,
        r#"{"brokerAddrTable":{"x":{"brokerAddrs":null,"cluster":null,"zoneName":{1:[]}}},"more":1}"#,
    ];
    for body in thin {
        let error = of_b(answers([read(body)])).unwrap_err();
        assert!(error.is_unknown(), "{body}: {error}");
    }
    // The cluster is said in either place.
    let by_table =
        r#"{"brokerAddrTable":{"b":{"brokerAddrs":{0:"m:1"}}},"clusterAddrTable":{"C":["b"]}}"#;
    let by_broker = r#"{"brokerAddrTable":{"b":{"brokerAddrs":{0:"m:1"},"cluster":"C"}}}"#;
    for body in [by_table, by_broker] {
        assert_eq!(master(of_b(answers([read(body)]))), "m:1");
    }
}

#[test]
fn a_body_that_is_no_cluster_information_is_refused() {
    let cases = [
        ("", "ends too early"),
        ("{}", "no `brokerAddrTable`"),
        ("[1]", "invalid type"),
        (
            r#"{"brokerAddrTable":{"b":{"brokerAddrs":{x:"m:1"}}}}"#,
            "invalid",
        ),
        (
            r#"{"brokerAddrTable":{"b":{"brokerAddrs":{0:1}}}}"#,
            "invalid type",
        ),
    ];
    for (body, expected) in cases {
        let error = ClusterInfo::read(body.as_bytes(), &ReadLimits::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{body}: {error}");
    }
}

#[test]
fn without_id_0_there_is_no_master() {
    let followed = of_b(answers([knows(r#"1:"s:1",2:"s:2""#)])).unwrap();
    let others = [(1, "s:1".to_owned()), (2, "s:2".to_owned())].into();
    let name_server = Arc::from("ns0:9876");
    assert_eq!(
        followed,
        Followed::NoMaster {
            others,
            name_server
        }
    );
}

#[test]
fn who_does_not_know_says_nothing_against_who_does() {
    let nobody = || read(r#"{"brokerAddrTable":{}}"#);
    let slaves = || knows(r#"1:"s:1""#);
    let all = || knows(r#"0:"m:1",1:"s:1""#);
    assert_eq!(master(of_b(answers([nobody(), slaves(), all()]))), "m:1");
    assert_eq!(master(of_b(answers([all(), all(), nobody()]))), "m:1");
    let followed = of_b(answers([nobody(), slaves()])).unwrap();
    assert!(matches!(followed, Followed::NoMaster { .. }));
}

#[test]
fn report_38_what_cannot_be_found_lists_what_is_known() {
    let two = |one: &str, other: &str| answers([knows(one), knows(other)]);
    let texts = [
        (
            of_b(two(r#"0:"m:1""#, r#"0:"n:1""#)),
            "the name servers disagree on the master of `b` in the cluster `C`: ns0:9876 says m:1, ns1:9876 says n:1; check \
             which of them is right, or name the `master`",
        ),
        (
            master_of(
                &two(r#"0:"m:1""#, r#"0:"m:1""#),
                Wanted {
                    cluster: "c",
                    broker: "b",
                },
            ),
            "the name servers at ns0:9876 and ns1:9876 do not know the cluster `c`: known clusters are C; check `cluster`",
        ),
        (
            master_of(
                &answers([knows(r#"0:"m:1""#)]),
                Wanted {
                    cluster: "C",
                    broker: "broker-a",
                },
            ),
            "the name server at ns0:9876 does not know the broker `broker-a` in the cluster `C`: known brokers there are b; \
             check `broker`, and whether one of that name runs",
        ),
        (
            of_b(answers([read(r#"{"brokerAddrTable":{}}"#)])),
            "the name server at ns0:9876 does not know the cluster `C`: no broker has registered there; check `cluster`",
        ),
    ];
    for (followed, text) in texts {
        assert_eq!(followed.unwrap_err().to_string(), text);
    }
}

#[test]
fn a_broker_of_another_cluster_is_not_ours() {
    let body = r#"{"brokerAddrTable":{"b":{"brokerAddrs":{0:"m:1"},"cluster":"D"},"x":{"brokerAddrs":{0:"x:1"},"cluster":"C"}}}"#;
    let error = of_b(answers([read(body)])).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("known brokers there are x, and there is one of that name in D;"),
        "{text}"
    );
}

#[test]
fn a_hundred_brokers_are_not_all_listed() {
    let broker = |n| format!(r#""b{n:03}":{{"brokerAddrs":{{0:"m:{n}"}},"cluster":"C"}}"#);
    let brokers: Vec<String> = (1..=100).map(broker).collect();
    let body = format!(r#"{{"brokerAddrTable":{{{}}}}}"#, brokers.join(","));
    let text = of_b(answers([read(&body)])).unwrap_err().to_string();
    assert!(text.contains("b019, b020 and 80 more;"), "{text}");
}

/// On tokio's clock: it answers after this time, or fails.
struct Scripted {
    takes: Duration,
    answers: bool,
    asked: Arc<AtomicU32>,
}

impl AskBrokers for Scripted {
    fn brokers(&self, longest: Duration) -> Asking<'_> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let address = Arc::from("scripted:9876");
            match timeout(longest, sleep(self.takes)).await {
                Ok(()) if self.answers => Ok(knows(r#"0:"m:1""#)),
                Ok(()) => Err(NameServerError::Unreachable {
                    address,
                    source: ConnectError::TimedOut(longest),
                }),
                Err(_) => Err(NameServerError::TimedOut {
                    address,
                    timeout: longest,
                }),
            }
        })
    }
}

fn scripted<const N: usize>(servers: [(u64, bool); N]) -> (NameServers, Vec<Arc<AtomicU32>>) {
    let counts: Vec<Arc<AtomicU32>> = servers.iter().map(|_| Arc::default()).collect();
    let server = |((takes, answers), asked): ((u64, bool), &Arc<AtomicU32>)| {
        let link: Arc<dyn AskBrokers> = Arc::new(Scripted {
            takes: Duration::from_millis(takes),
            answers,
            asked: Arc::clone(asked),
        });
        (Arc::from("scripted:9876"), link)
    };
    let servers = servers.into_iter().zip(&counts).map(server).collect();
    (NameServers::new(servers), counts)
}

/// For ever, as far as a test goes.
const BLACK_HOLE: (u64, bool) = (1 << 40, true);

/// apache/rocketmq#7056: connecting to a dead name server eats the whole budget of each call.
#[tokio::test(start_paused = true)]
async fn report_37_a_dead_name_server_takes_nothing_from_the_next_and_is_waited_for_once() {
    let (servers, asked) = scripted([BLACK_HOLE, (20, true)]);
    let budget = Duration::from_secs(4);
    let begun = Instant::now();
    let heard = servers.ask(budget).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2), "its share");
    assert_eq!((heard.answers.len(), heard.failures.len()), (1, 1));
    for round in 2..5 {
        let begun = Instant::now();
        let heard = servers.ask(budget).await;
        assert_eq!(
            begun.elapsed(),
            Duration::from_millis(20),
            "the next is immediate"
        );
        assert_eq!(
            (heard.answers.len(), heard.failures.len()),
            (1, 1),
            "and still told of"
        );
        assert_eq!(
            asked[0].load(Ordering::Relaxed),
            round,
            "it is asked all the same"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_name_server_takes_longer_than_rocketmq_waits() {
    let (servers, _) = scripted([BLACK_HOLE, BLACK_HOLE]);
    for budget in [30, 600] {
        let begun = Instant::now();
        let heard = servers.ask(Duration::from_secs(budget)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
        assert_eq!((heard.answers.len(), heard.failures.len()), (0, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_was_dead_and_answers_again_is_waited_for_again() {
    // Slower than the other by so much that its answer comes after the look-up.
    let (servers, _) = scripted([(1500, true), (20, true)]);
    let budget = Duration::from_secs(2);
    let heard = servers.ask(budget).await;
    assert_eq!(heard.answers.len(), 1, "over its share");
    let heard = servers.ask(Duration::from_secs(6)).await;
    assert_eq!(heard.answers.len(), 1, "not waited for");
    sleep(Duration::from_secs(3)).await;
    let heard = servers.ask(Duration::from_secs(6)).await;
    assert_eq!((heard.answers.len(), heard.failures.len()), (2, 0));
}

#[tokio::test]
async fn what_a_name_server_does_instead_of_answering_is_told_with_what_to_do() {
    let bytes = |opaque| {
        [
            refusal(opaque, 3, " request type 106 not supported"),
            refusal(opaque, 1, "name server not ready"),
            reply(opaque, "<html>"),
            reply(opaque, "{}"),
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        ]
    };
    let texts = [
        "ADDRESS does not know the request for brokers (106): it is a broker; write it as `master`, or write a name server's address",
        "the name server at ADDRESS refused with code 1: name server not ready",
        "what ADDRESS sent in answer to the request for brokers (106) cannot be read; is it a name server?: expected a value at byte 0, near `<html>`",
        "what ADDRESS sent in answer to the request for brokers (106) cannot be read; is it a name server?: no `brokerAddrTable`",
        "what ADDRESS sent in answer to the request for brokers (106) cannot be read; is it a name server?: ",
    ];
    for (case, text) in texts.into_iter().enumerate() {
        let peer = Peer::new().await;
        let address = peer.listener.local_addr().unwrap().to_string();
        let name_server = NameServer::new(address.clone(), ClientOptions::default());
        let answer = async {
            let mut line = peer.accept().await;
            let (code, opaque) = line.request().await;
            assert_eq!(code, 106);
            line.send(&bytes(opaque)[case]).await;
            line
        };
        let (answered, _line) = tokio::join!(name_server.brokers(LONG), answer);
        let told = said(&answered.unwrap_err()).replace(&address, "ADDRESS");
        assert!(told.starts_with(text), "{told}\n{text}");
    }
}

#[tokio::test]
async fn a_name_server_that_is_silent_or_away_is_told_of_within_the_time() {
    let peer = Peer::new().await;
    let address = peer.listener.local_addr().unwrap().to_string();
    let name_server = NameServer::new(address.clone(), ClientOptions::default());
    let error = name_server.brokers(SHORT).await.unwrap_err();
    let told = said(&error).replace(&address, "ADDRESS");
    assert_eq!(
        told,
        "no answer from the name server at ADDRESS within 30ms: it hangs, or this is no name server's port"
    );
    let away = NameServer::new("127.0.0.1:1", ClientOptions::default());
    let told = said(&away.brokers(LONG).await.unwrap_err());
    let text = "cannot reach the name server at 127.0.0.1:1: check that it runs there (its usual port is 9876): ";
    assert!(told.starts_with(text), "{told}");
}

#[test]
fn each_share_is_a_part_of_the_budget() {
    let cases = [
        (30_000, 1, 3000),
        (30_000, 2, 3000),
        (4000, 2, 2000),
        (100, 4, 25),
        (100, 0, 100),
    ];
    for (budget, servers, share) in cases {
        assert_eq!(
            NameServers::share(Duration::from_millis(budget), servers),
            Duration::from_millis(share)
        );
    }
}

//! A client that knows nothing but bytes, and the fixtures.

use std::path::Path;

use stub_master::{Dialect, Group, Stub, Topic};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Client(TcpStream);

/// A frame as it came.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    /// Type byte: 0 JSON, 1 ROCKETMQ.
    pub(crate) form: u8,
    pub(crate) header: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header_text(&self) -> String {
        String::from_utf8(self.header.clone()).unwrap()
    }

    pub(crate) fn body_text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn header_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.header).unwrap()
    }
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(stream)
    }

    pub(crate) async fn connect(stub: &Stub) -> Self {
        Self(TcpStream::connect(stub.address()).await.unwrap())
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, code: i32, opaque: i32, ext: &[(&str, &str)]) {
        self.write(&request(code, opaque, 0, ext)).await;
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        let length = self.0.read_u32().await.unwrap() as usize;
        let word = self.0.read_u32().await.unwrap();
        let mut header = vec![0; (word & 0x00ff_ffff) as usize];
        self.0.read_exact(&mut header).await.unwrap();
        let mut body = vec![0; length - 4 - header.len()];
        self.0.read_exact(&mut body).await.unwrap();
        Reply {
            form: word.to_be_bytes()[0],
            header,
            body,
        }
    }

    pub(crate) async fn exchange(&mut self, code: i32, opaque: i32) -> Reply {
        self.ask(code, opaque, &[]).await;
        self.reply().await
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).await.unwrap();
        bytes
    }

    /// Everything up to the end of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).await.unwrap();
        bytes
    }
}

/// A request frame with a JSON header and no body.
pub(crate) fn request(code: i32, opaque: i32, flag: i32, ext: &[(&str, &str)]) -> Vec<u8> {
    let fields: serde_json::Map<String, serde_json::Value> = ext
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    let header = serde_json::json!({
        "code": code, "extFields": fields, "flag": flag, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": 401,
    })
    .to_string();
    let length = u32::try_from(header.len()).unwrap();
    let mut frame = (4 + length).to_be_bytes().to_vec();
    frame.extend(length.to_be_bytes());
    frame.extend(header.as_bytes());
    frame
}

pub(crate) async fn start(dialect: Dialect) -> Stub {
    Stub::start(dialect).await.unwrap()
}

/// The release whose captures a dialect must match.
pub(crate) fn release(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V4_9 => "4.9.7",
        Dialect::V5_0 => "5.1.4",
        Dialect::V5_5 => "5.5.0",
    }
}

/// The bytes of `<release>-<what>`, none if there is no such fixture.
pub(crate) fn fixture(dialect: Dialect, what: &str) -> Option<Vec<u8>> {
    let name = format!("{}-{what}", release(dialect));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name)).ok()
}

pub(crate) fn fixture_text(dialect: Dialect, what: &str) -> String {
    let bytes = fixture(dialect, what).unwrap_or_else(|| panic!("no fixture {what}"));
    String::from_utf8(bytes).unwrap()
}

/// Times and ports differ from run to run: all digits after these marks become one 0.
pub(crate) fn without_times(text: &str) -> String {
    ["\"timestamp\":", "127.0.0.1:"]
        .iter()
        .fold(text.to_owned(), |text, mark| {
            let mut parts = text.split(mark);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| {
                let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
                format!("{text}{mark}0{rest}")
            })
        })
}

/// What the captured masters were seeded with.
pub(crate) fn seed(stub: &Stub) {
    let tables = stub.tables();
    let is_5 = stub.dialect() != Dialect::V4_9;
    let plain = |name, queues| Topic::new(name).queues(queues, queues);
    tables.set_topic(plain("T_plain", 4));
    // 4.9.7 does not keep the order that it is told.
    let order = if is_5 { "true" } else { "false" };
    tables.set_topic(plain("T_order", 8).member("order", order));
    tables.set_topic(plain("T_readonly", 4).perm(4));
    tables.set_topic(plain("T_one", 1));
    tables.set_topic(Topic::new("T_wide").queues(64, 16));
    tables.set_topic(plain("T_fifo", 2).attribute("message.type", "FIFO"));
    tables.set_topic(plain("%RETRY%G_plain", 1));
    if is_5 {
        tables.set_static_topic("T_static", 2);
    }
    seed_groups(stub);
    for (queue, offset) in [(0, 0), (1, 1), (2, 1000), (3, 9_007_199_254_740_993)] {
        tables.commit_offset("T_plain", "G_plain", queue, offset);
    }
    for queue in 0..8 {
        tables.commit_offset("T_order", "G_retry", queue, i64::from(queue) * 10);
    }
    tables.commit_offset("%RETRY%G_plain", "G_plain", 0, 3);
    tables.commit_offset("T_one", "G_disabled", 0, 2_147_483_648);
    tables.commit_offset("T_wide", "G_nobroadcast", 63, 9_007_199_254_740_992);
    if !is_5 {
        tables.commit_offset("T_ghost", "G_ghost", 0, 5);
    }
    tables.set_delay(1, 2);
    tables.set_delay(2, 1);
}

fn seed_groups(stub: &Stub) {
    let tables = stub.tables();
    tables.set_group("G_plain");
    tables.set_group(
        Group::new("G_disabled")
            .member("consumeEnable", "false")
            .retries(2, 3),
    );
    tables.set_group(
        Group::new("G_nobroadcast")
            .member("consumeBroadcastEnable", "false")
            .member("consumeFromMinEnable", "false"),
    );
    let retry = r#"{"exponentialRetryPolicy":{"initial":1000,"max":60000,"multiplier":3},"type":"EXPONENTIAL"}"#;
    tables.set_group(
        Group::new("G_retry")
            .member("groupRetryPolicy", retry)
            .member("consumeMessageOrderly", "true"),
    );
    let attr = Group::new("G_attr");
    tables.set_group(if stub.dialect() == Dialect::V5_5 {
        attr.attribute("priority.factor", "7")
    } else {
        attr
    });
    if stub.dialect() != Dialect::V4_9 {
        tables.forbid("G_plain", "T_readonly", 4);
        tables.set_request_mode("T_plain", "G_plain", "POP", 2);
    }
}

//! The program `stub-master`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tokio::net::TcpStream;

use crate::common::Client;

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn it_prints_its_address_and_serves_what_it_was_told() {
    let child = Command::new(env!("CARGO_BIN_EXE_stub-master"))
        .args([
            "--dialect",
            "4.9",
            "--fill",
            "topics=3,groups=2",
            "--live",
            "1m",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut address = String::new();
    let mut stdout = BufReader::new(running.0.stdout.take().unwrap());
    stdout.read_line(&mut address).unwrap();
    let stream = TcpStream::connect(address.trim()).await.unwrap();
    let reply = Client::new(stream).exchange(21, 1).await;
    assert_eq!(reply.header_json()["version"], 407);
    assert!(reply.body_text().contains(r#""topic-00002":"#));
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, said) in [
        (["--dialect", "5.9"], "known are 4.9, 5.0 and 5.5"),
        (["--live", "soon"], "such as 500ms"),
        (["--fill", "topics"], "topics=N"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_stub-master"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(said), "{text}");
    }
}

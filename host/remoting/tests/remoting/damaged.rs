//! Bytes that are no frames: refused before anything is reserved for them (apache/rocketmq#8086, #6784, #2015).

use locum_remoting::{Command, Decoder, FrameError, HeaderError, HeaderForm, Limits, Peer, encode};

use crate::{decode, frame};

/// What a default decoder says to these first bytes, which must not make it reserve anything.
fn refusal(bytes: &[u8]) -> FrameError {
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(bytes);
    let capacity = decoder.buffer().capacity();
    let error = decoder.next().expect_err("bytes that are no frame");
    assert_eq!(decoder.buffer().capacity(), capacity);
    error
}

#[test]
fn lengths_that_cannot_be() {
    for length in [0i32, 3, -1, i32::MIN] {
        let error = refusal(&length.to_be_bytes());
        assert_eq!(error, FrameError::Length { length, peer: None });
    }
}

#[test]
fn headers_beyond_their_frame_or_the_limit() {
    let beyond = refusal(b"\x00\x00\x00\x0a\x00\x00\x00\x07");
    assert_eq!(
        beyond,
        FrameError::HeaderLength {
            header: 7,
            frame: 10,
            limit: 6,
            peer: None
        }
    );
    let over = refusal(b"\x00\xff\xff\xff\x00\x20\x00\x00");
    assert_eq!(
        over,
        FrameError::HeaderLength {
            header: 1 << 21,
            frame: 0xff_ffff,
            limit: 1 << 20,
            peer: None
        }
    );
}

#[test]
fn unknown_header_forms() {
    assert_eq!(
        refusal(b"\x00\x00\x00\x10\x02\x00\x00\x05"),
        FrameError::Form {
            byte: 2,
            peer: None
        }
    );
}

#[test]
fn other_protocols_are_named() {
    let cases: [(&[u8], Peer, &str); 6] = [
        (b"\x15\x03\x03\x00\x02\x02\x46", Peer::Tls, "TLS"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", Peer::Tls, "TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n", Peer::Http1, "HTTP"),
        (b"GET / HTTP/1.1\r\n", Peer::Http1, "HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Peer::Http2, "HTTP/2"),
        (b"PRI ", Peer::Http2, "HTTP/2"),
    ];
    for (bytes, peer, word) in cases {
        let error = refusal(bytes);
        assert_eq!(error.hint(), Some(peer.hint()));
        assert!(error.to_string().contains(word), "{error}");
    }
    // With a limit beyond what the four bytes say, the header word tells.
    let mut decoder = Decoder::new(Limits {
        frame: 2 << 30,
        ..Limits::default()
    });
    decoder
        .buffer()
        .extend_from_slice(b"\x15\x03\x03\x00\x02\x02\x46");
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(
        decoder.end(),
        Err(FrameError::Cut {
            have: 7,
            peer: Some(Peer::Tls)
        })
    );
    decoder.buffer().extend_from_slice(b"\x00");
    assert_eq!(
        decoder.next(),
        Err(FrameError::Form {
            byte: 2,
            peer: Some(Peer::Tls)
        })
    );
}

#[test]
fn a_frame_over_the_limit_names_its_request() {
    let reply = Command {
        opaque: 77,
        flag: 1,
        ..Command::default()
    }
    .with_body(vec![b' '; 1000]);
    let bytes = encode(&reply, HeaderForm::Json).unwrap();
    let limits = Limits {
        frame: 999,
        ..Limits::default()
    };
    let mut decoder = Decoder::new(limits);
    let header_end = bytes.len() - 1000;
    decoder.buffer().extend_from_slice(&bytes[..header_end - 1]);
    assert_eq!(decoder.next(), Ok(None), "its header is waited for");
    decoder
        .buffer()
        .extend_from_slice(&bytes[header_end - 1..header_end]);
    let size = bytes.len() as u64;
    assert_eq!(
        decoder.next(),
        Err(FrameError::TooLarge {
            size,
            limit: 999,
            opaque: Some(77),
            peer: None
        })
    );
    for (frame, fits) in [(bytes.len(), true), (bytes.len() - 1, false)] {
        let mut decoder = Decoder::new(Limits { frame, ..limits });
        decoder.buffer().extend_from_slice(&bytes);
        assert_eq!(decoder.next().is_ok(), fits);
    }
}

/// The memory of a large answer goes with its body; the decoder keeps only what a following frame needs.
#[test]
fn the_memory_of_a_large_frame_is_not_kept() {
    let large = encode(
        &Command::request(21).with_body(vec![0; 1 << 20]),
        HeaderForm::Json,
    )
    .unwrap();
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(&large);
    decoder.buffer().extend_from_slice(&large[..10]);
    assert!(decoder.next().unwrap().is_some());
    assert_eq!(&decoder.buffer()[..], &large[..10]);
    assert!(decoder.buffer().capacity() < 1000);
}

#[test]
fn a_stream_that_ends_inside_a_frame() {
    let whole = encode(&Command::request(21), HeaderForm::Binary).unwrap();
    assert_eq!(
        decode(&whole[..whole.len() - 1]),
        Err(FrameError::Cut {
            have: whole.len() - 1,
            peer: None
        })
    );
    assert_eq!(decode(&[]), Ok(Vec::new()));
}

#[test]
fn binary_headers_that_lie() {
    let start = b"\x00\x15\x00\x01\x91\x00\x00\x00\x05\x00\x00\x00\x01";
    let cases: [(&[u8], HeaderError); 6] = [
        (
            b"",
            HeaderError::Short {
                field: "remark",
                offset: 13,
                needed: 4,
                left: 0,
            },
        ),
        (
            b"\x7f\xff\xff\xff",
            HeaderError::Short {
                field: "remark",
                offset: 17,
                needed: 0x7fff_ffff,
                left: 0,
            },
        ),
        (
            b"\xff\xff\xff\xff",
            HeaderError::Negative {
                field: "remark",
                offset: 13,
                length: -1,
            },
        ),
        (
            b"\x00\x00\x00\x01\xff\x00\x00\x00\x00",
            HeaderError::NotText {
                field: "remark",
                offset: 17,
            },
        ),
        (
            b"\x00\x00\x00\x00\x7f\xff\xff\xff",
            HeaderError::Short {
                field: "ext fields",
                offset: 21,
                needed: 0x7fff_ffff,
                left: 0,
            },
        ),
        (
            b"\x00\x00\x00\x00\x00\x00\x00\x02\x80\x00",
            HeaderError::Negative {
                field: "ext name",
                offset: 21,
                length: -32768,
            },
        ),
    ];
    for (rest, expected) in cases {
        let header = [start.as_slice(), rest].concat();
        assert_eq!(
            decode(&frame(1, &header, b"")),
            Err(FrameError::Header(expected))
        );
    }
}

//! What a peer seems to speak when it does not speak remoting.

/// A protocol that is known by its first bytes.
///
/// Such bytes are read as a giant frame length otherwise (apache/rocketmq#8086, #6784, #2015).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A TLS record (`15 03 03 ...`, `16 03 01 ...`).
    Tls,
    /// HTTP/1 text (`HTTP/1.1 400`, `GET /`).
    Http1,
    /// The HTTP/2 preface (`PRI * HTTP/2.0`).
    Http2,
}

impl Peer {
    /// Recognizes a protocol by the first bytes of what should be a frame.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        const HTTP1: [&[u8]; 6] = [b"HTTP", b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI"];
        match bytes {
            [0x14..=0x17, 0x03, 0..=4, ..] => Some(Self::Tls),
            _ if bytes.starts_with(b"PRI ") => Some(Self::Http2),
            _ if HTTP1.iter().any(|word| bytes.starts_with(word)) => Some(Self::Http1),
            _ => None,
        }
    }

    /// What it means and what to do, as a fragment of a sentence.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Tls => {
                "the peer speaks TLS: this port wants an encrypted connection, or is not a broker's"
            }
            Self::Http1 => {
                "the peer speaks HTTP: give the broker's listen port, not a web or proxy port"
            }
            Self::Http2 => {
                "the peer speaks HTTP/2: give the broker's listen port, not the gRPC port of a proxy"
            }
        }
    }
}

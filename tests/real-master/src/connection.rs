//! Requests over a blocking socket.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use locum_remoting::{Command, Decoder, HeaderForm, Limits, encode, response};
use serde_json::Value;

use crate::{Error, json};

/// For the connection, and for each read of a reply.
const TIMEOUT: Duration = Duration::from_secs(30);
const CHUNK: usize = 64 * 1024;

/// One connection, one request at a time. For bulk seeding: single requests go through the broker.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    decoder: Decoder,
    opaque: i32,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nobody listens there.
    pub fn open(address: SocketAddr) -> Result<Self, Error> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| Error::Connection {
            code: 0,
            address: address.to_string(),
            source,
        })?;
        Ok(Self {
            address,
            stream,
            decoder: Decoder::new(Limits::default()),
            opaque: 0,
        })
    }

    /// Sends a request (its opaque is set here) and waits for the reply to it.
    ///
    /// # Errors
    ///
    /// When the connection ends or stays silent, or what comes is not a frame. A reply with an error code is a reply.
    pub fn request(&mut self, request: &Command) -> Result<Command, Error> {
        self.opaque += 1;
        let numbered = Command {
            opaque: self.opaque,
            ..request.clone()
        };
        let bytes = encode(&numbered, HeaderForm::Json)?;
        self.stream
            .write_all(&bytes)
            .map_err(|source| self.failed(request.code, source))?;
        loop {
            let reply = self.next(request.code)?;
            if reply.is_response() && reply.opaque == self.opaque {
                return Ok(reply);
            }
        }
    }

    fn next(&mut self, code: i32) -> Result<Command, Error> {
        let mut chunk = [0; CHUNK];
        loop {
            if let Some(frame) = self.decoder.next()? {
                return Ok(frame.command);
            }
            let read = match self.stream.read(&mut chunk) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                other => other,
            };
            let read = read.map_err(|source| self.failed(code, source))?;
            let received = chunk.get(..read).unwrap_or_default();
            self.decoder.buffer().extend_from_slice(received);
        }
    }

    fn failed(&self, code: i32, source: io::Error) -> Error {
        Error::Connection {
            code,
            address: self.address.to_string(),
            source,
        }
    }
}

/// The reply to one request on its own connection, if its code is 0.
pub(crate) fn succeed(address: SocketAddr, request: &Command) -> Result<Command, Error> {
    let reply = Connection::open(address)?.request(request)?;
    if reply.code == response::SUCCESS {
        return Ok(reply);
    }
    Err(Error::Refused {
        code: request.code,
        response: reply.code,
        remark: reply.remark.unwrap_or_default(),
    })
}

/// The body of the reply to a request without fields, as JSON.
pub(crate) fn ask(address: SocketAddr, code: i32) -> Result<Value, Error> {
    let reply = succeed(address, &Command::request(code))?;
    json::parse(&reply.body)
}

//! Frames out of a stream of bytes.
//!
//! A frame is a length word (everything after it), a header word (type byte and 24 bits of header length), the
//! header and the body (`NettyDecoder.java`, `RemotingCommand.java`). Every claim is checked as soon as its bytes are
//! there, and nothing is reserved for what is only claimed.

use bytes::BytesMut;

use crate::command::Command;
use crate::header::{self, HeaderError, HeaderForm};
use crate::limits::Limits;
use crate::peer::Peer;

/// Bytes of the length word and the header word.
const WORDS: usize = 8;

/// One whole frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What it says.
    pub command: Command,
    /// How its header was written.
    pub form: HeaderForm,
}

/// Why a stream of bytes cannot be read on. The connection must be closed: the next frame cannot be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length word cannot be one.
    #[error("a frame length of {length} cannot be{}", said(*.peer))]
    Length {
        /// The length word.
        length: i32,
        /// What the bytes look like instead.
        peer: Option<Peer>,
    },
    /// A well-formed frame over the limit.
    #[error("a frame of {size} bytes is over the limit of {limit} bytes{}", said(*.peer))]
    TooLarge {
        /// Size of the frame, its length word included.
        size: u64,
        /// The limit.
        limit: u64,
        /// Which request it answers, if its header could be read.
        opaque: Option<i32>,
        /// What the bytes look like instead.
        peer: Option<Peer>,
    },
    /// The type byte is neither JSON nor ROCKETMQ.
    #[error("header type byte {byte} is not known (0 is JSON, 1 is ROCKETMQ){}", said(*.peer))]
    Form {
        /// The type byte.
        byte: u8,
        /// What the bytes look like instead.
        peer: Option<Peer>,
    },
    /// The header is longer than its frame, or over the limit.
    #[error("a header of {header} bytes in a frame of {frame} is over the limit of {limit} bytes{}", said(*.peer))]
    HeaderLength {
        /// Length of the header.
        header: usize,
        /// What the frame's length word says.
        frame: u64,
        /// The most that it may be.
        limit: usize,
        /// What the bytes look like instead.
        peer: Option<Peer>,
    },
    /// The header's bytes are not a header.
    #[error("the header cannot be read")]
    Header(#[from] HeaderError),
    /// The stream ended inside a frame.
    #[error("the connection ended {have} bytes into a frame{}", said(*.peer))]
    Cut {
        /// Bytes of the frame that arrived.
        have: usize,
        /// What the bytes look like instead.
        peer: Option<Peer>,
    },
}

impl FrameError {
    /// What the peer seems to speak instead, and what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Length { peer, .. }
            | Self::TooLarge { peer, .. }
            | Self::Form { peer, .. }
            | Self::HeaderLength { peer, .. }
            | Self::Cut { peer, .. } => peer.map(Peer::hint),
            Self::Header(_) => None,
        }
    }
}

fn said(peer: Option<Peer>) -> String {
    peer.map(|peer| format!("; {}", peer.hint()))
        .unwrap_or_default()
}

/// The checked words at the start of a frame.
struct Start {
    form: HeaderForm,
    header: usize,
    /// Whole size, length word included.
    size: u64,
}

/// Takes bytes as they come, gives whole frames.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: Limits,
    buffer: BytesMut,
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buffer: BytesMut::new(),
        }
    }

    /// Where received bytes are appended. What it reserves is the caller's choice: the decoder never does.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole frame, `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// When the bytes cannot be a frame within the limits; the stream is lost then.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: bytes come in between, and errors end it"
    )]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(start) = self.start()? else {
            return Ok(None);
        };
        let Some(header) = self.buffer.get(WORDS..WORDS + start.header) else {
            return Ok(None);
        };
        if start.size > self.limits.frame as u64 {
            // Its header was waited for (it is small) so that the error can name the request.
            let opaque = header::read(start.form, header)
                .ok()
                .map(|command| command.opaque);
            return Err(self.too_large(start.size, opaque));
        }
        let size = usize::try_from(start.size).map_err(|_| self.too_large(start.size, None))?;
        if self.buffer.len() < size {
            return Ok(None);
        }
        let mut command = header::read(start.form, header)?;
        let mut frame = self.take(size);
        command.body = frame.split_off(WORDS + start.header).freeze();
        Ok(Some(Frame {
            command,
            form: start.form,
        }))
    }

    /// The stream has ended.
    ///
    /// # Errors
    ///
    /// When it ended inside a frame.
    pub fn end(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        Err(FrameError::Cut {
            have: self.buffer.len(),
            peer: self.peer(),
        })
    }

    /// Reads and checks the two words, `None` if they are not there yet.
    fn start(&self) -> Result<Option<Start>, FrameError> {
        let Some(length) = self.word(0) else {
            return Ok(None);
        };
        let Some(frame) = u64::try_from(length).ok().filter(|frame| *frame >= 4) else {
            return Err(FrameError::Length {
                length,
                peer: self.peer(),
            });
        };
        let size = frame + 4;
        if size > self.limits.frame as u64 && self.peer().is_some() {
            return Err(self.too_large(size, None));
        }
        let Some(word) = self.word(4) else {
            return Ok(None);
        };
        let [byte, high, middle, low] = word.to_be_bytes();
        let Some(form) = HeaderForm::from_byte(byte) else {
            return Err(FrameError::Form {
                byte,
                peer: self.peer(),
            });
        };
        let header = u32::from_be_bytes([0, high, middle, low]) as usize;
        let limit = usize::try_from(frame - 4)
            .unwrap_or(usize::MAX)
            .min(self.limits.header);
        if header > limit {
            return Err(FrameError::HeaderLength {
                header,
                frame,
                limit,
                peer: self.peer(),
            });
        }
        Ok(Some(Start { form, header, size }))
    }

    fn word(&self, at: usize) -> Option<i32> {
        self.buffer
            .get(at..)?
            .first_chunk()
            .map(|word| i32::from_be_bytes(*word))
    }

    /// Takes a whole frame off the buffer. What is left moves to memory of its own when that is cheap, so that the
    /// memory of a large answer is free as soon as its body is dropped, and not kept for the connection's life.
    fn take(&mut self, size: usize) -> BytesMut {
        let mut rest = self.buffer.split_off(size);
        if rest.len() < size {
            rest = BytesMut::from(&rest[..]);
        }
        std::mem::replace(&mut self.buffer, rest)
    }

    fn peer(&self) -> Option<Peer> {
        Peer::of(&self.buffer)
    }

    fn too_large(&self, size: u64, opaque: Option<i32>) -> FrameError {
        FrameError::TooLarge {
            size,
            limit: self.limits.frame as u64,
            opaque,
            peer: self.peer(),
        }
    }
}

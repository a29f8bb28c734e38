//! The codec against frames of real brokers, against bytes written by hand, and against anything at all.

#[cfg(test)]
mod captured;
#[cfg(test)]
mod damaged;
#[cfg(test)]
mod in_flight;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod sign;
#[cfg(test)]
mod vectors;

use locum_remoting::{Decoder, Frame, FrameError, Limits};

/// Decodes one stream of bytes that is there at once.
fn decode(bytes: &[u8]) -> Result<Vec<Frame>, FrameError> {
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next()? {
        frames.push(frame);
    }
    decoder.end()?;
    Ok(frames)
}

/// Decodes the one frame that the bytes are.
fn decode_one(bytes: &[u8]) -> Frame {
    let mut frames = decode(bytes).expect("a readable frame");
    assert_eq!(frames.len(), 1, "one frame");
    frames.remove(0)
}

/// A frame from its parts, lengths as they are.
fn frame(form: u8, header: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(4 + header.len() + body.len()).expect("a short frame");
    let word = u32::try_from(header.len()).expect("a short header") | u32::from(form) << 24;
    [&length.to_be_bytes(), &word.to_be_bytes(), header, body].concat()
}

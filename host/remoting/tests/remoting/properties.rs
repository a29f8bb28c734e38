//! What must hold for any command, any bytes and any way that they arrive.

use std::collections::BTreeMap;

use locum_remoting::{
    Command, Decoder, Frame, FrameError, HeaderForm, InFlight, Language, Limits, Taken, encode,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Any command that both forms can hold. An empty remark is none in the binary form, and languages have names.
fn commands() -> impl Strategy<Value = Command> {
    let fields = btree_map(".{1,8}", ".{0,20}", 0..4);
    let remark = proptest::option::of(".{1,20}");
    (
        any::<i16>(),
        0u8..14,
        any::<i16>(),
        any::<i32>(),
        any::<i32>(),
        remark,
        fields,
        vec(any::<u8>(), 0..200),
    )
        .prop_map(
            |(code, language, version, opaque, flag, remark, ext_fields, body)| Command {
                code: code.into(),
                language: Language(language),
                version: version.into(),
                opaque,
                flag,
                remark,
                ext_fields,
                body: body.into(),
            },
        )
}

fn forms() -> impl Strategy<Value = HeaderForm> {
    prop_oneof![Just(HeaderForm::Json), Just(HeaderForm::Binary)]
}

/// Feeds the bytes in pieces of the given sizes, over and over, and checks the buffer after each step.
fn feed(decoder: &mut Decoder, bytes: &[u8], sizes: &[usize]) -> Result<Vec<Frame>, FrameError> {
    let mut frames = Vec::new();
    let mut left = bytes;
    for size in sizes.iter().cycle() {
        let (piece, rest) = left.split_at(left.len().min(*size));
        left = rest;
        decoder.buffer().extend_from_slice(piece);
        let capacity = decoder.buffer().capacity();
        while let Some(frame) = decoder.next()? {
            frames.push(frame);
        }
        assert!(
            decoder.buffer().capacity() <= capacity,
            "the decoder reserved memory"
        );
        if left.is_empty() {
            break;
        }
    }
    Ok(frames)
}

proptest! {
    #[test]
    fn any_commands_in_any_pieces(
        sent in vec((commands(), forms()), 1..5),
        sizes in vec(1usize..300, 1..6),
    ) {
        let mut bytes = Vec::new();
        for (command, form) in &sent {
            bytes.extend_from_slice(&encode(command, *form).unwrap());
        }
        let mut decoder = Decoder::new(Limits::default());
        let received = feed(&mut decoder, &bytes, &sizes).unwrap();
        let received: Vec<_> = received.into_iter().map(|frame| (frame.command, frame.form)).collect();
        prop_assert_eq!(received, sent);
        prop_assert_eq!(decoder.end(), Ok(()));
    }

    #[test]
    fn any_bytes_at_all(bytes in vec(any::<u8>(), 0..400), sizes in vec(1usize..50, 1..4)) {
        let mut decoder = Decoder::new(Limits { frame: 300, header: 200 });
        let _ = feed(&mut decoder, &bytes, &sizes);
    }

    /// Valid words, so that the header readers are reached.
    #[test]
    fn any_header_bytes(form in 0u8..3, header in vec(any::<u8>(), 0..80), body in vec(any::<u8>(), 0..20)) {
        let _ = crate::decode(&crate::frame(form, &header, &body));
    }

    /// A valid frame with some bytes replaced: near misses are the interesting ones.
    #[test]
    fn any_damage(
        command in commands(),
        form in forms(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encode(&command, form).unwrap().to_vec();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = crate::decode(&bytes);
    }

    /// Whatever is issued, answered, cancelled and expired: every waiter comes back exactly once.
    #[test]
    fn every_waiter_comes_back_once(steps in vec((0u8..4, 0i32..20), 0..60)) {
        let start = Instant::now();
        let mut table = InFlight::with_limit(8);
        let mut back = BTreeMap::new();
        let mut issued = 0u32;
        for (step, number) in steps {
            let now = start + Duration::from_secs(u64::from(number.unsigned_abs()));
            let got = match step {
                0 => {
                    issued += u32::from(table.issue(issued, now).is_ok());
                    Vec::new()
                }
                1 => match table.take(&Command { opaque: number, flag: 1, ..Command::default() }) {
                    Taken::Waiter(waiter) => vec![waiter],
                    Taken::Dropped(_) => Vec::new(),
                },
                2 => table.cancel(number).into_iter().collect(),
                _ => table.expire(now),
            };
            prop_assert!(table.len() <= 8);
            got.into_iter().for_each(|waiter| *back.entry(waiter).or_insert(0) += 1);
        }
        table.drain().into_iter().for_each(|waiter| *back.entry(waiter).or_insert(0) += 1);
        prop_assert_eq!(back, (0..issued).map(|waiter| (waiter, 1)).collect::<BTreeMap<_, _>>());
    }
}

//! What the guest can be told to do. `number` is the argument as a number; 0 if it is none.
//!
//! A deed `...-after-ticks` counts its good ticks in the memory, since a tick's number counts for the slot, whatever ran in it:
//! it takes over the master's topics `number` times, and does the deed from then on.

use std::hint::{black_box, spin_loop};
use std::mem;

use locum_sdk::prelude::*;
use locum_sdk::system;

/// Performs a deed by its name.
pub(crate) fn perform(deed: &str, with: &str, tick: Tick) -> Result<(), Failure> {
    let number = with.parse().unwrap_or(0);
    match deed {
        "take-over" => take_over(),
        // Ends without a result.
        "trap" => trap(),
        "panic" => panic!("{with}"),
        "panic-long" => panic!("{}", "long ".repeat(number)),
        "trap-at-tick" if tick.number == number as u64 => trap(),
        "trap-after-ticks" if count(deed)? > number => trap(),
        "trap-at-tick" | "trap-after-ticks" => take_over(),
        "recurse" => recurse(0),
        // Takes time.
        "loop" => spin(usize::MAX),
        "loop-after-fetch" => take_over().and_then(|()| spin(usize::MAX)),
        "loop-host-calls" => loop {
            black_box(settings::get("do"));
        },
        "loop-costly-calls" => loop_costly_calls(),
        "spin" => spin(number).and_then(|()| take_over()),
        // Takes space.
        "hog" => hog(usize::MAX),
        "hog-some" => hog(number).and_then(|()| take_over()),
        "handles" => handles(),
        "log-flood" => flood(number),
        "log-giant" => giant_line(number),
        "giant-value" => giant_value(number),
        "many-entries" => many_entries(number),
        "remember" => remember(number),
        "remember-many" => remember_many(number),
        // Asks for what it may not have.
        "edit-foreign" => edit_foreign(with),
        "fetch" => master::fetch(with).map(drop).map_err(Into::into),
        "read-file" => read_file(with),
        "environment" => environment(with),
        "clock" => clock(),
        "net" => net(with),
        // Fails, or does not although it should.
        "err-invalid" => Err(Failure::invalid(with)),
        "err-other" => Err(Failure::other(with)),
        // Says that no table came, whether or not that is so.
        "err-fetch" => Err(FetchError::Unreachable(with.to_owned()).into()),
        "err-after-ticks" if count(deed)? > number => {
            Err(Failure::other("this tick is one too many"))
        }
        "err-after-ticks" => take_over(),
        "swallow-fetch-error" => swallow_fetch_error(),
        "err-after-edit" => {
            take_over().and_then(|()| Err(Failure::other("failed after its draft was made")))
        }
        // Drafts in other ways.
        "nothing" => Ok(()),
        "edit-only" => edit_only(),
        "empty" => empty(),
        "mark" => mark(with),
        "remove" => remove(with),
        "remove-half" => remove_half(),
        "remove-half-after-ticks" if count(deed)? > number => remove_half(),
        "remove-half-after-ticks" => take_over(),
        "bad-key" => replica::edit(TOPICS).put("", "{}").map_err(Into::into),
        "bad-value" => replica::edit(TOPICS).put("topic", with).map_err(Into::into),
        "count" => count("ticks").map(|ticks| info!("tick {ticks} since I remember")),
        _ => Err(Failure::invalid(format!("no deed `{deed}`"))),
    }
}

fn take_over() -> Result<(), Failure> {
    let theirs = master::fetch(TOPICS)?;
    replica::edit(TOPICS).replace(&theirs);
    Ok(())
}

fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort();
}

/// Fills the stack: each level is kept until the one below is done, and there are more than any stack holds.
fn recurse(depth: usize) -> Result<(), Failure> {
    let level = black_box([depth; 64]);
    if level[0] < usize::MAX {
        recurse(level[0] + 1)?;
    }
    black_box(level);
    Ok(())
}

fn spin(turns: usize) -> Result<(), Failure> {
    for turn in 0..turns {
        black_box(turn);
        spin_loop();
    }
    Ok(())
}

/// Takes memory, a mebibyte at a time, and writes to it, so that it counts.
fn hog(mebibytes: usize) -> Result<(), Failure> {
    // Not collected: room for all of them would be asked for at once.
    let mut taken = Vec::new();
    for _ in 0..mebibytes {
        taken.push(black_box(vec![1_u8; 1 << 20]));
    }
    drop(black_box(taken));
    Ok(())
}

/// Asks for handles and never gives one back.
fn handles() -> Result<(), Failure> {
    let draft = replica::edit(TOPICS);
    loop {
        mem::forget(draft.snapshot());
    }
}

/// Lets the host copy a table again and again, and computes next to nothing.
fn loop_costly_calls() -> Result<(), Failure> {
    take_over()?;
    let draft = replica::edit(TOPICS);
    loop {
        draft.put("copied", "{}")?;
        drop(black_box(draft.snapshot()));
    }
}

fn flood(lines: usize) -> Result<(), Failure> {
    for line in 0..lines {
        info!("line {line}");
    }
    take_over()
}

fn giant_line(bytes: usize) -> Result<(), Failure> {
    info!("{}", "x".repeat(bytes));
    take_over()
}

fn giant_value(bytes: usize) -> Result<(), Failure> {
    let value = format!(r#"{{"giant":"{}"}}"#, "x".repeat(bytes));
    replica::edit(TOPICS).put("giant", &value)?;
    Ok(())
}

fn many_entries(entries: usize) -> Result<(), Failure> {
    let entry = |number| Entry {
        key: format!("topic-{number}"),
        value: "{}".to_owned(),
    };
    replica::edit(TOPICS).put_all((0..entries).map(entry))?;
    Ok(())
}

fn remember(bytes: usize) -> Result<(), Failure> {
    memory::set("giant", &vec![b'x'; bytes])?;
    take_over()
}

/// As many values, of one byte each.
fn remember_many(values: usize) -> Result<(), Failure> {
    for value in 0..values {
        memory::set(&value.to_string(), b"x")?;
    }
    take_over()
}

fn edit_foreign(table: &str) -> Result<(), Failure> {
    drop(replica::edit(table));
    Ok(())
}

/// Ends well only if a file could be read.
fn read_file(path: &str) -> Result<(), Failure> {
    std::fs::read(path)
        .map(drop)
        .map_err(|error| Failure::other(format!("cannot read {path}: {error}")))
}

/// Ends well only if a variable could be seen.
fn environment(name: &str) -> Result<(), Failure> {
    std::env::var_os(name)
        .map(drop)
        .ok_or_else(|| Failure::other(format!("{name} is not set")))
}

/// Ends well only if there is a clock.
fn clock() -> Result<(), Failure> {
    black_box(std::time::Instant::now());
    Ok(())
}

/// Ends well only if a connection could be made.
fn net(address: &str) -> Result<(), Failure> {
    let connected = std::net::TcpStream::connect(address);
    connected
        .map(drop)
        .map_err(|error| Failure::other(format!("cannot connect to {address}: {error}")))
}

fn swallow_fetch_error() -> Result<(), Failure> {
    if let Err(error) = take_over() {
        warn!("goes on although: {error}");
        replica::edit(TOPICS).put("in-spite", "{}")?;
    }
    Ok(())
}

fn edit_only() -> Result<(), Failure> {
    drop(replica::edit(TOPICS));
    Ok(())
}

/// Drafts a table without any entry.
fn empty() -> Result<(), Failure> {
    let draft = replica::edit(TOPICS);
    draft.remove_all(draft.snapshot().keys())?;
    Ok(())
}

/// Takes over the master's topics, with one more.
fn mark(name: &str) -> Result<(), Failure> {
    take_over()?;
    replica::edit(TOPICS).put(name, &format!(r#"{{"topicName":"{name}","perm":6}}"#))?;
    Ok(())
}

/// Takes over the master's topics, without those named, separated by commas.
fn remove(names: &str) -> Result<(), Failure> {
    take_over()?;
    replica::edit(TOPICS).remove_all(names.split(','))?;
    Ok(())
}

/// Takes over the master's topics, without every other one of the users': the second by name, the fourth, and so on, so that
/// never more than half of them are gone. The system's stay.
fn remove_half() -> Result<(), Failure> {
    let theirs = master::fetch(TOPICS)?;
    let users = theirs
        .entries()
        .filter(|topic| !system::is_topic(&topic.key, &topic.value));
    let draft = replica::edit(TOPICS);
    draft.replace(&theirs);
    draft.remove_all(users.map(|topic| topic.key).skip(1).step_by(2))?;
    Ok(())
}

/// Counts this tick in the memory, under a name; how many that makes. A tick that fails, or is only a trial, does not count.
fn count(name: &str) -> Result<usize, Failure> {
    let before = memory::get(name).and_then(|text| String::from_utf8(text).ok()?.parse().ok());
    let ticks = before.unwrap_or(0) + 1;
    memory::set(name, ticks.to_string().as_bytes())?;
    Ok(ticks)
}

//! A guest that does what its setting `do` says, with the argument in `with`: the tests of the host ask it for every way
//! in which a policy can be bad, and for some good ones. It may write the topics, and does so where nothing else is said
//! of it: it takes over the master's.
//!
//! What it does can be written into its file too: `components::misbehaving` makes such files. It is then the default of the
//! two settings, so that a file needs none.

mod deeds;
mod orders;
mod place;

use locum_sdk::prelude::*;

struct Misbehave;

impl Routine for Misbehave {
    fn describe() -> Description {
        let (deed, with) = match orders::read() {
            Some((deed, with)) => (deed, Some(with)),
            None => ("take-over".to_owned(), None),
        };
        let argument = Setting {
            default: with,
            ..Setting::optional("with", "its argument")
        };
        Description::new(
            "misbehave",
            env!("CARGO_PKG_VERSION"),
            "does what a test says",
        )
        .writes(TOPICS)
        .setting(Setting::with_default("do", "the deed", &deed))
        .setting(argument)
    }

    fn sync(tick: Tick) -> Result<(), Failure> {
        let (deed, with) = (
            settings::required("do")?,
            settings::get("with").unwrap_or_default(),
        );
        deeds::perform(&deed, &with, tick)
    }
}

export!(Misbehave);

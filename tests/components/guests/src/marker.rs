// The topic policy with a topic of its own in each draft: what it wrote shows which of its versions ran. Included by the
// examples `marker_v1` and `marker_v2`, which set VERSION and MARK.

use locum_sdk::prelude::*;

struct Marker;

impl Routine for Marker {
    fn describe() -> Description {
        Description::new("topic", VERSION, "topics as the master has them, and a mark").writes(TOPICS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(TOPICS)?;
        let draft = replica::edit(TOPICS);
        draft.replace(&theirs);
        draft.put(MARK, &format!(r#"{{"topicName":"{MARK}","readQueueNums":1,"writeQueueNums":1,"perm":6}}"#))?;
        Ok(())
    }
}

export!(Marker);

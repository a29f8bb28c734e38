//! The topics of the master, and a mark of version 1 among them.

const VERSION: &str = "0.1.1";
const MARK: &str = "marker-v1";

include!("../src/marker.rs");

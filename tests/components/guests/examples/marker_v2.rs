//! The topics of the master, and a mark of version 2 among them.

const VERSION: &str = "0.1.2";
const MARK: &str = "marker-v2";

include!("../src/marker.rs");

//! The bindings that wit-bindgen makes from the WIT: the only place with unsafe code, and none of it ours.
#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::use_self,
    clippy::cast_possible_truncation,
    clippy::too_many_lines,
    clippy::uninlined_format_args,
    reason = "generated code"
)]
#![cfg_attr(
    not(target_arch = "wasm32"),
    allow(
        dead_code,
        reason = "natively nothing is exported, so half of it has no caller"
    )
)]

wit_bindgen::generate!({
    path: "../../wit/0.1.0",
    world: "routine",
    pub_export_macro: true,
    export_macro_name: "export_routine",
});

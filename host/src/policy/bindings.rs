//! Rust's side of `wit/0.1.0`, generated. Tables and drafts are the host's own types behind handles; only `fetch` waits;
//! every import may trap.

#![allow(
    missing_docs,
    reason = "generated; the interface is documented in wit/"
)]
#![allow(unused_qualifications, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../wit/0.1.0",
    world: "routine",
    with: {
        "locum:sync/tables.table": locum_tables::Table,
        "locum:sync/tables.draft": super::state::DraftHandle,
    },
    imports: {
        "locum:sync/master.fetch": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});

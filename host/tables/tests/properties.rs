//! What holds for every document and every sequence of writes.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails by panicking, as the test does"
)]

use std::collections::BTreeMap;

use locum_tables::{
    CONSUMER_OFFSETS, Draft, DraftLimits, KINDS, ReadLimits, TOPICS, Table, dialect, difference,
    page,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

type Offsets = BTreeMap<String, BTreeMap<i32, i64>>;

/// How a document is spelled; none of it means anything.
#[derive(Debug, Clone)]
struct Spelling {
    bare: bool,
    space: &'static str,
    trailing: &'static str,
    reversed: bool,
}

fn spelling() -> impl Strategy<Value = Spelling> {
    let space = prop::sample::select(vec!["", " ", "\n\t", "\r\n "]);
    let trailing = prop::sample::select(vec!["", ","]);
    (any::<bool>(), space, trailing, any::<bool>()).prop_map(|(bare, space, trailing, reversed)| {
        Spelling {
            bare,
            space,
            trailing,
            reversed,
        }
    })
}

impl Spelling {
    fn object(&self, mut members: Vec<String>) -> String {
        let Self {
            space, trailing, ..
        } = self;
        if self.reversed {
            members.reverse();
        }
        let trailing = if members.is_empty() { "" } else { trailing };
        format!(
            "{{{space}{}{trailing}{space}}}",
            members.join(&format!("{space},{space}"))
        )
    }

    fn member(&self, key: &str, value: &str) -> String {
        let space = self.space;
        format!("{}{space}:{space}{value}", Value::from(key))
    }

    fn queues(&self, queues: &BTreeMap<i32, i64>) -> String {
        let quote = if self.bare { "" } else { "\"" };
        let member = |(queue, offset)| format!("{quote}{queue}{quote}:{offset}");
        self.object(queues.iter().map(member).collect())
    }

    fn document(&self, offsets: &Offsets) -> String {
        let entry = |(key, queues): (&String, _)| self.member(key, &self.queues(queues));
        let entries = self.object(offsets.iter().map(entry).collect());
        let version = self.member("dataVersion", r#"{"counter":3,"timestamp":9}"#);
        self.object(vec![version, self.member("offsetTable", &entries)])
    }
}

fn key() -> impl Strategy<Value = String> {
    "[a-c%\"\\\\\u{1}é😀]{0,3}@[a-c]{1,2}"
}

fn queues() -> impl Strategy<Value = BTreeMap<i32, i64>> {
    btree_map(any::<i32>(), any::<i64>(), 0..4)
}

fn offsets() -> impl Strategy<Value = Offsets> {
    btree_map(key(), queues(), 0..12)
}

fn read(text: &str) -> Table {
    Table::from_answer(&CONSUMER_OFFSETS, text.as_bytes(), &ReadLimits::default()).unwrap()
}

fn contents(table: &Table) -> Offsets {
    let entry = |entry: locum_tables::Entry<'_>| {
        (
            entry.key.to_owned(),
            serde_json::from_str(entry.value).unwrap(),
        )
    };
    table.entries().map(entry).collect()
}

/// One write into a draft.
#[derive(Debug, Clone)]
enum Write {
    Put(String, BTreeMap<i32, i64>),
    PutPage(Offsets),
    Remove(String),
    RemovePage(Offsets),
    Replace(Offsets),
    Merge(Offsets),
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => (key(), queues()).prop_map(|(key, queues)| Write::Put(key, queues)),
        2 => offsets().prop_map(Write::PutPage),
        4 => key().prop_map(Write::Remove),
        2 => offsets().prop_map(Write::RemovePage),
        1 => offsets().prop_map(Write::Replace),
        2 => offsets().prop_map(Write::Merge),
    ]
}

fn plain(offsets: &Offsets) -> Table {
    let spelling = Spelling {
        bare: false,
        space: "",
        trailing: "",
        reversed: false,
    };
    read(&spelling.document(offsets))
}

fn apply(draft: &mut Draft, model: &mut Offsets, write: Write) {
    match write {
        Write::Put(key, queues) => {
            draft
                .put(&key, &serde_json::to_string(&queues).unwrap())
                .unwrap();
            model.insert(key, queues);
        }
        Write::PutPage(page) => {
            draft
                .put_packed(&plain(&page).page_packed(None, usize::MAX, usize::MAX))
                .unwrap();
            model.extend(page);
        }
        Write::Remove(key) => assert_eq!(draft.remove(&key), model.remove(&key).is_some()),
        Write::RemovePage(page) => {
            let keys = plain(&page).keys_packed(None, usize::MAX, usize::MAX);
            let there = page
                .keys()
                .filter(|key| model.remove(*key).is_some())
                .count();
            assert_eq!(
                draft.remove_packed(&keys),
                Ok(u32::try_from(there).unwrap())
            );
        }
        Write::Replace(source) => {
            draft.replace(&plain(&source)).unwrap();
            *model = source;
        }
        Write::Merge(source) => {
            draft.merge(&plain(&source)).unwrap();
            model.extend(source);
        }
    }
}

proptest! {
    #[test]
    fn a_table_holds_what_the_document_says(offsets in offsets(), spelling in spelling()) {
        let table = read(&spelling.document(&offsets));
        prop_assert_eq!(contents(&table), offsets.clone());
        for (key, queues) in &offsets {
            let value = table.get(key).map(|text| serde_json::from_str(text).unwrap());
            prop_assert_eq!(value.as_ref(), Some(queues));
        }
    }

    #[test]
    fn a_file_reads_back_as_the_same_table(offsets in offsets(), spelling in spelling()) {
        let table = read(&spelling.document(&offsets));
        let file = table.to_file();
        let again = Table::from_file(&CONSUMER_OFFSETS, &file, &ReadLimits::default()).unwrap();
        prop_assert!(again.same(&table));
        prop_assert!(difference(Some(&table), &again).is_same());
        prop_assert_eq!(again.to_file(), file);
    }

    #[test]
    fn bare_and_quoted_keys_give_the_same_file(offsets in offsets(), spelling in spelling()) {
        let file = |bare| read(&Spelling { bare, ..spelling.clone() }.document(&offsets)).to_file();
        prop_assert_eq!(file(true), file(false));
    }

    #[test]
    fn spelling_is_no_difference(offsets in offsets(), one in spelling(), other in spelling()) {
        prop_assert!(read(&one.document(&offsets)).same(&read(&other.document(&offsets))));
    }

    #[test]
    fn a_difference_says_what_a_map_says(old in offsets(), new in offsets()) {
        let found = difference(Some(&plain(&old)), &plain(&new));
        let only = |one: &Offsets, other: &Offsets| {
            one.keys().filter(|key| !other.contains_key(*key)).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(found.added, only(&new, &old));
        prop_assert_eq!(found.removed, only(&old, &new));
        let changed = |key: &&String| new.get(*key).is_some_and(|queues| *queues != old[*key]);
        prop_assert_eq!(found.changed, old.keys().filter(changed).cloned().collect::<Vec<_>>());
    }

    #[test]
    fn a_draft_does_what_a_map_does(base in offsets(), writes in vec(write(), 0..12)) {
        let mut draft = Draft::new(&CONSUMER_OFFSETS, Some(plain(&base)), DraftLimits::default());
        let mut model = base;
        for write in writes {
            apply(&mut draft, &mut model, write);
            prop_assert_eq!(contents(&draft.snapshot()), model.clone());
        }
        let file = draft.snapshot().to_file();
        prop_assert_eq!(file, plain(&model).to_file());
    }

    #[test]
    fn pages_of_any_size_hold_everything_once(
        offsets in offsets(),
        limit in 1_usize..5,
        max_bytes in 0_usize..100,
    ) {
        let table = plain(&offsets);
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let packed = table.page_packed(after.as_deref(), limit, max_bytes);
            let entries = page::unpack(&packed).unwrap();
            let Some(last) = entries.last() else { break };
            prop_assert!(entries.len() <= limit);
            after = Some(last.key.to_owned());
            seen.extend(entries.iter().map(|entry| entry.key.to_owned()));
        }
        prop_assert!(seen.iter().eq(offsets.keys()));
    }

    #[test]
    fn plain_json_comes_out_as_it_went_in(text in json()) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let limits = ReadLimits::default();
        prop_assert_eq!(dialect::to_json(text.as_bytes(), &limits).unwrap(), text.clone());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(dialect::to_json(pretty.as_bytes(), &limits).unwrap(), text);
    }

    #[test]
    fn what_comes_out_is_plain_json(text in r#"[\[\]{}:,"\\a0-9$ eu.+\-]{0,24}"#) {
        if let Ok(json) = dialect::to_json(text.as_bytes(), &ReadLimits::default()) {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{}", json);
            let again = dialect::to_json(json.as_bytes(), &ReadLimits::default());
            prop_assert_eq!(again.unwrap(), json);
        }
    }

    #[test]
    fn no_bytes_make_the_readers_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = dialect::to_json(&bytes, &ReadLimits::default());
        let _ = page::unpack(&bytes);
        let _ = page::unpack_keys(&bytes);
        for kind in KINDS {
            prop_assert!(Table::from_answer(kind, &bytes, &ReadLimits::default()).is_err());
        }
    }

    #[test]
    fn a_damaged_document_gives_an_error_or_a_table(
        offsets in offsets(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut text = plain(&offsets).to_file();
        let at = at.index(text.len());
        text[at] = byte;
        match Table::from_file(&CONSUMER_OFFSETS, &text, &ReadLimits::default()) {
            Ok(table) => prop_assert!(table.len() <= offsets.len()),
            Err(error) => prop_assert!(error.offset() <= text.len()),
        }
        let _ = Table::from_file(&TOPICS, &text, &ReadLimits::default());
    }
}

/// Compact JSON as `serde_json` writes it.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map("[a-z@$]{0,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    tree.prop_map(|value| value.to_string())
}

//! Damage that was found in a file and survived.

use std::collections::BTreeMap;

/// What is known of one kind of damage: how often, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrences {
    /// How many records show it.
    pub count: u64,
    /// The first record (packet number or line number, from 1) that shows it; 0 if none is to blame.
    pub first_record: u64,
    /// Words about the first occurrence.
    pub detail: String,
}

/// Issues by code. Codes are kebab-case and documented in the package's table of issues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issues {
    by_code: BTreeMap<&'static str, Occurrences>,
}

impl Issues {
    /// Count one occurrence; `detail` is only evaluated for the first.
    pub fn add(&mut self, code: &'static str, record: u64, detail: impl FnOnce() -> String) {
        self.add_many(code, 1, record, detail);
    }

    /// Count `count` occurrences that one record tells of.
    pub fn add_many(&mut self, code: &'static str, count: u64, record: u64, detail: impl FnOnce() -> String) {
        self.by_code
            .entry(code)
            .and_modify(|o| o.count = o.count.saturating_add(count))
            .or_insert_with(|| Occurrences { count, first_record: record, detail: detail() });
    }

    /// Count what was found elsewhere: in another part of the file, or by who read it for this.
    pub fn take_in(&mut self, others: &Issues) {
        for (code, seen) in others.iter() {
            self.add_many(code, seen.count, seen.first_record, || seen.detail.clone());
        }
    }

    /// Codes in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Occurrences)> {
        self.by_code.iter().map(|(code, occurrences)| (*code, occurrences))
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.by_code.is_empty()
    }
}

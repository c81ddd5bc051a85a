//! Records of a capture as bytes, for readers of link layers that this module only passes through.

use std::io::{Cursor, Read};
use std::path::Path;

use super::record::Reader;
use super::source::Source;
use super::{ReadError, Work, with_reader};
use crate::issue::Issues;

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    /// Packet number, from 1.
    pub record: u64,
    /// Time stamp, nanoseconds since the epoch.
    pub t_ns: i64,
    /// Bytes of the packet when it was captured, without a frame check sequence that the file header announces.
    pub wire_length: u32,
    /// LINKTYPE_ number.
    pub link_type: u16,
    /// The bytes that were kept.
    pub data: &'a [u8],
}

/// What is known of the file once it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Records.
    pub records: u64,
    /// Step of the time stamps.
    pub resolution_ns: i64,
}

/// Hand every record of a capture file to `each`.
///
/// # Errors
/// See [`ReadError`].
pub fn records(
    path: &Path,
    issues: &mut Issues,
    each: impl FnMut(RawRecord<'_>),
) -> Result<RecordCounts, ReadError> {
    with_reader(Source::open(path, None)?, Walk { issues, each })
}

/// As [`records`], from any bytes.
///
/// # Errors
/// See [`ReadError`].
pub fn records_from(
    reader: impl Read + Send,
    issues: &mut Issues,
    each: impl FnMut(RawRecord<'_>),
) -> Result<RecordCounts, ReadError> {
    with_reader(Source::new(reader, None)?, Walk { issues, each })
}

/// LINKTYPE_ number and bytes of the first record of a capture that begins with `head`; without bytes if the
/// capture has no record; `None` if it is no capture.
pub fn first_record(head: &[u8]) -> Option<(u16, Vec<u8>)> {
    with_reader(Source::new(Cursor::new(head.to_vec()), None).ok()?, First).ok()
}

struct Walk<'a, F> {
    issues: &'a mut Issues,
    each: F,
}

impl<F: FnMut(RawRecord<'_>)> Work for Walk<'_, F> {
    type Output = RecordCounts;

    fn run(mut self, mut reader: impl Reader) -> Result<RecordCounts, ReadError> {
        let mut records = 0;
        while let Some(record) = reader.next_record()? {
            records += 1;
            (self.each)(RawRecord {
                record: record.number,
                t_ns: record.t_ns,
                wire_length: record.wire_length,
                link_type: record.link_type,
                data: record.data,
            });
        }
        let facts = reader.close(self.issues);
        Ok(RecordCounts { records, resolution_ns: i64::from(facts.resolution_ns) })
    }
}

struct First;

impl Work for First {
    type Output = (u16, Vec<u8>);

    fn run(self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        let first = reader.next_record()?.map(|record| (record.link_type, record.data.to_vec()));
        Ok(first.unwrap_or_else(|| (reader.facts().link_type, Vec::new())))
    }
}

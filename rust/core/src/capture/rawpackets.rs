//! All records of a capture as they were captured, one after the other: to copy them into another file.

use std::path::PathBuf;

use super::parts::readable_again;
use super::pcapng::Blocks;
use super::record::Reader;
use super::source::Source;
use super::{RawPacket, ReadError, SNIFFED, pcap, pcapng};

/// The records of a capture, of one file or of several that go on in each other; streams.
pub struct RawPackets {
    paths: std::vec::IntoIter<PathBuf>,
    reader: Option<Either>,
    /// Records of the files before.
    before: u64,
    last: u64,
}

enum Either {
    Pcap(Box<pcap::Records<'static>>),
    Pcapng(Box<Blocks<'static>>),
}

impl RawPackets {
    /// Nothing is opened yet.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths: paths.into_iter(), reader: None, before: 0, last: 0 }
    }

    /// The next record that is `wanted` by its number (from 1, over all files), and that number; `None` at the
    /// end, or at the first damage.
    ///
    /// # Errors
    /// See [`ReadError`]; `InvalidInput` for a pipe, which can be read only once.
    pub fn next(
        &mut self,
        mut wanted: impl FnMut(u64) -> bool,
    ) -> Result<Option<(u64, RawPacket)>, ReadError> {
        loop {
            if self.reader.is_none() && !self.open()? {
                return Ok(None);
            }
            let found = match &mut self.reader {
                Some(Either::Pcap(reader)) => {
                    next_of(&mut **reader, self.before, &mut self.last, &mut wanted)?
                }
                Some(Either::Pcapng(reader)) => {
                    next_of(&mut **reader, self.before, &mut self.last, &mut wanted)?
                }
                None => None,
            };
            if found.is_some() {
                return Ok(found);
            }
            self.reader = None;
            self.before = self.last;
        }
    }

    fn open(&mut self) -> Result<bool, ReadError> {
        let Some(path) = self.paths.next() else { return Ok(false) };
        readable_again(&path)?;
        let mut source = Source::open(&path, None)?;
        source.ensure(SNIFFED)?;
        self.reader = Some(if pcapng::sniff(source.bytes()) {
            Either::Pcapng(Box::new(Blocks::new(source)?))
        } else {
            Either::Pcap(Box::new(pcap::Records::new(source)?))
        });
        Ok(true)
    }
}

fn next_of(
    reader: &mut impl Reader,
    before: u64,
    last: &mut u64,
    wanted: &mut impl FnMut(u64) -> bool,
) -> Result<Option<(u64, RawPacket)>, ReadError> {
    while let Some(record) = reader.next_record()? {
        let number = before.saturating_add(record.number);
        *last = number;
        if wanted(number) {
            let packet = RawPacket {
                t_ns: record.t_ns,
                orig_len: record.original_length,
                data: record.data.to_vec(),
                link_type: record.link_type,
            };
            return Ok(Some((number, packet)));
        }
    }
    Ok(None)
}

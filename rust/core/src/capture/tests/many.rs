//! Input that tries to exhaust memory or time.

use std::io::Read;

use super::build::{File, Tcp, ethernet, ipv4};
use crate::capture::read_from;
use crate::issue::Issues;
use crate::tracker::Tracker;

/// A capture that is made while it is read: a SYN each from its own address.
struct Connections {
    number: u32,
    most: u32,
    record: Vec<u8>,
    at: usize,
}

impl Connections {
    fn new(most: u32) -> Self {
        let syn = Tcp { flags: 2, payload: Vec::new(), ..Tcp::default() };
        let record = File::new(1).packet(&ethernet(0x0800, &ipv4(6, &syn.bytes()))).done();
        Connections { number: 0, most, at: 0, record }
    }
}

impl Read for Connections {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.record.len() && self.number + 1 < self.most {
            self.number += 1;
            // Behind the file header: record header, Ethernet, and 12 bytes of IP.
            self.at = 24;
            let address = 24 + 16 + 14 + 12;
            self.record[address..address + 4].copy_from_slice(&self.number.to_be_bytes());
        }
        let count = (&self.record[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[test]
fn many_connections() {
    let mut tracker = Tracker::new(false);
    let info =
        read_from(Connections::new(200_000), &mut tracker, &mut Issues::default(), None).expect("a capture");
    assert_eq!(info.tcp_segments, 200_000);
    assert_eq!(tracker.finish(&mut Issues::default()).0.len(), 200_000);
    let each = std::mem::size_of::<crate::tracker::Connection>();
    assert!(each < 2048, "{each} bytes a connection");
}

#[test]
fn fragments_that_never_complete() {
    let mut file = File::new(101);
    for id in 0..100_000u32 {
        let mut fragment = super::build::ipv4_with(6, &[0; 24], 44, 0x2000 | (id as u16 & 0xff));
        fragment[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        file = file.packet(&fragment);
    }
    let outcome = super::read(&file.done());
    assert_eq!((outcome.kind("ipv4-fragment"), outcome.segments.len()), (100_000, 0));
}

//! Files that are read ahead: the same as from memory, however blocks cut their records.

use std::path::PathBuf;

use super::build::{File, Tcp, gzip, tcp_v4};
use super::{Keep, Outcome, read, try_read};
use crate::capture::{Progress, ReadError, read_with};
use crate::issue::Issues;

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("multitracer-ahead-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn read(&self, progress: Option<&Progress>) -> Result<Outcome, ReadError> {
        let (mut sink, mut issues) = (Keep::default(), Issues::default());
        let info = read_with(&self.0, &mut sink, &mut issues, progress)?;
        Ok(Outcome { info, segments: sink.0, issues })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// More than two megabytes of segments, each with so many bytes of payload.
fn large(payloads: &[usize]) -> Vec<u8> {
    let mut file = File::new(101);
    let (mut seq, mut bytes) = (1u32, 0);
    for &length in payloads.iter().cycle() {
        if bytes > 2 << 20 {
            break;
        }
        let payload: Vec<u8> = (0..length).map(|at| (at as u32 * 31 + seq) as u8).collect();
        file = file.packet(&tcp_v4(&Tcp { seq, payload, ..Tcp::default() }));
        seq = seq.wrapping_add(length as u32);
        bytes += length + 56;
    }
    file.done()
}

fn assert_same(file: &Outcome, memory: &Outcome) {
    assert_eq!(file.segments, memory.segments);
    assert_eq!(file.info.kinds, memory.info.kinds);
    assert_eq!(file.issues, memory.issues);
}

#[test]
fn blocks_cut_records_anywhere() {
    for (name, payloads) in [("short", &[10, 1448, 0][..]), ("long", &[60_000, 3, 65_000, 65_400])] {
        let bytes = large(payloads);
        let file = Scratch::new(name, &bytes).read(None).unwrap();
        assert_same(&file, &read(&bytes));
        assert_eq!(file.info.bytes + 24 + 16 * file.info.records, bytes.len() as u64);
    }
}

#[test]
fn a_record_longer_than_the_room_before_a_block() {
    // What is no IP may be as long as it likes: longer than a block, too.
    let mut bytes = large(&[1000]);
    for length in [100_000usize, 262_144, 262_000] {
        for field in [9u32, 0, length as u32, length as u32] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.resize(bytes.len() + length, 0x55);
        bytes.extend(&large(&[300])[24..]);
    }
    let file = Scratch::new("room", &bytes).read(None).unwrap();
    assert_same(&file, &read(&bytes));
    assert_eq!(file.info.records, file.info.tcp_segments + 3);
}

#[test]
fn what_ends_early_ends_the_thread() {
    let whole = large(&[700]);
    let mut cut = whole[..whole.len() - 5].to_vec();
    let file = Scratch::new("cut", &cut).read(None).unwrap();
    assert_same(&file, &read(&cut));
    assert!(file.issue("truncated-file").is_some());
    // An impossible record at the start, while the rest is still being read.
    cut[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let file = Scratch::new("impossible", &cut).read(None).unwrap();
    assert_same(&file, &read(&cut));
    assert!(file.issue("bad-record").is_some());
}

#[test]
fn compressed_files_are_read_ahead_as_well() {
    // Bytes that do not compress, so that the file is large enough.
    let mut noise = 1u64;
    let mut bytes = large(&[1000]);
    bytes[24..].chunks_mut(1056).for_each(|record| {
        for byte in &mut record[56..] {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (noise >> 56) as u8;
        }
    });
    let mut packed = gzip(&bytes);
    let file = Scratch::new("packed", &packed).read(None).unwrap();
    assert_same(&file, &read(&bytes));
    assert_eq!(file.info.compressed, Some("gzip"));
    packed.truncate(packed.len() / 2);
    let file = Scratch::new("half", &packed).read(None).unwrap();
    assert_same(&file, &try_read(&packed).unwrap());
    assert!(file.issue("truncated-file").is_some());
}

#[test]
fn cancelling_reaches_the_thread() {
    let progress = Progress::default();
    progress.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let file = Scratch::new("cancelled", &large(&[100]));
    assert!(matches!(file.read(Some(&progress)), Err(ReadError::Cancelled)));
}

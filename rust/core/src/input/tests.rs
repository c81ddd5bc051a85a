use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::limit::Limited;
use super::*;

/// Files of every compression by independent encoders.
pub(crate) fn compressed(bytes: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(bytes).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    // As the tools write them; without a checksum, damage would go unseen.
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(bytes).unwrap();
    let mut info = lz4_flex::frame::FrameInfo::new();
    info = info.content_checksum(true).block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    lz4.write_all(bytes).unwrap();
    vec![
        (Compression::Gzip, gzip.finish().unwrap()),
        (Compression::Zstd, zstd.finish().unwrap()),
        (Compression::Xz, xz.finish().unwrap()),
        (Compression::Bzip2, bzip2.finish().unwrap()),
        (Compression::Lz4, lz4.finish().unwrap()),
    ]
}

fn noise(length: u32) -> Vec<u8> {
    (0..length / 4).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn all(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    from_reader(bytes, None)?.reader.read_to_end(&mut out)?;
    Ok(out)
}

fn stored(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("multitracer-input-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_compression_by_content_also_in_pieces() {
    let bytes = noise(300_000);
    for (compression, packed) in compressed(&bytes) {
        let name = compression.name();
        assert_eq!(Compression::of(&packed), Some(compression));
        assert!(all(&packed).unwrap() == bytes, "{name}");
        assert_eq!(from_reader(&packed[..], None).unwrap().compression, Some(compression));
        // One stream behind the other.
        let twice = [packed.clone(), packed.clone()].concat();
        assert_eq!(all(&twice).unwrap().len(), 2 * bytes.len(), "{name}");
        assert_eq!(decompressed_head(&packed, 1000), &bytes[..1000], "{name}");
    }
    assert!(all(&bytes).unwrap() == bytes);
    assert_eq!(all(b"").unwrap(), b"");
}

#[test]
fn cut_compression_gives_what_came_before_and_an_error() {
    let bytes = noise(3_000_000);
    for (compression, packed) in compressed(&bytes) {
        let mut out = Vec::new();
        let cut = &packed[..packed.len() * 2 / 3];
        let error = from_reader(cut, None).unwrap().reader.read_to_end(&mut out).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{}", compression.name());
        assert!(is_damage(&error) && !is_over_limit(&error));
        assert!(!out.is_empty() && bytes.starts_with(&out), "{}", compression.name());
    }
}

#[test]
fn damaged_compression_is_damage() {
    for (compression, packed) in compressed(&noise(300_000)) {
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 50].fill(0xa5);
        let error = all(&damaged).map(|out| out.len()).unwrap_err();
        assert!(is_damage(&error), "{}: {error}", compression.name());
    }
}

#[test]
fn a_stream_may_not_ask_for_any_amount_of_memory() {
    // A zstd frame with a window of 2^40 bytes.
    let error = all(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert!(is_damage(&error), "{error}");
    // A dictionary of 1.5 GiB in an .xz block.
    let packed = xz_with_declared_dictionary();
    assert!(is_damage(&all(&packed).map(|out| out.len()).unwrap_err()));
}

/// An .xz stream header and a block header that declares a dictionary of 1.5 GiB: encoding so would take the memory.
fn xz_with_declared_dictionary() -> Vec<u8> {
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    xz.write_all(b"content").unwrap();
    let mut packed = xz.finish().unwrap();
    // Block header: size, flags, filter 0x21, size of properties 1, dictionary size code.
    assert_eq!(packed[12..16], [2, 0, 0x21, 1]);
    packed[16] = 37;
    let checked = crc32(&packed[12..20]);
    packed[20..24].copy_from_slice(&checked.to_le_bytes());
    packed
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[test]
fn bombs_are_given_up() {
    let count = Arc::new(AtomicU64::new(1000));
    let mut bomb = Limited::with_ratio(io::repeat(0), Arc::clone(&count), 10);
    let error = io::copy(&mut bomb, &mut io::sink()).unwrap_err();
    assert!(is_over_limit(&error) && is_damage(&error));
    assert!(
        error.to_string().contains("1000 compressed bytes") && error.to_string().contains(RATIO_VARIABLE)
    );
    // A user may raise the limit: the same stream goes on until its compressed size allows no more.
    count.store(FREE_BYTES, Ordering::Relaxed);
    let mut taken = Limited::with_ratio(io::repeat(0).take(FREE_BYTES * 2), count, 10);
    assert_eq!(io::copy(&mut taken, &mut io::sink()).unwrap(), FREE_BYTES * 2);
    // A real one: 300 KiB of gzip for 300 MB of zeros.
    let mut zeros = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::copy(&mut io::repeat(0).take(FREE_BYTES + (64 << 20)), &mut zeros).unwrap();
    let packed = zeros.finish().unwrap();
    let outcome = io::copy(&mut from_reader(&packed[..], None).unwrap().reader, &mut io::sink());
    // zlib's best is 1000 to 1, its fastest 220 to 1.
    let ratio = (FREE_BYTES + (64 << 20)) / packed.len() as u64;
    assert_eq!(outcome.is_err(), ratio > MAX_RATIO, "{ratio}");
}

#[test]
fn head_decompresses_by_content_and_is_bounded() {
    let plain = stored("plain", b"0123456789");
    assert_eq!(head(&plain, 4, None).unwrap(), b"0123");
    assert_eq!(head(&plain, 100, None).unwrap(), b"0123456789");
    std::fs::remove_file(plain).unwrap();
    let text = noise(80_000);
    for (compression, packed) in compressed(&text) {
        let path = stored(compression.name(), &packed);
        assert_eq!(head(&path, 7, None).unwrap(), &text[..7]);
        std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(text.starts_with(&head(&path, text.len(), None).unwrap()));
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn only_files_and_pipes() {
    assert_eq!(head(&std::env::temp_dir(), 1, None).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(head(Path::new("/dev/null"), 1, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(head(Path::new("/no/such/file"), 1, None).unwrap_err().kind(), io::ErrorKind::NotFound);
}

fn fifo(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("multitracer-input-{}-{name}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

#[test]
fn a_pipe_is_looked_at_and_then_read_whole() {
    let bytes = noise(400_000);
    for (name, content) in [("plain", bytes.clone()), ("zstd", zstd::encode_all(&bytes[..], 1).unwrap())] {
        let path = fifo(&format!("fifo-{name}"));
        let (writer, bytes) = (path.clone(), bytes.clone());
        let thread = std::thread::spawn(move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(writer).unwrap();
            // The first bytes are slow to come.
            pipe.write_all(&content[..3]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            pipe.write_all(&content[3..]).unwrap();
        });
        let first = head(&path, 1000, None).unwrap();
        assert!(!first.is_empty() && bytes.starts_with(&first));
        assert_eq!(head(&path, 10, None).unwrap(), &first[..10]);
        let mut out = Vec::new();
        open(&path, None).unwrap().reader.read_to_end(&mut out).unwrap();
        assert!(out == bytes);
        thread.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_forgotten_pipe_is_closed() {
    let path = fifo("forgotten");
    let writer = path.clone();
    let thread = std::thread::spawn(move || {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(writer).unwrap();
        // More than a pipe holds: this only ends when nobody can read any more.
        pipe.write_all(&noise(1 << 20)).unwrap_err().kind()
    });
    assert_eq!(head(&path, 10, None).unwrap().len(), 10);
    forget(&path);
    assert_eq!(thread.join().unwrap(), io::ErrorKind::BrokenPipe);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn waiting_for_a_pipe_can_be_cancelled() {
    let path = fifo("silent");
    let progress = Progress::default();
    progress.cancel.store(true, Ordering::Relaxed);
    assert!(is_cancelled(&head(&path, 10, Some(&progress)).unwrap_err()));
    let error = open(&path, Some(&progress)).err().unwrap();
    assert!(is_cancelled(&error) && !is_damage(&error));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn progress_counts_compressed_bytes() {
    let packed = zstd::encode_all(&noise(100_000)[..], 1).unwrap();
    let progress = Progress::default();
    let mut opened = from_reader(Cursor::new(&packed), Some(&progress)).unwrap();
    io::copy(&mut opened.reader, &mut io::sink()).unwrap();
    drop(opened);
    assert_eq!(progress.bytes_read.load(Ordering::Relaxed), packed.len() as u64);
}

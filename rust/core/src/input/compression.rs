//! Compression by content, never by name.

use std::io::{self, BufRead, BufReader, Read};

use liblzma::stream::{CONCATENATED, Stream};
use lz4_flex::frame::FrameDecoder;

/// Large enough that the system call is lost in the noise.
const BUFFER: usize = 128 * 1024;

/// The largest dictionary or window that a stream may ask for: `xz -9` needs 65 MiB, `zstd --ultra` 128 MiB.
const MEMORY_LIMIT: u64 = 192 << 20;
const WINDOW_LOG: u32 = 27;

/// A compression that is recognised and undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The .xz file format.
    Xz,
    /// bzip2.
    Bzip2,
    /// The LZ4 frame format.
    Lz4,
}

impl Compression {
    /// As many first bytes as [`Compression::of`] looks at.
    pub const MAGIC_BYTES: usize = 6;

    /// By the first bytes.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // Skippable frames (pzstd writes them first) have magic numbers of their own.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Compression::Bzip2),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Lz4),
            _ => None,
        }
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
            Compression::Lz4 => "lz4",
        }
    }

    /// Undo it. Streams one behind the other (pigz, rotated captures, `cat a.gz b.gz`) are one content.
    pub(super) fn decoder<'p>(
        self,
        compressed: impl Read + Send + 'p,
    ) -> io::Result<Box<dyn Read + Send + 'p>> {
        self.buffered(BufReader::with_capacity(BUFFER, compressed))
    }

    fn buffered<'p>(self, compressed: impl BufRead + Send + 'p) -> io::Result<Box<dyn Read + Send + 'p>> {
        Ok(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(compressed)),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(compressed)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(decoder)
            }
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(MEMORY_LIMIT, CONCATENATED)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(compressed, stream))
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(compressed)),
            Compression::Lz4 => Box::new(Lz4Frames(Some(FrameDecoder::new(compressed)))),
        })
    }
}

/// Frames one behind the other: the decoder stops after each.
struct Lz4Frames<R: BufRead>(Option<FrameDecoder<R>>);

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if decoder.get_mut().fill_buf()?.is_empty() {
                break;
            }
            self.0 = self.0.take().map(|decoder| FrameDecoder::new(decoder.into_inner()));
        }
        Ok(0)
    }
}

/// The first `count` bytes of a content, given the first bytes of its file.
pub fn decompressed_head(head: &[u8], count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count.min(BUFFER));
    match Compression::of(head).map(|compression| compression.buffered(head)) {
        None => out.extend_from_slice(&head[..head.len().min(count)]),
        // The head is cut anywhere, so an error behind the bytes that came out means nothing.
        Some(Ok(decoder)) => drop(decoder.take(count as u64).read_to_end(&mut out)),
        Some(Err(_)) => {}
    }
    out
}

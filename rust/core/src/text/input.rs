//! Opening a log: regular files only, gzip by content.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The decompressed bytes of a file.
///
/// # Errors
/// Whatever the system says, and `InvalidInput` for what is not a regular file: a log is read twice
/// (once to recognise it), and a pipe or a terminal would block or lose its beginning.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    // Asked before opening: opening a FIFO would wait for its writer.
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::with_capacity(2);
    (&mut file).take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    if magic == GZIP_MAGIC {
        Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 17, file))))
    } else {
        Ok(Box::new(file))
    }
}

/// Whether an error means damaged content (a cut or corrupt gzip stream), not a failing system.
pub fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

/// The first `count` decompressed bytes of a file; fewer if it is shorter or its compression is damaged.
///
/// # Errors
/// As [`open`], and errors of the system while reading.
pub fn head(path: &Path, count: usize) -> io::Result<Vec<u8>> {
    let mut reader = open(path)?.take(count as u64);
    let mut bytes = Vec::new();
    match reader.read_to_end(&mut bytes) {
        Err(error) if !is_damage(&error) => Err(error),
        // read_to_end keeps what it read before the error.
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn stored(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("multitracer-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn head_decompresses_by_content_and_is_bounded() {
        let plain = stored("plain", b"0123456789");
        assert_eq!(head(&plain, 4).unwrap(), b"0123");
        assert_eq!(head(&plain, 100).unwrap(), b"0123456789");
        let members = [gzip(b"01234"), gzip(b"56789")].concat();
        let packed = stored("packed", &members);
        assert_eq!(head(&packed, 7).unwrap(), b"0123456");
        for path in [plain, packed] {
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn head_of_cut_gzip_is_what_came_before() {
        let text: Vec<u8> =
            (0..20_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let packed = gzip(&text);
        let cut = stored("cut", &packed[..packed.len() / 2]);
        let bytes = head(&cut, text.len()).unwrap();
        assert!(!bytes.is_empty() && text.starts_with(&bytes));
        std::fs::remove_file(cut).unwrap();
    }

    #[test]
    fn only_regular_files() {
        assert_eq!(head(&std::env::temp_dir(), 1).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(head(Path::new("/dev/null"), 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(head(Path::new("/no/such/file"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

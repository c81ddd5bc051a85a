use std::io;

/// Why a capture could not be read at all.
///
/// Damage behind the first good record is not an error: it becomes an [`Issue`](crate::issue::Issues) and
/// what came before it is kept.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The first bytes are not those of a packet capture.
    #[error("not a packet capture: {0}")]
    NotPcap(String),
    /// A packet capture of which nothing can be used.
    #[error("damaged packet capture: {0}")]
    Corrupt(String),
    /// [`Progress::cancel`](super::Progress::cancel) was set.
    #[error("reading was cancelled")]
    Cancelled,
}

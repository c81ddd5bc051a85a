//! Threads, where there may be none: a limit on memory or on processes is an error to be said, not a panic.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Begin to `work` beside the caller, within `scope`.
///
/// # Errors
/// [`io::ErrorKind::OutOfMemory`] where the system gives no thread.
pub fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

/// What the system says when it has no room for the stack of a thread, or for one more of them.
pub(crate) fn refused(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, error)
}

//! ICMP errors and the segments that they quote: which connection, which byte.

use super::{MultipathRow, Tracker};
use crate::capture::IcmpError;

/// An ICMP error, joined to the connection that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedError {
    /// The error as captured.
    pub error: IcmpError,
    /// Number and direction of the connection whose segment is quoted; `None` if none was captured before.
    pub connection: Option<(u32, u8)>,
    /// First byte of the quoted segment, relative as in the segments table; -1 if unknown.
    pub seq: i64,
}

impl Tracker {
    /// The ICMP errors so far, if tables are kept; the list is handed out once.
    pub fn take_icmp_errors(&mut self) -> Vec<QuotedError> {
        std::mem::take(&mut self.icmp_errors)
    }

    /// The segments with Multipath TCP options so far, if tables are kept; the list is handed out once.
    pub fn take_multipath(&mut self) -> Vec<MultipathRow> {
        std::mem::take(&mut self.multipath)
    }

    pub(super) fn quote(&mut self, error: &IcmpError) {
        if self.columns.is_none() {
            return;
        }
        let connection = self.flows.get(error.source, error.destination).map(|index| {
            let direction =
                u8::from(error.source != self.connections.as_slice()[index as usize].endpoints[0]);
            (index, direction)
        });
        let seq = connection.map_or(-1, |(index, direction)| {
            self.connections.as_slice()[index as usize].senders[usize::from(direction)].locate(error.seq)
        });
        self.icmp_errors.push(QuotedError { error: *error, connection, seq });
    }
}

//! Every arrival that is not the next: a retransmission, reordered, a network duplicate, from any observation point.
//!
//! Whether an earlier copy was seen says little: it may have been lost before this point. What decides is when the
//! segment left its sender, against the first segment seen above it: by the IP identification where it counts the
//! packets, by TSval (RFC 7323), else by what could have called for it and how soon. Compare Paxson, *Automated packet
//! trace analysis of TCP implementations* (1997), and Jaiswal et al., *Measurement and classification of out-of-sequence
//! packets in a tier-1 IP backbone* (2007). docs/arrivals.md has the rules in words.

mod asked;
mod behind;
mod beyond;
mod books;
mod cause;
mod empty;
mod ids;
mod judge;
mod left_out;
mod not_captured;
mod note;
mod of_host;
mod pace;
mod recent;
mod response;
mod unsettled;
mod verdict;

pub use books::{ArrivalCounts, Books};
pub use ids::Ids;
pub use ids::Step;
pub(super) use of_host::find_host_counters;
pub use verdict::{Arrival, ArrivalVerdict, Evidence};

//! What analyses compute over all segments of a measurement, flow behind flow: what was in flight, loss recoveries, the
//! bottleneck.

pub mod bottleneck;
pub mod echoes;
pub mod flight;
pub mod flows;
pub mod grouped;
pub mod in_flight;
pub mod limits;
pub mod loss_recovery;
mod median;
pub mod passages;
pub mod sender;
pub mod sent_later;
pub mod spans;

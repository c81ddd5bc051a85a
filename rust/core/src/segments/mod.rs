//! What analyses compute over all segments of a measurement, flow behind flow: what was in flight, loss recoveries, the
//! bottleneck.

pub mod bottleneck;
pub mod flows;
pub mod grouped;
pub mod in_flight;
pub mod loss_recovery;
mod median;
pub mod passages;
pub mod sent_later;

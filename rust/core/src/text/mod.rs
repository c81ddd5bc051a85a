//! Line-oriented logs to columns.
//!
//! Each scanner streams over [`lines::Lines`] and returns one struct of column vectors, with the damage that it met
//! as [`crate::issue::Issues`]. A line that cannot be read costs an issue, never the file.

pub mod bcc;
pub mod csv;
pub mod dccpprobe;
mod fault;
pub mod flows;
pub mod ftrace;
pub mod hostevents;
pub mod iperf3;
mod json;
pub mod lena;
pub mod lines;
pub mod ndt7;
pub mod ns2;
pub mod ns3;
pub(crate) mod number;
pub mod omnetpp;
pub mod rlpdump;
pub mod siftr;
pub mod srsran;
pub mod ss;
mod ssline;
mod stamp;
pub mod tcpinfo;
pub mod tcpprobe;
mod tracepoint;
mod words;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod properties_simulators;

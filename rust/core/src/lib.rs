//! The hot core of MultiTracer: what reads untrusted bytes and tens of millions of packets.
//!
//! No I/O beyond reading the given files, no Python, no global state. Its parts:
//!
//! * [`input`]: files, pipes and compression,
//! * [`capture`]: packet captures to [`segment::Segment`]s,
//! * [`tracker`]: segments to connections, retransmissions, timeouts and columns,
//! * [`summary`]: what a connection came to,
//! * [`digest`]: what many connections come to,
//! * [`follow`]: captures that are still being written,
//! * [`dccp`]: DCCP packets of captures to columns,
//! * [`segments`]: what analyses compute over all segments,
//! * [`framing`]: bytes that packets take on a line, and where in its stream they lie,
//! * [`ppp`] and [`rlp`]: recordings of a line and captures of link frames to columns,
//! * [`rlc`]: captures of LTE and NR to columns,
//! * [`wifi`]: captures of 802.11 frames to columns,
//! * [`linktable`]: the rows that every reader of a link makes,
//! * [`text`]: line-oriented logs to columns,
//! * [`json`]: results as text.

pub mod capture;
pub mod dccp;
pub mod digest;
mod fcs;
pub mod follow;
pub mod framing;
pub mod input;
pub mod issue;
pub mod json;
pub mod linktable;
pub mod ppp;
pub mod rlc;
pub mod rlp;
pub mod segment;
pub mod segments;
pub mod summary;
pub mod text;
pub mod threads;
pub mod tracker;
pub mod wifi;

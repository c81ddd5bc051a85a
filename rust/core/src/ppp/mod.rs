//! The bytes of a PPP line, as pppd's `record` option keeps them.

mod hdlc;
pub mod record;
pub(crate) mod vj;

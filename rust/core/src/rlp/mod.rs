//! The Radio Link Protocol of GSM data calls (3GPP TS 24.022), as captures of its frames show it.

mod flow;
mod frame;
pub mod gsmtap;

//! RLC of LTE and NR: what is sent, sent again, reported missing, and begun anew.
//!
//! * `framing`, `mac`: what captures wrap around a PDU,
//! * `pdu`, `lte`, `nr`: headers and status reports; `um`: of the modes without any; `rrc`: messages that begin anew,
//! * [`capture`]: captures to bearers, [`pair`]: two of one bearer; [`sdus`]: the packets in the PDUs of one, [`pdcp`]: their numbers,
//! * [`track`]: PDUs of one bearer, from whichever reader, to the rows of every link; [`pdus`]: to those of RLC.

mod bearers;
pub mod capture;
pub mod diag;
mod direction;
mod framing;
mod lte;
mod mac;
mod nr;
pub mod pair;
pub mod pdcp;
mod pdu;
pub mod pdus;
mod received;
mod rrc;
pub mod sdus;
pub mod track;
mod um;

pub use framing::Mode;

/// Radio access technology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Radio {
    /// 3GPP TS 36 series.
    Lte,
    /// 3GPP TS 38 series.
    Nr,
}

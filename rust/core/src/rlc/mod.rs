//! RLC in acknowledged mode, of LTE and NR: what is sent, sent again, reported missing, and begun anew.
//!
//! * `framing`, `mac`: what captures wrap around a PDU,
//! * `pdu`, `lte`, `nr`: headers and status reports,
//! * [`capture`]: captures to bearers; [`sdus`]: the packets in the PDUs of one,
//! * [`track`]: PDUs of one bearer, from whichever reader, to the rows of every link.

mod bearers;
pub mod capture;
pub mod diag;
mod framing;
mod lte;
mod mac;
mod nr;
mod pdu;
pub mod sdus;
pub mod track;
mod way;

/// Radio access technology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Radio {
    /// 3GPP TS 36 series.
    Lte,
    /// 3GPP TS 38 series.
    Nr,
}

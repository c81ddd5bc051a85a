//! What a Qualcomm modem logs of RLC: its own binary log, and MobileInsight's XML of the same messages.
//!
//! * [`frames`]: frames of the diagnostic protocol,
//! * [`message`]: messages of RLC in acknowledged mode, to PDUs; [`xml`]: the same as text,
//! * [`rrc`]: messages after which all bearers begin anew,
//! * [`clock`]: when a PDU was on the air, by the numbers of radio frames.
//!
//! Reference: MobileInsight (`mobileinsight-core`, `dm_collector_c`); 3GPP TS 36.322.

mod clock;
mod frames;
mod gather;
mod message;
mod rrc;
mod xml;

#[cfg(test)]
mod tests;

pub use frames::sniff;
pub use gather::{Columns, Log, read, read_xml};

use super::pdu::Nack;

/// One PDU that a message lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pdu {
    /// Subframe, of the 10,240 after which their numbers begin again; `None` if it cannot be one.
    pub(crate) subframe: Option<u16>,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Data {
        sn: u32,
        poll: bool,
        /// A segment, which begins at `start` and reaches the end of its PDU or not.
        part: bool,
        start: u32,
        last: bool,
        length: u32,
    },
    Status {
        ack: u32,
        nacks: Vec<Nack>,
    },
}

/// PDUs of one bearer and direction, in the order in which the modem had them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Index of the bearer's configuration.
    pub(crate) bearer: u32,
    pub(crate) sn_bits: u8,
    pub(crate) pdus: Vec<Pdu>,
}

/// A message that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bad {
    /// It contradicts itself.
    Malformed(&'static str),
    /// Of a layout that is not known: what it says of itself.
    Unknown(String),
}

/// The subframe of a system frame number and a subframe number in it.
pub(crate) fn subframe(frame: u32, number: u32) -> Option<u16> {
    (frame < 1024 && number < 10).then(|| (frame * 10 + number) as u16)
}

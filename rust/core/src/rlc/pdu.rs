//! RLC PDUs of both radios, as the sequence tracking sees them.

/// One negative acknowledgement of a status report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nack {
    pub(crate) sn: u32,
    /// So many PDUs from `sn` on.
    pub(crate) count: u32,
    /// First and last byte missing, where only a part is.
    pub(crate) part: Option<(u32, u32)>,
}

/// A data PDU in acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Data<'a> {
    pub(crate) sn: u32,
    pub(crate) poll: bool,
    /// First byte of its data within the PDU (LTE) or SDU (NR) of that number.
    pub(crate) start: u32,
    /// Whether the data reaches the end of that PDU or SDU.
    pub(crate) last: bool,
    /// Whether it is a segment of that PDU or SDU.
    pub(crate) part: bool,
    /// Whether it begins and ends with an SDU.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    /// LTE: lengths of the SDUs in it but the last one, as they are in the header.
    pub(crate) lengths: Lengths<'a>,
    pub(crate) data: &'a [u8],
}

/// Length indicators: so many of so many bits (each behind a bit that says whether one more follows).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lengths<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) bits: u32,
    pub(crate) count: usize,
}

impl<'a> Lengths<'a> {
    /// The length indicators of so many bits each that follow where `more` says so, and the data behind them.
    pub(crate) fn read(
        bits: &mut Bits<'a>,
        mut more: bool,
        width: u32,
    ) -> Result<(Self, &'a [u8]), &'static str> {
        let mut lengths = Lengths { bytes: bits.rest()?, bits: width, count: 0 };
        let mut taken = 0;
        while more {
            more = bits.flag()?;
            let length = bits.take(width)? as usize;
            if length == 0 {
                return Err("a length indicator of 0");
            }
            lengths.count += 1;
            taken += length;
        }
        let data = bits.rest()?;
        if taken > data.len() {
            return Err("length indicators beyond the end of an RLC PDU");
        }
        Ok((lengths, data))
    }

    pub(crate) fn get(&self, index: usize) -> usize {
        let mut bits = Bits::new(self.bytes);
        bits.skip(index as u64 * u64::from(self.bits + 1) + 1);
        bits.take(self.bits).unwrap_or(0) as usize
    }
}

/// What an RLC entity in acknowledged mode sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pdu<'a> {
    Data(Data<'a>),
    Status { ack: u32, nacks: Vec<Nack> },
}

pub(crate) const SHORT: &str = "an RLC PDU shorter than its header";

/// Bits of a header, first bit first.
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    at: u64,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Bits { data, at: 0 }
    }

    /// At most 24.
    pub(crate) fn take(&mut self, count: u32) -> Result<u32, &'static str> {
        let mut value = 0;
        for _ in 0..count {
            let byte = *self.data.get((self.at / 8) as usize).ok_or(SHORT)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, &'static str> {
        Ok(self.take(1)? == 1)
    }

    pub(crate) fn skip(&mut self, count: u64) {
        self.at += count;
    }

    /// What follows, from the next whole byte on.
    pub(crate) fn rest(&self) -> Result<&'a [u8], &'static str> {
        self.data.get(self.at.div_ceil(8) as usize..).ok_or(SHORT)
    }
}

//! Expiries of the retransmission timer and the votes on whether they were spurious (Paper section 5.4).

/// What one kind of evidence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Vote {
    /// No evidence of this kind.
    #[default]
    Abstains = 0,
    /// The timer need not have fired: the segment had been received.
    Spurious = 1,
    /// The segment was lost.
    Genuine = 2,
}

/// All votes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Verdict {
    /// Not enough evidence.
    #[default]
    Inconclusive = 0,
    /// The ACK was on its way when the timer fired.
    Spurious = 1,
    /// The segment (or every earlier copy) was lost.
    Genuine = 2,
}

/// Share of the smallest RTT below which an ACK cannot be an answer to what was just sent, in percent.
const TOO_EARLY_PERCENT: i64 = 90;

/// One expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// Time and record of the segment that was sent again.
    pub t_ns: i64,
    /// Packet number of it.
    pub record: u64,
    /// Its first sequence number.
    pub seq: i64,
    /// Its payload.
    pub length: u32,
    /// Expiries in a row before this one.
    pub backoff: u16,
    /// The sender had sent nothing for so long.
    pub silence_ns: i64,
    /// The timeout estimated, backoff taken out; -1 before the first sample.
    pub rto_ns: i64,
    /// TSval of the segment sent again.
    pub ts_val: Option<u32>,
    /// TSval of the transmission before it.
    pub ts_val_before: Option<u32>,
    /// Everything that had been sent until then.
    pub snd_max: i64,
    /// The first ACK that advanced over it: how long after.
    pub answer_after_ns: Option<i64>,
    /// Packet number of that ACK; 0 if none.
    pub answer_record: u64,
    /// RFC 3522.
    pub eifel: Vote,
    /// RFC 2883, 3708.
    pub dsack: Vote,
    /// RFC 5682.
    pub frto: Vote,
    /// Whether other data has been sent again since: then later ACKs say nothing by F-RTO.
    pub followed: bool,
    /// Whether the ACK after the answer has come.
    pub settled: bool,
}

impl Timeout {
    /// Vote by the time of the answer, against the smallest RTT of the connection.
    pub fn too_early(&self, min_rtt_ns: Option<i64>) -> Vote {
        match (self.answer_after_ns, min_rtt_ns) {
            (Some(after), Some(min)) if after < min / 100 * TOO_EARLY_PERCENT => Vote::Spurious,
            _ => Vote::Abstains,
        }
    }

    /// The votes together. A duplicate SACK proves that two copies arrived, an ACK before any answer was
    /// possible proves that an earlier copy did; then comes the echoed timestamp, then F-RTO's inference.
    pub fn verdict(&self, min_rtt_ns: Option<i64>) -> Verdict {
        for vote in [self.dsack, self.too_early(min_rtt_ns), self.eifel, self.frto] {
            match vote {
                Vote::Spurious => return Verdict::Spurious,
                Vote::Genuine => return Verdict::Genuine,
                Vote::Abstains => {}
            }
        }
        Verdict::Inconclusive
    }

    /// The first ACK that advances over the segment sent again.
    pub fn answer(&mut self, t_ns: i64, record: u64, ts_ecr: Option<u32>) {
        self.answer_after_ns = Some(t_ns - self.t_ns);
        self.answer_record = record;
        if let (Some(sent), Some(echoed)) = (self.ts_val, ts_ecr) {
            if (echoed.wrapping_sub(sent) as i32) < 0 {
                self.eifel = Vote::Spurious;
            } else if self.ts_val_before != Some(sent) {
                self.eifel = Vote::Genuine;
            }
        }
    }
}

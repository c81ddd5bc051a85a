//! Round-trip time: samples, and the retransmission timeout as the sending stack keeps it.

use super::fields::{Fields, Walk, walk_over};

/// Smallest retransmission timeout of Linux (`TCP_RTO_MIN`); RFC 6298 recommends one second.
pub const RTO_MIN_US: i64 = 200_000;
/// Largest retransmission timeout of Linux (`TCP_RTO_MAX`).
pub const RTO_MAX_US: i64 = 120_000_000;
/// Samples beyond a day are errors of a clock.
const RTT_MAX_US: i64 = 86_400_000_000;
/// Timeout before the first sample (RFC 6298 section 2.1).
pub const RTO_INITIAL_US: i64 = 1_000_000;
/// Timeout of data if the handshake gave no sample because its SYN was sent again (RFC 6298 section 5.7).
const RTO_FALLBACK_US: i64 = 3_000_000;

/// Minimum, mean and maximum of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RttStatistics {
    /// Number of samples.
    pub count: u64,
    /// Smallest, nanoseconds.
    pub min_ns: i64,
    /// Largest, nanoseconds.
    pub max_ns: i64,
    /// Sum, nanoseconds.
    pub sum_ns: i64,
    /// The first of them, nanoseconds: of a SYN, if that was seen and sent once.
    pub first_ns: i64,
}

impl RttStatistics {
    /// Add a sample.
    pub fn add(&mut self, rtt_ns: i64) {
        if self.count == 0 {
            (self.first_ns, self.min_ns) = (rtt_ns, rtt_ns);
        } else if rtt_ns < self.min_ns {
            self.min_ns = rtt_ns;
        }
        self.max_ns = self.max_ns.max(rtt_ns);
        self.sum_ns = self.sum_ns.saturating_add(rtt_ns);
        self.count += 1;
    }

    /// Smallest sample, if any.
    pub fn min(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min_ns)
    }
}

/// SRTT, RTTVAR and RTO by RFC 6298 in the form that Linux gives it (`tcp_rtt_estimator`): the variation
/// decays over round trips only, is fed less by falling RTTs, and has a floor of 200 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoEstimator {
    srtt_us_8: i64,
    mdev_us_4: i64,
    mdev_max_us: i64,
    rttvar_us: i64,
    rtt_seq: i64,
    rto_us: i64,
    max_us: i64,
}

impl Default for RtoEstimator {
    fn default() -> Self {
        RtoEstimator {
            srtt_us_8: 0,
            mdev_us_4: 0,
            mdev_max_us: 0,
            rttvar_us: 0,
            rtt_seq: 0,
            rto_us: RTO_INITIAL_US,
            max_us: RTO_MAX_US,
        }
    }
}

impl Fields for RtoEstimator {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let RtoEstimator { srtt_us_8, mdev_us_4, mdev_max_us, rttvar_us, rtt_seq, rto_us, max_us } = self;
        walk_over!(walk: srtt_us_8, mdev_us_4, mdev_max_us, rttvar_us, rtt_seq, rto_us, max_us);
    }
}

impl RtoEstimator {
    /// Feed a sample. `snd_una` and `snd_nxt` are those after the ACK that gave it.
    pub fn sample(&mut self, rtt_us: i64, snd_una: i64, snd_nxt: i64) {
        let mut m = rtt_us.clamp(1, RTT_MAX_US);
        if self.srtt_us_8 != 0 {
            m -= self.srtt_us_8 >> 3;
            self.srtt_us_8 += m;
            if m < 0 {
                m = -m - (self.mdev_us_4 >> 2);
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= self.mdev_us_4 >> 2;
            }
            self.mdev_us_4 += m;
            if self.mdev_us_4 > self.mdev_max_us {
                self.mdev_max_us = self.mdev_us_4;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
            }
            if snd_una > self.rtt_seq {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.rtt_seq = snd_nxt;
                self.mdev_max_us = RTO_MIN_US;
            }
        } else {
            self.srtt_us_8 = m << 3;
            self.mdev_us_4 = m << 1;
            self.rttvar_us = self.mdev_us_4.max(RTO_MIN_US);
            self.mdev_max_us = self.rttvar_us;
            self.rtt_seq = snd_nxt;
        }
        self.srtt_us_8 = self.srtt_us_8.max(1);
        self.rto_us = ((self.srtt_us_8 >> 3) + self.rttvar_us).max(RTO_MIN_US).min(self.max_us);
    }

    /// The handshake gave no sample because its SYN was sent again (RFC 6298 section 5.7, Linux `tcp_init_metrics`).
    pub fn fall_back(&mut self) {
        self.rttvar_us = RTO_FALLBACK_US;
        self.rto_us = RTO_FALLBACK_US.min(self.max_us);
    }

    /// Whether the timeout of data is known: it was measured, or is that after a handshake that was repeated.
    pub fn known(&self) -> bool {
        self.measured() || self.rttvar_us != 0
    }

    /// The timer expired: double the timeout (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.rto_us = (self.rto_us * 2).min(self.max_us);
    }

    /// The stack lets the timeout grow no further than this.
    pub fn cap(&mut self, max_us: i64) {
        self.max_us = max_us.clamp(1, RTO_MAX_US);
        self.rto_us = self.rto_us.min(self.max_us);
    }

    /// The timeout is not capped after all.
    pub fn uncap(&mut self) {
        self.max_us = RTO_MAX_US;
    }

    /// The stack's largest timeout, if it is less than Linux's default.
    pub fn capped_us(&self) -> Option<i64> {
        (self.max_us < RTO_MAX_US).then_some(self.max_us)
    }

    /// Timeout that the samples call for, without cap and backoff.
    pub fn uncapped_us(&self) -> i64 {
        ((self.srtt_us_8 >> 3) + self.rttvar_us).clamp(RTO_MIN_US, RTO_MAX_US)
    }

    /// Timeout without backoff, microseconds: that of the samples, or the initial one before the first.
    pub fn bare_us(&self) -> i64 {
        if self.known() { self.uncapped_us().min(self.max_us) } else { RTO_INITIAL_US.min(self.max_us) }
    }

    /// How often the timeout in force has been doubled. Only a sample takes that back, not an ACK of what was sent
    /// again (RFC 6298 section 5.7, Linux `icsk_backoff`); doublings beyond the largest timeout do not show in it.
    pub fn doublings(&self) -> u16 {
        let bare_us = self.bare_us();
        (0..32).find(|&times| bare_us << times >= self.rto_us).unwrap_or(32)
    }

    /// Timeout now in force, backoff included, microseconds.
    pub fn rto_us(&self) -> i64 {
        self.rto_us
    }

    /// Whether there was a sample.
    pub fn measured(&self) -> bool {
        self.srtt_us_8 != 0
    }

    /// Smoothed RTT, microseconds; 0 before the first sample.
    pub fn srtt_us(&self) -> i64 {
        self.srtt_us_8 >> 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_gives_three_rtts() {
        let mut estimator = RtoEstimator::default();
        assert_eq!(estimator.rto_us(), RTO_INITIAL_US);
        estimator.sample(462_704, 1, 5000);
        assert_eq!(estimator.srtt_us(), 462_704);
        assert_eq!(estimator.rto_us(), 3 * 462_704);
        assert_eq!((estimator.bare_us(), estimator.doublings()), (3 * 462_704, 0));
        estimator.back_off();
        assert_eq!(estimator.rto_us(), 6 * 462_704);
        assert_eq!((estimator.bare_us(), estimator.doublings()), (3 * 462_704, 1));
        estimator.sample(462_704, 5000, 6000);
        assert!(estimator.rto_us() < 3 * 462_704 + 1);
    }

    #[test]
    fn floor_is_above_srtt() {
        let mut estimator = RtoEstimator::default();
        for i in 0..200 {
            estimator.sample(1000, i * 10, i * 10 + 5);
        }
        assert_eq!(estimator.rto_us(), 1000 + RTO_MIN_US);
    }
}

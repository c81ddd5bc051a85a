use super::*;
use proptest::prelude::*;

proptest! {
    /// However the parts are divided, they are shares, and together the whole.
    #[test]
    fn parts_of_a_time_are_the_whole(whole in 0.0..=1.0, first in 0.0..=1.0, part in 0.0..=1.0) {
        let (before, behind) = split(whole, first, part);
        prop_assert!((0.0..=1.0).contains(&before) && (0.0..=1.0).contains(&behind));
        prop_assert!((before * part + behind * (1.0 - part) - whole).abs() < 1e-6);
    }
}

/// Paused for so many seconds of ten, and the link full for the others.
fn paused(seconds: f64) -> Limits {
    let mut limits = Limits { full_ns: Some((10.0 - seconds) * 1e9), ..Limits::default() };
    limits.ns[Limit::Application as usize] = seconds * 1e9;
    limits.ns[Limit::Bandwidth as usize] = (10.0 - seconds) * 1e9;
    limits
}

#[test]
fn a_constant_rate_that_is_the_mean_over_pauses_is_the_application_s() {
    for (seconds, mean_rate) in [(5.0, 0.95e6), (1.6, 0.93e6)] {
        let mut limits = paused(seconds);
        limits.leave_to_application(Some(1e6), None, mean_rate, false);
        assert_eq!(limits.ns[Limit::Application as usize], 10e9);
        assert_eq!((limits.ns[Limit::Bandwidth as usize], limits.full_ns, limits.paced), (0.0, None, true));
    }
}

/// Most of what came had one rate, and nothing came for half of the time: no link has such a mean.
#[test]
fn a_steady_rate_beside_longer_pauses_is_the_application_s() {
    let link = Some(Link { bytes_per_s: 1_000_000, full_permille: 600, fair: false });
    for (seconds, application) in [(5.0, 10e9), (3.0, 3e9)] {
        let mut limits = paused(seconds);
        limits.leave_to_application(None, link, 0.5e6, false);
        assert_eq!(limits.ns[Limit::Application as usize], application);
    }
}

#[test]
fn a_link_between_pauses_brings_less_than_its_rate_in_all() {
    for (seconds, rate, mean_rate) in
        [(5.0, Some(1e6), 0.5e6), (1.6, Some(1e6), 0.84e6), (0.9, Some(1e6), 0.99e6), (5.0, None, 0.95e6)]
    {
        let mut limits = paused(seconds);
        limits.leave_to_application(rate, None, mean_rate, false);
        assert_eq!(limits, paused(seconds));
    }
}

//! Hosts that number the packets of all their connections with one counter: what one connection leaves out, the others took.

use crate::segment::Address;
use crate::tracker::connection::Connection;
use crate::tracker::connection_store::ConnectionStore;
use std::collections::BTreeMap;

/// Connections of one host that are compared at most.
const MOST: usize = 64;
/// Identifications left out from which on it matters whose they are.
const FEW: f64 = 3.0;
/// Chance that counters of their own begin where one of the host would have been, for so many connections one after the other.
const CHANCE: f64 = 0.01;
/// Packets that the place of a counter may be off by, as super-segments are counted by their bytes.
const OFF: i64 = 3;
/// What was left out is what the others took, within these parts of it or a few: not all of it is counted while data is missing.
const ALIKE: (f64, f64) = (0.5, 1.2);

/// One direction of a connection, by its sender's identifications.
struct Numbered {
    number: usize,
    direction: usize,
    first_ns: i64,
    last_ns: i64,
    packets: f64,
    left_out: f64,
    /// The first identification, about, and how many the counter went on by.
    from: i64,
    steps: i64,
}

impl Numbered {
    /// Packets that it sent while another connection was there, if it sent them evenly.
    fn beside(&self, other: &Numbered) -> f64 {
        let together_ns = self.last_ns.min(other.last_ns) - self.first_ns.max(other.first_ns);
        let span_ns = (self.last_ns - self.first_ns).max(1);
        self.packets * (together_ns.max(0) as f64 / span_ns as f64).min(1.0)
    }

    /// Whether the numbers of all that were there with it lie where one counter would have been, which others took `taken` of.
    fn lies_beside(&self, all: &[Numbered], taken: f64) -> bool {
        let together = |other: &&Numbered| other.number != self.number && self.beside(other) > 0.0;
        let near = |other: &Numbered| {
            let ahead = (other.from - self.from).rem_euclid(1 << 16);
            let most = self.steps.max(other.steps) + taken as i64 + 2 * OFF;
            ahead <= most || (1 << 16) - ahead <= most
        };
        all.iter().filter(together).all(near)
    }

    /// Whether all connections that began while this one was there began at numbers that it passed meanwhile.
    fn shares_its_counter(&self, all: &[Numbered]) -> bool {
        let most = self.steps + 2 * OFF;
        let began = |other: &&Numbered| {
            other.number != self.number && (self.first_ns..=self.last_ns).contains(&other.first_ns)
        };
        let passed = |other: &Numbered| (other.from - self.from + OFF).rem_euclid(1 << 16) <= most;
        let chance: f64 = all.iter().filter(began).map(|_| most as f64 / f64::from(1 << 16)).product();
        chance < CHANCE && all.iter().filter(began).all(passed)
    }
}

/// Where the identifications that a connection left out are as many as the packets of its host's other connections at that time,
/// they are those: nothing was lost by them (RFC 6864: a counter may be the host's, or that of a destination). So it is where each
/// of those begins with a number that its counter had just come to.
pub(in crate::tracker) fn find_host_counters(connections: &mut ConnectionStore) {
    let mut hosts: BTreeMap<Address, Vec<Numbered>> = BTreeMap::new();
    connections.each_comparable(|number, connection| {
        for (direction, (host, _)) in connection.endpoints.into_iter().enumerate() {
            let of_host = hosts.entry(host).or_default();
            if of_host.len() < MOST {
                of_host.push(numbered(number, direction, connection));
            }
        }
    });
    let of_host = |one: &&Numbered, all: &[Numbered]| {
        let others = all.iter().filter(|other| other.number != one.number);
        let taken: f64 = others.map(|other| other.beside(one)).sum();
        let alike = taken * ALIKE.0 - FEW..=taken * ALIKE.1 + FEW;
        let by_many = taken >= FEW && alike.contains(&one.left_out) && one.lies_beside(all, taken);
        one.left_out >= FEW && (by_many || one.shares_its_counter(all))
    };
    for all in hosts.values().filter(|all| all.len() > 1) {
        for one in all.iter().filter(|one| of_host(one, all)) {
            connections.note(one.number, |connection| connection.senders[one.direction].ids.are_the_hosts());
        }
    }
}

fn numbered(number: usize, direction: usize, connection: &Connection) -> Numbered {
    let sender = connection.senders_at(direction);
    let numbers = if sender.numbers_alone() { sender.identifications_left_out() } else { 0 };
    // Where gaps show much of it, the numbers are those of what was lost.
    let left_out = if 2 * sender.lost_by_gaps() < numbers { numbers } else { 0 };
    let steps = i64::try_from(sender.totals.segments.saturating_add(numbers)).unwrap_or(i64::MAX);
    Numbered {
        number,
        direction,
        first_ns: connection.first_ns,
        last_ns: connection.last_ns,
        packets: sender.totals.segments as f64,
        left_out: left_out as f64,
        from: sender.ids.next - steps,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections that began a second apart, each at a number that the first had come to, or elsewhere; so many steps of the first.
    fn shared(begins: &[i64], steps: i64) -> bool {
        let one = |number: usize, from: i64, steps: i64| Numbered {
            number,
            direction: 1,
            first_ns: number as i64,
            last_ns: 100,
            packets: 10.0,
            left_out: 5.0,
            from,
            steps,
        };
        let mut all = vec![one(0, 65_500, steps)];
        all.extend(begins.iter().enumerate().map(|(at, &from)| one(1 + at, from, 20)));
        all[0].shares_its_counter(&all)
    }

    /// Two at a time, of which the second begins at a number: its packets are as many as the first left out.
    #[test]
    fn as_many_numbers_elsewhere_are_no_counter_of_the_host() {
        let one = |number: usize, from: i64| Numbered {
            number,
            direction: 0,
            first_ns: 0,
            last_ns: 100,
            packets: 46.0,
            left_out: 46.0,
            from,
            steps: 92,
        };
        for (from, beside) in [(500, true), (560, true), (65_500, false), (30_000, false)] {
            let all = [one(0, 500), one(1, from)];
            assert_eq!(all[0].lies_beside(&all, 46.0), beside, "{from}");
        }
        let wraps = [one(0, 10), one(1, 65_500)];
        assert!(wraps[0].lies_beside(&wraps, 46.0));
    }

    #[test]
    fn connections_that_begin_where_a_counter_stands_share_it() {
        assert!(shared(&[65_510, 30], 200), "it wraps");
        assert!(!shared(&[65_510, 40_000], 200), "one has a counter of its own");
        assert!(!shared(&[65_510], 5000), "by chance, one time in thirteen");
        assert!(shared(&[65_510, 3000], 5000));
        assert!(!shared(&[], 200), "nobody else");
    }
}

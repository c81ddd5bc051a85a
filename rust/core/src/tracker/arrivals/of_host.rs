//! Hosts that number the packets of all their connections with one counter: what one connection leaves out, the others took.

use crate::segment::Address;
use crate::tracker::connection::Connection;
use crate::tracker::connection_store::ConnectionStore;
use std::collections::BTreeMap;

/// Connections of one host that are compared at most.
const MOST: usize = 64;
/// Identifications left out from which on it matters whose they are.
const FEW: f64 = 3.0;
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
}

impl Numbered {
    /// Packets that it sent while another connection was there, if it sent them evenly.
    fn beside(&self, other: &Numbered) -> f64 {
        let together_ns = self.last_ns.min(other.last_ns) - self.first_ns.max(other.first_ns);
        let span_ns = (self.last_ns - self.first_ns).max(1);
        self.packets * (together_ns.max(0) as f64 / span_ns as f64).min(1.0)
    }
}

/// Where the identifications that a connection left out are as many as the packets of its host's other connections at that time,
/// they are those: nothing was lost by them (RFC 6864: a counter may be the host's, or that of a destination).
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
        one.left_out >= FEW && taken >= FEW && alike.contains(&one.left_out)
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
    Numbered {
        number,
        direction,
        first_ns: connection.first_ns,
        last_ns: connection.last_ns,
        packets: sender.totals.segments as f64,
        left_out: left_out as f64,
    }
}

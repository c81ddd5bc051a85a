//! What a sender waited for: its pauses, where what they seemed to be is put right by all that is known of the transfer.

use super::{MARGIN, Wait};
use crate::tracker::outcome::Cause;
use crate::tracker::path::schedule::Kept;
use crate::tracker::path::{Link, Path};
use crate::tracker::sender::Sender;

/// Part of the pauses of an application that a link needs at least, if these may be its.
const IDLE: f64 = 0.2;

/// Time by what was waited for.
pub(super) struct Spent {
    ns: [i64; Wait::COUNT],
    /// What the network seemed to have taken before the end of the data.
    pub network_ns: i64,
    /// From the last data to its ACK: that is the network's time, too...
    pub rest_ns: i64,
    /// ...but not what it took longer than nearly every RTT: no link was full then...
    pub late_ns: i64,
    /// ...nor the way of the last data to the receiver, and of its ACK: all that was sent has crossed a link then.
    pub last_ns: i64,
    /// Whether anything was sent again that may have been lost.
    pub lost: bool,
}

impl Spent {
    /// Of a path; Nagle's algorithm held data for `held_ns` of what the network seems to have taken, and `kept` is what the
    /// application's own clock made up.
    pub fn of(
        path: &Path,
        link: Option<Link>,
        (sender, acks): (&Sender, &Sender),
        held_ns: i64,
        kept: Option<&Kept>,
    ) -> Self {
        let rest_ns = path.gaps.rest_ns(sender.totals().last_advance_ns);
        let late_ns = path.halves.longest_ns().map_or(0, |longest_ns| (rest_ns - longest_ns).max(0));
        let last_ns = path.halves.far_min_ns().unwrap_or(0).min(rest_ns - late_ns);
        let rest_ns = rest_ns - late_ns - last_ns;
        let mut spent = Spent {
            ns: path.gaps.spent_ns,
            network_ns: 0,
            rest_ns,
            late_ns,
            last_ns,
            lost: repaired(sender),
        };
        spent.give(Wait::Network as usize, Wait::Application, held_ns);
        spent.network_ns = spent.at(Wait::Network);
        for (wait, ns) in kept.map(|kept| kept.made_up_ns).into_iter().flatten().enumerate() {
            // While its sender paced it, TCP had not sent all of a write.
            let spread_ns = if wait == Wait::Network as usize { path.gaps.spread_ns() } else { 0 };
            spent.give(wait, Wait::Application, ns.min(spent.ns[wait] - spread_ns).max(0));
        }
        // Where numbers show that its queue refused other segments, one is enough.
        let refuses = path.gaps.refused().is_some() || sender.refused_by_numbers(acks) > 0;
        let of_timer = if refuses { Wait::Silence } else { Wait::Application };
        spent.give(Wait::Refused as usize, of_timer, i64::MAX);
        if !spent.lost {
            // What looked like a recovery is what the sender waited for anyway.
            let to =
                if spent.at(Wait::Window) > spent.at(Wait::Network) { Wait::Window } else { Wait::Network };
            spent.give(Wait::Recovery as usize, to, i64::MAX);
        }
        spent.add(Wait::Network, rest_ns);
        spent.end_with_last_ack(sender.after_the_end_ns());
        spent.never_came(path, sender, acks);
        spent.leave_to_link(path, link, sender);
        spent
    }

    pub fn at(&self, wait: Wait) -> i64 {
        self.ns[wait as usize]
    }

    fn add(&mut self, wait: Wait, ns: i64) {
        self.ns[wait as usize] = self.ns[wait as usize].saturating_add(ns);
    }

    /// So much of one is the other, or all of it.
    fn give(&mut self, from: usize, to: Wait, ns: i64) {
        let ns = ns.min(self.ns[from]);
        self.ns[from] -= ns;
        self.add(to, ns);
    }

    /// A copy of what is acknowledged already, with nothing behind it, is a timer's: the transfer did not wait for it.
    fn end_with_last_ack(&mut self, mut beyond_ns: i64) {
        for wait in [Wait::Silence, Wait::Recovery, Wait::Drain, Wait::Network, Wait::Application] {
            let ns = beyond_ns.min(self.at(wait)).max(0);
            self.ns[wait as usize] -= ns;
            beyond_ns -= ns;
        }
    }

    /// What was sent in a pause and never came was refused by the sender's own queue, or lost and sent again in order.
    /// Numbers that nothing else shows to be of such segments may be those of other connections of the host.
    fn never_came(&mut self, path: &Path, sender: &Sender, acks: &Sender) {
        if sender.never_came(acks) && sender.unseen().is_some_and(|[unseen, _]| unseen > 0) {
            let (left_ns, timed_ns) = path.gaps.left_out_ns();
            let left_ns = left_ns.min(self.at(Wait::Application));
            let timed_ns = timed_ns.min(left_ns);
            self.give(Wait::Application as usize, Wait::Network, left_ns - timed_ns);
            self.give(Wait::Application as usize, Wait::Silence, timed_ns);
        }
    }

    /// Others take what it leaves of a link, and it gets its share: its pauses are those of a queue before this point. Alone,
    /// those may be that no end of a write marks; without a link nobody knows whose they are. A link that needs far less than the pauses
    /// for all that was sent takes no more than that.
    fn leave_to_link(&mut self, path: &Path, link: Option<Link>, sender: &Sender) {
        let shared = link.map_or(0.0, Link::full_share);
        let mine_ns = self.at(Wait::Application);
        let unmarked_ns = path.gaps.unmarked_ns().min(mine_ns);
        let (paused_ns, to) = match link {
            Some(link) if link.fair && path.link.is_none() => {
                let needed_ns = sender.totals().data_bytes as f64 * 1e9 / (link.bytes_per_s as f64).max(1.0);
                let left_ns = (needed_ns * (1.0 + MARGIN)) as i64 - self.at(Wait::Network);
                let ns = (mine_ns as f64 * shared) as i64;
                // One that was idle for a part of the pauses may have been behind a sender that waited for it.
                let idle = needed_ns < IDLE * mine_ns as f64;
                (if idle { ns.min(left_ns.max(0)) } else { ns }, Wait::Network)
            }
            Some(link) if link.fair => ((mine_ns as f64 * shared) as i64, Wait::Network),
            Some(_) if path.link.is_none() => ((unmarked_ns as f64 * shared) as i64, Wait::Network),
            Some(_) => (0, Wait::Network),
            None => (unmarked_ns, Wait::Unknown),
        };
        self.give(Wait::Application as usize, to, paused_ns);
        // While the link that several share is not full, nobody knows either: it may be the pace of the sender (BBR).
        if path.link.is_some() {
            let left_ns = (unmarked_ns - paused_ns).max(0);
            self.give(Wait::Application as usize, Wait::Unknown, left_ns);
        }
    }
}

/// For how long behind the end of the transfer a window that never opened again held data back: probes of it show that there was more
/// to send (RFC 9293 section 3.8.6.1).
pub(super) fn closed_ns((sender, acks): (&Sender, &Sender), end_ns: i64) -> i64 {
    let until_ns = acks.closures().closed_until_ns().filter(|_| sender.totals().probe_segments > 0);
    until_ns.map_or(0, |until_ns| until_ns.saturating_sub(end_ns).max(0))
}

/// Whether anything was sent again that may have been lost. Duplicate ACKs tell of reordering as well, and a tail loss
/// probe of what had arrived repairs nothing (RFC 8985 section 7.4).
fn repaired(sender: &Sender) -> bool {
    let counts = sender.retransmission_counts();
    let again = sender.data_retransmissions();
    let probes = counts[Cause::TailLossProbe as usize] + counts[Cause::UnneededProbe as usize];
    again > probes || sender.needless() < again
}

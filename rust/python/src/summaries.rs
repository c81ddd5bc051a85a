//! Summaries of connections: as dictionaries, one at a time, and as JSON without one.

use multitracer_core::digest::Digest;
use multitracer_core::json::{Entries, EntryContext, path_object};
use multitracer_core::summary::{
    Closed, RoundTrips, Unfinished, acks_lost, losses, needless, never_passed, possible, refused, reset_by,
    reset_ttl, retransmissions, syn_timeouts, unacked_timeouts, window_scaling,
};
use multitracer_core::tracker::{CAUSES, Connection, ConnectionStore, Limit, Sender, TakenBack, Waits};
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice};
use std::sync::{Arc, Mutex, PoisonError};

/// Words for the causes, in the order of `Cause`; those of retransmissions are keys of the public contract.
const CAUSE_NAMES: [&str; CAUSES] =
    ["", "timeout", "fast", "slow_start", "tail_loss_probe", "unneeded_probe", "unknown", "handshake"];

/// Words for the verdicts on arrivals, in the order of `ArrivalVerdict`.
const ARRIVAL_NAMES: [&str; 5] = ["", "retransmission", "reordered", "network_duplicate", "undecided"];

/// Summaries of connections, each made into a dictionary when it is asked for: a dictionary takes some ten times
/// the memory of what it is made from, and a capture may hold hundreds of thousands of connections.
#[pyclass(frozen)]
pub(crate) struct Summaries {
    connections: Arc<ConnectionStore>,
    /// What was asked of all together last, and for how many of the worst and largest.
    digest: Mutex<Option<(usize, Digest)>>,
}

/// The worst and largest that are found at first: finding fewer takes as long.
const FOUND: usize = 1000;

impl Summaries {
    pub(crate) fn new(connections: ConnectionStore) -> Self {
        Summaries { connections: Arc::new(connections), digest: Mutex::new(None) }
    }

    /// Found once, unless more of the worst and largest are asked for than before.
    fn found(&self, most: usize) -> Digest {
        let mut known = self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut digest = match &*known {
            Some((found, digest)) if *found >= most => digest.clone(),
            _ => {
                let wanted = most.max(FOUND);
                let digest = Digest::of(&self.connections, wanted);
                *known = Some((wanted, digest.clone()));
                digest
            }
        };
        digest.worst.truncate(most);
        digest.largest.truncate(most);
        digest
    }

    fn at<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        self.connections.with(number, |connection| connection_to_python(py, connection))
    }
}

/// Connections from which on giving back their memory is worth a thread.
const MANY: usize = 10_000;

impl Drop for Summaries {
    /// Nobody waits until the memory of many is given back.
    fn drop(&mut self) {
        if self.connections.len() >= MANY {
            let connections = std::mem::take(&mut self.connections);
            drop(std::thread::Builder::new().spawn(move || drop(connections)));
        }
    }
}

/// Text of entries, piece by piece; the next ones are made while one is written.
#[pyclass(frozen)]
struct EntryPieces(Mutex<Entries>);

#[pymethods]
impl EntryPieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let piece = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        piece.map(|text| PyBytes::new(py, text.as_bytes()))
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Summaries>()
}

#[pymethods]
impl Summaries {
    fn __len__(&self) -> usize {
        self.connections.len()
    }

    /// One dictionary, or a list of those that a slice names.
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.connections.len() as isize;
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(count)?;
            let found = PyList::empty(py);
            for step in 0..range.slicelength as isize {
                let at = (range.start + step * range.step) as usize;
                found.append(self.at(py, at)?)?;
            }
            return Ok(found.into_any());
        }
        let index: isize = index.extract()?;
        let at = if index < 0 { index + count } else { index };
        match usize::try_from(at) {
            Ok(at) if at < self.connections.len() => Ok(self.at(py, at)?.into_any()),
            _ => Err(PyIndexError::new_err(format!("connection {index} of {count}"))),
        }
    }

    /// Time of the first segment of all, and which connection has most payload in one direction (the first of them).
    fn overview(&self) -> (Option<i64>, Option<usize>) {
        let overview = self.connections.overview();
        (overview.first_ns, overview.largest.map(|(_, number)| number))
    }

    /// Both ends of each.
    fn endpoints(&self) -> Vec<[(String, u16); 2]> {
        let mut found = Vec::with_capacity(self.connections.len());
        self.connections.each(0..self.connections.len(), |_, connection| {
            found.push(connection.endpoints.map(|(address, port)| (address.to_ip().to_string(), port)));
        });
        found
    }

    /// `connections` of docs/json.md in pieces, with a comma before each entry but the first.
    fn entries(&self, source: String, point: String, t0_ns: i64, flat: bool) -> EntryPieces {
        let context = EntryContext { source, point, t0_ns };
        EntryPieces(Mutex::new(Entries::new(Arc::clone(&self.connections), context, flat)))
    }

    /// What all come to together, as the stub says.
    fn digest<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyDict>> {
        let found = py.detach(|| self.found(most));
        let d = PyDict::new(py);
        d.set_item("connections", self.connections.len())?;
        d.set_item("bytes", counts(py, &["sent", "unique", "duplicate", "acked"], &found.bytes)?)?;
        let causes = counts(py, &CAUSE_NAMES[1..], &found.retransmissions[1..])?;
        causes.set_item("total", retransmissions(&found.retransmissions))?;
        causes.set_item("unseen", found.unseen)?;
        causes.set_item("fast_or_slow_start", found.undecided.1)?;
        causes.set_item("probe_or_timeout", found.undecided.0)?;
        d.set_item("retransmissions", causes)?;
        d.set_item("timeouts", timeout_counts(py, &found.timeouts)?)?;
        d.set_item("closed", counts(py, &Closed::NAMES, &found.closed)?)?;
        d.set_item("without_handshake", found.without_handshake)?;
        d.set_item("repeating", found.repeating)?;
        d.set_item("possible", found.possible)?;
        let limits = PyDict::new(py);
        for (name, [connections, bytes]) in Limit::NAMES.into_iter().zip(found.limits) {
            limits.set_item(name, counts(py, &["connections", "bytes"], &[connections, bytes])?)?;
        }
        d.set_item("limits", limits)?;
        d.set_item("worst", found.worst)?;
        d.set_item("largest", found.largest)?;
        Ok(d)
    }

    /// Copies and pickles are plain lists.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let all = self.__getitem__(py, PySlice::full(py).as_any())?;
        Ok((py.get_type::<PyList>().into_any(), (all,)))
    }
}

fn counts<'py>(py: Python<'py>, names: &[&str], counts: &[u64]) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    for (name, count) in names.iter().zip(counts) {
        d.set_item(name, count)?;
    }
    Ok(d)
}

pub(crate) fn connection_to_python<'py>(
    py: Python<'py>,
    connection: &Connection,
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    let ends = connection.endpoints.map(|(address, port)| (address.to_ip().to_string(), port));
    d.set_item(intern!(py, "endpoints"), (ends[0].clone(), ends[1].clone()))?;
    d.set_item(intern!(py, "first_ns"), connection.first_ns)?;
    d.set_item(intern!(py, "last_ns"), connection.last_ns)?;
    d.set_item(intern!(py, "handshake"), connection.handshake())?;
    d.set_item(intern!(py, "closed"), Closed::of(connection).name())?;
    d.set_item(intern!(py, "reset_by"), (reset_by(connection, 0), reset_by(connection, 1)))?;
    let [forward, reverse] = [0, 1].map(|direction| {
        let ttls = reset_ttl(connection, direction).map(|ttls| ttls.map(u64::from));
        ttls.map(|ttls| counts(py, &["usual", "reset"], &ttls)).transpose()
    });
    d.set_item(intern!(py, "reset_ttl"), (forward?, reverse?))?;
    d.set_item(intern!(py, "window_scaling"), window_scaling(connection))?;
    d.set_item(intern!(py, "syn_timeouts"), syn_timeouts(connection))?;
    d.set_item(intern!(py, "unacked_timeouts"), unacked_timeouts(connection))?;
    let [forward, reverse] = [0, 1].map(|direction| exchanges_to_python(py, connection.exchanges(direction)));
    d.set_item(intern!(py, "exchanges"), (forward?, reverse?))?;
    let senders = [connection.senders_at(0), connection.senders_at(1)];
    d.set_item(intern!(py, "isn"), senders.map(Sender::isn))?;
    d.set_item(intern!(py, "base"), senders.map(Sender::base))?;
    for (direction, name) in ["forward", "reverse"].into_iter().enumerate() {
        d.set_item(name, direction_to_python(py, connection, direction)?)?;
    }
    Ok(d)
}

fn direction_to_python<'py>(
    py: Python<'py>,
    connection: &Connection,
    direction: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let sender = connection.senders_at(direction);
    let totals = sender.totals();
    let d = PyDict::new(py);
    d.set_item(intern!(py, "segments"), totals.segments)?;
    d.set_item(intern!(py, "data_segments"), totals.data_segments)?;
    d.set_item(intern!(py, "data_bytes"), totals.data_bytes)?;
    d.set_item(intern!(py, "unique_bytes"), sender.unique_bytes())?;
    d.set_item(intern!(py, "duplicate_bytes"), totals.duplicate_bytes)?;
    d.set_item(intern!(py, "acked_bytes"), sender.acked_bytes())?;
    d.set_item(intern!(py, "unseen_acked_bytes"), sender.unseen_bytes())?;
    let seen = sender.arrival_counts();
    let inferred = seen.inferred.iter().sum();
    let unseen = never_passed(connection, direction);
    let causes =
        retransmission_counts(py, &sender.retransmission_counts(), [inferred, unseen], sender.undecided())?;
    d.set_item(intern!(py, "retransmissions"), causes)?;
    let arrivals = counts(py, &ARRIVAL_NAMES[1..], &seen.verdicts[1..])?;
    d.set_item(intern!(py, "arrivals"), arrivals)?;
    d.set_item(
        intern!(py, "losses"),
        counts(py, &["upstream", "downstream"], &losses(connection, direction))?,
    )?;
    d.set_item(intern!(py, "acks_lost"), acks_lost(connection, direction))?;
    d.set_item(intern!(py, "refused"), refused(connection, direction))?;
    d.set_item(intern!(py, "possible"), possible(connection, direction))?;
    d.set_item(intern!(py, "merged"), sender.merged())?;
    d.set_item(intern!(py, "passed_over"), seen.passed_over)?;
    d.set_item(intern!(py, "timeouts"), timeout_counts(py, &connection.timeout_verdicts(direction))?)?;
    d.set_item(intern!(py, "recovery"), recovery_to_python(py, sender)?)?;
    d.set_item(intern!(py, "probe_segments"), totals.probe_segments)?;
    d.set_item(intern!(py, "new_data_probes"), totals.new_data_probes)?;
    d.set_item(intern!(py, "out_of_order"), totals.out_of_order)?;
    d.set_item(intern!(py, "corrupted"), totals.corrupted)?;
    d.set_item(intern!(py, "syn"), totals.syn)?;
    d.set_item(intern!(py, "fin"), totals.fin)?;
    d.set_item(intern!(py, "rst"), totals.rst)?;
    d.set_item(intern!(py, "duplicate_acks"), totals.duplicate_acks)?;
    d.set_item(intern!(py, "sack_segments"), totals.sack_segments)?;
    d.set_item(intern!(py, "dsacks"), totals.dsacks)?;
    d.set_item(intern!(py, "needless"), needless(connection, direction))?;
    d.set_item(intern!(py, "reported"), sender.needless())?;
    d.set_item(intern!(py, "zero_windows"), totals.zero_windows)?;
    d.set_item(intern!(py, "window_updates"), totals.window_updates)?;
    let closures = sender.closures();
    let [longest_ns, total_ns] = closures.lengths_ns();
    d.set_item(intern!(py, "window_closures"), (closures.count, longest_ns, total_ns))?;
    d.set_item(intern!(py, "loss_records"), sender.loss_records())?;
    d.set_item(intern!(py, "unfinished"), unfinished_to_python(py, connection, direction)?)?;
    d.set_item(intern!(py, "ece"), totals.ece)?;
    d.set_item(intern!(py, "ce"), totals.ce)?;
    d.set_item(intern!(py, "cwr"), totals.cwr)?;
    d.set_item(intern!(py, "max_flight_bytes"), totals.max_flight)?;
    d.set_item(intern!(py, "max_window_bytes"), totals.max_window)?;
    d.set_item(intern!(py, "first_data_ns"), totals.first_data_ns)?;
    d.set_item(intern!(py, "last_data_ns"), totals.last_data_ns)?;
    d.set_item(intern!(py, "last_advance_ns"), totals.last_advance_ns)?;
    if let Some(rtt) = RoundTrips::of(sender) {
        let r = PyDict::new(py);
        r.set_item(intern!(py, "samples"), rtt.samples)?;
        r.set_item(intern!(py, "min_ns"), rtt.min_ns)?;
        r.set_item(intern!(py, "mean_ns"), rtt.mean_ns)?;
        r.set_item(intern!(py, "max_ns"), rtt.max_ns)?;
        r.set_item(intern!(py, "srtt_ns"), rtt.srtt_ns)?;
        r.set_item(intern!(py, "rto_ns"), rtt.rto_ns)?;
        d.set_item(intern!(py, "rtt"), r)?;
    } else {
        d.set_item(intern!(py, "rtt"), py.None())?;
    }
    // As JSON text: said in one place, and rarely asked for.
    d.set_item(intern!(py, "path"), path_object(connection, direction))?;
    let (mss, window_scale, sack_permitted, timestamps) = sender.options();
    d.set_item(intern!(py, "mss"), mss)?;
    d.set_item(intern!(py, "window_scale"), window_scale)?;
    d.set_item(intern!(py, "sack_permitted"), sack_permitted)?;
    d.set_item(intern!(py, "timestamps"), timestamps)?;
    d.set_item(intern!(py, "options_cut"), sender.options_cut())?;
    d.set_item(intern!(py, "largest_segment"), sender.largest_segment())?;
    Ok(d)
}

/// Requests and responses; None where the ends do not take turns.
fn exchanges_to_python<'py>(py: Python<'py>, waits: Option<Waits>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(waits) = waits else { return Ok(None) };
    let d = PyDict::new(py);
    d.set_item(intern!(py, "count"), waits.count)?;
    d.set_item(intern!(py, "client"), waits.client)?;
    d.set_item(intern!(py, "request_ns"), waits.request_ns)?;
    d.set_item(intern!(py, "response_ns"), waits.response_ns)?;
    d.set_item(intern!(py, "requests"), waits.requests)?;
    d.set_item(intern!(py, "held"), waits.held)?;
    Ok(Some(d))
}

/// What shows that a direction broke off; None where nothing does.
fn unfinished_to_python<'py>(
    py: Python<'py>,
    connection: &Connection,
    direction: usize,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(found) = Unfinished::of(connection, direction) else { return Ok(None) };
    let d = PyDict::new(py);
    d.set_item(intern!(py, "timeouts"), found.timeouts)?;
    d.set_item(intern!(py, "first_ns"), found.span_ns.map(|(first_ns, _)| first_ns))?;
    d.set_item(intern!(py, "last_ns"), found.span_ns.map(|(_, last_ns)| last_ns))?;
    d.set_item(intern!(py, "records"), found.records)?;
    d.set_item(intern!(py, "reset"), found.reset)?;
    d.set_item(intern!(py, "waited_ns"), found.waited_ns)?;
    Ok(Some(d))
}

/// `retransmissions` of docs/json.md.
pub(crate) fn retransmission_counts<'py>(
    py: Python<'py>,
    by_cause: &[u64; CAUSES],
    [inferred, unseen]: [u64; 2],
    (probe_or_timeout, fast_or_slow_start): (u64, u64),
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item(intern!(py, "total"), retransmissions(by_cause))?;
    for (name, count) in CAUSE_NAMES.iter().zip(by_cause).skip(1) {
        d.set_item(name, count)?;
    }
    d.set_item(intern!(py, "inferred"), inferred)?;
    d.set_item(intern!(py, "unseen"), unseen)?;
    d.set_item(intern!(py, "fast_or_slow_start"), fast_or_slow_start)?;
    d.set_item(intern!(py, "probe_or_timeout"), probe_or_timeout)?;
    Ok(d)
}

/// What loss recovery and reordering came to; None where there was nothing of either.
fn recovery_to_python<'py>(py: Python<'py>, sender: &Sender) -> PyResult<Option<Bound<'py, PyDict>>> {
    if !sender.has_history() {
        return Ok(None);
    }
    let d = PyDict::new(py);
    d.set_item(intern!(py, "episodes"), sender.episodes().len())?;
    d.set_item(intern!(py, "lost_again"), sender.lost_again())?;
    let (probe_or_timeout, fast_or_slow_start) = sender.undecided();
    let undecided =
        counts(py, &["probe_or_timeout", "fast_or_slow_start"], &[probe_or_timeout, fast_or_slow_start])?;
    d.set_item(intern!(py, "undecided"), undecided)?;
    let counts = sender.taken_back();
    let taken = |kind: TakenBack| counts[kind as usize];
    let undone = PyDict::new(py);
    // F-RTO is one way to take a timeout back: the kernel counts it among them.
    undone.set_item(intern!(py, "loss"), taken(TakenBack::Loss) + taken(TakenBack::Frto))?;
    undone.set_item(intern!(py, "frto"), taken(TakenBack::Frto))?;
    undone.set_item(intern!(py, "full"), taken(TakenBack::Full))?;
    undone.set_item(intern!(py, "partial"), taken(TakenBack::Partial))?;
    undone.set_item(intern!(py, "dsack"), taken(TakenBack::Dsack))?;
    d.set_item(intern!(py, "undone"), undone)?;
    let reordering = sender.reordering();
    d.set_item(intern!(py, "reordered_by_sack"), reordering.by_sack)?;
    d.set_item(intern!(py, "reordered_by_timestamp"), reordering.by_timestamp)?;
    d.set_item(intern!(py, "reordering_bytes"), reordering.extent)?;
    let rto_max = match sender.rto_cap() {
        None => None,
        Some((max_ns, cap)) => {
            let c = PyDict::new(py);
            c.set_item(intern!(py, "max_ns"), max_ns)?;
            c.set_item(intern!(py, "waits"), cap.waits)?;
            c.set_item(intern!(py, "shortest_ns"), cap.shortest_ns)?;
            c.set_item(intern!(py, "longest_ns"), cap.longest_ns)?;
            c.set_item(intern!(py, "estimated_ns"), cap.estimated_ns)?;
            c.set_item(intern!(py, "record"), cap.record)?;
            Some(c)
        }
    };
    d.set_item(intern!(py, "rto_max"), rto_max)?;
    Ok(Some(d))
}

/// `timeouts` of docs/json.md.
pub(crate) fn timeout_counts<'py>(py: Python<'py>, verdicts: &[u64; 3]) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item(intern!(py, "total"), verdicts.iter().sum::<u64>())?;
    for (name, count) in ["spurious", "genuine", "inconclusive"].into_iter().zip(verdicts) {
        d.set_item(name, count)?;
    }
    Ok(d)
}

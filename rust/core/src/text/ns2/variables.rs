//! Variables of TCP agents as they change: `$tcp attach FILE; $tcp trace cwnd_`.
//!
//! `1.09551  0  0  3  0  cwnd_ 2.000`: time, node and port of the agent, node and port of its peer, name, value.
//!
//! Reference: `TcpAgent::traceVar` in `tcp/tcp.cc` of ns-2.35.

use std::io::{self, Read};

use super::super::fault::{Fault, Order, Resolution};
use super::super::flows::FlowTable;
use super::super::lines::Lines;
use super::super::number::fit;
use super::super::words::{Words, excerpt};
use super::address;
use super::event::time;
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// Agents have some thirty variables.
const MAX_NAMES: usize = 256;

/// One row per line.
#[derive(Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Rows {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    /// Index into the names.
    pub name: Vec<i16>,
    pub value: Vec<f64>,
}

/// What the file says.
#[derive(Debug, Default)]
pub struct Variables {
    /// Values as written.
    pub rows: Rows,
    /// Agents, each with its peer.
    pub flows: FlowTable,
    /// Names of variables.
    pub names: Vec<String>,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<Variables> for Found {
    fn from(log: Variables) -> Self {
        let rows = log.rows;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("variables", columns!(rows; t_ns, record, flow, name, value))
            .fact("flows", &log.flows)
            .fact("names", log.names)
    }
}

/// Read the file.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<Variables> {
    let mut found = Variables::default();
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut lines = Lines::new(reader);
    let (mut issues, mut resolution, mut order) =
        (Issues::default(), Resolution::default(), Order::default());
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        if line.is_empty() {
            continue;
        }
        match row(&mut found, &mut names, number, line) {
            Ok((t_ns, decimals)) => {
                resolution.saw(decimals);
                order.check(t_ns, number, &mut issues);
            }
            Err(fault) => fault.report(number, line, &mut issues),
        }
    }
    found.names = names.iter().map(|name| excerpt(name)).collect();
    found.lines = lines.count();
    found.resolution_ns = resolution.ns();
    found.issues = issues;
    Ok(found)
}

fn row(
    found: &mut Variables,
    names: &mut Vec<Vec<u8>>,
    record: u64,
    line: &[u8],
) -> Result<(i64, u8), Fault> {
    let mut words = Words(line);
    let mut next = || words.next().ok_or(Fault::NotOurs);
    let (t_ns, decimals) = time(next()?)?;
    let ends = [next()?, next()?, next()?, next()?];
    let (name, value) = (next()?, next()?);
    if !name.ends_with(b"_") || name.len() > 64 || words.next().is_some() {
        return Err(Fault::NotOurs);
    }
    let text = std::str::from_utf8(value).map_err(|_| Fault::NotOurs)?;
    let value: f64 = text.parse().map_err(|_| Fault::BadNumber)?;
    if !value.is_finite() {
        return Err(Fault::BadNumber);
    }
    let end = |at: usize| -> Result<_, Fault> {
        let node = fit(ends[at]).ok_or(Fault::BadNumber)?;
        Ok(address((node, fit(ends[at + 1]).ok_or(Fault::BadNumber)?)))
    };
    let (local, remote) = (end(0)?, end(2)?);
    let index = match names.iter().position(|known| known == name) {
        Some(index) => index,
        None if names.len() >= MAX_NAMES => return Err(Fault::NotOurs),
        None => {
            names.push(name.to_vec());
            names.len() - 1
        }
    };
    let rows = &mut found.rows;
    rows.t_ns.push(t_ns);
    rows.record.push(record as i64);
    rows.flow.push(found.flows.intern(local, remote));
    rows.name.push(index as i16);
    rows.value.push(value);
    Ok((t_ns, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_faults() {
        let text = "1.09551  0  0  3  0  cwnd_ 2.000 \n1.09551  0  0  3  0  maxseq_ -1\n\
                    garbage\n1.1 0 0 3 0 cwnd_ nan\n1.1 0 0 3 0 cwnd_ 1 2\n1.2 0 1 3 0 cwnd_ 1e3\n";
        let found = scan(text.as_bytes()).unwrap();
        assert_eq!(found.rows.value, [2.0, -1.0, 1000.0]);
        assert_eq!(found.rows.flow, [0, 0, 1]);
        assert_eq!(found.names, ["cwnd_", "maxseq_"]);
        assert_eq!(found.resolution_ns, 10_000);
        let codes: Vec<_> = found.issues.iter().map(|(code, seen)| (code, seen.count)).collect();
        assert_eq!(codes, [("bad-number", 2), ("unparsed-line", 1)]);
    }
}

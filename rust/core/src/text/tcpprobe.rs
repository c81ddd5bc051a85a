//! `/proc/net/tcpprobe`, as kernels before 4.16 had it: one line per segment received.
//!
//! The columns are told by their number, which differs between kernels and patched modules.

use std::io::{self, Read};

use super::fault::{Fault, each_line};
use super::flows::{FlowTable, endpoint};
use super::number::{fit, integer, seconds};
use super::settings::{Settings, Unread};
use super::words::Words;
use crate::issue::Issues;
use crate::text::found::{Found, Value, columns};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Role {
    Time,
    Local,
    Remote,
    Length,
    SndNxt,
    SndUna,
    Cwnd,
    Ssthresh,
    SndWnd,
    Srtt,
    RcvWnd,
    Rttvar,
    Rto,
    Retrans,
    Unacked,
    /// Not read.
    Skip,
}

use Role::{
    Cwnd, Length, Local, RcvWnd, Remote, Retrans, Rto, Rttvar, Skip, SndNxt, SndUna, SndWnd, Srtt, Ssthresh,
    Time, Unacked,
};

const COMMON: [Role; 10] = [Time, Local, Remote, Length, SndNxt, SndUna, Cwnd, Ssthresh, SndWnd, Srtt];
/// What follows the ten columns that all have, by the number of columns in all.
const EXTRA: [(usize, &[Role]); 4] = [
    (10, &[]),
    (11, &[RcvWnd]),
    (13, &[Skip, Skip, RcvWnd]),
    (16, &[Rttvar, Rto, Skip, Retrans, Unacked, Skip]),
];
/// Lines with more columns are of another format.
const MAX_COLUMNS: usize = 40;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: i64 = 0x7fff_ffff;

impl Role {
    /// The role that a user names; `-` is skipped.
    pub fn named(name: &str) -> Option<Role> {
        Some(match name {
            "time" => Time,
            "src" => Local,
            "dst" => Remote,
            "length" => Length,
            "snd_nxt" => SndNxt,
            "snd_una" => SndUna,
            "cwnd" => Cwnd,
            "ssthresh" => Ssthresh,
            "snd_wnd" => SndWnd,
            "srtt" => Srtt,
            "rcv_wnd" => RcvWnd,
            "rttvar" => Rttvar,
            "rto" => Rto,
            "retrans" => Retrans,
            "unacked" => Unacked,
            "-" => Skip,
            _ => return None,
        })
    }
}

/// Rows; -1 where a value is absent. Sequence numbers are the raw 32 bits; srtt, rttvar and rto are as written.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rows {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub snd_nxt: Vec<i64>,
    pub snd_una: Vec<i64>,
    pub cwnd: Vec<i32>,
    pub ssthresh: Vec<i64>,
    pub snd_wnd: Vec<i64>,
    pub rcv_wnd: Vec<i64>,
    pub srtt: Vec<i64>,
    pub rttvar: Vec<i64>,
    pub rto: Vec<i64>,
    pub retrans_total: Vec<i32>,
    pub unacked: Vec<i32>,
}

/// What a tcpprobe log says.
#[derive(Debug, Default)]
pub struct ProbeLog {
    /// One row per line.
    pub rows: Rows,
    /// Sockets.
    pub flows: FlowTable,
    /// Columns of the first line.
    pub columns: usize,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<ProbeLog> for Found {
    fn from(log: ProbeLog) -> Self {
        let rows = log.rows;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table(
                "tcp_states",
                columns!(
                    rows; t_ns, record, flow, snd_nxt, snd_una, cwnd, ssthresh, snd_wnd, rcv_wnd, srtt, rttvar, rto,
                    retrans_total, unacked
                ),
            )
            .fact("flows", &log.flows)
            .fact("columns", log.columns)
    }
}

/// Read a tcpprobe log as the setting `columns` says: what the columns are (see [`Role::named`]), where their number
/// does not tell.
///
/// # Errors
/// Errors of the system while reading; settings that cannot be used.
pub fn configured(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    settings.only(&["columns"])?;
    let layout = settings.list("columns", |column| match column {
        Value::Text(name) => Role::named(name),
        _ => None,
    })?;
    Ok(scan(reader, layout.as_deref())?.into())
}

/// Read a tcpprobe log, with the columns as `layout` says or, without one, as their number says.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read, layout: Option<&[Role]>) -> io::Result<ProbeLog> {
    let mut log = ProbeLog::default();
    let scanned =
        each_line(reader, |number, line, issues| row(&mut log, number, line, layout, issues).map(Some))?;
    log.lines = scanned.lines;
    log.resolution_ns = scanned.resolution_ns;
    log.issues = scanned.issues;
    Ok(log)
}

fn row(
    log: &mut ProbeLog,
    number: u64,
    line: &[u8],
    layout: Option<&[Role]>,
    issues: &mut Issues,
) -> Result<(i64, u8), Fault> {
    let mut words = [&b""[..]; MAX_COLUMNS];
    let mut count = 0;
    for word in Words(line) {
        *words.get_mut(count).ok_or(Fault::NotOurs)? = word;
        count += 1;
    }
    let words = &words[..count];
    let mut value = Values::default();
    if let Some(layout) = layout {
        if count != layout.len() {
            return Err(Fault::NotOurs);
        }
        value.read(layout, words)?;
    } else {
        if count < COMMON.len() {
            return Err(Fault::NotOurs);
        }
        value.read(&COMMON, &words[..COMMON.len()])?;
        match EXTRA.iter().find(|(columns, _)| *columns == count) {
            Some((_, extra)) => value.read(extra, &words[COMMON.len()..])?,
            None => {
                issues.add("unknown-version", number, || format!("{count} columns: the first ten were read"))
            }
        }
    }
    let (Some((t_ns, decimals)), Some(local), Some(remote)) = (value.time, value.local, value.remote) else {
        return Err(Fault::NotOurs);
    };
    if log.rows.t_ns.is_empty() {
        log.columns = count;
    }
    let flow = log.flows.intern(local, remote);
    let rows = &mut log.rows;
    rows.t_ns.push(t_ns);
    rows.record.push(number as i64);
    rows.flow.push(flow);
    rows.snd_nxt.push(value.number[SndNxt as usize].filter(|raw| *raw <= 0xffff_ffff).unwrap_or(-1));
    rows.snd_una.push(value.number[SndUna as usize].filter(|raw| *raw <= 0xffff_ffff).unwrap_or(-1));
    rows.cwnd.push(value.small(Cwnd));
    rows.ssthresh.push(value.number[Ssthresh as usize].filter(|packets| *packets < INFINITE).unwrap_or(-1));
    rows.snd_wnd.push(value.wide(SndWnd));
    rows.rcv_wnd.push(value.wide(RcvWnd));
    rows.srtt.push(value.wide(Srtt));
    rows.rttvar.push(value.wide(Rttvar));
    rows.rto.push(value.wide(Rto));
    rows.retrans_total.push(value.small(Retrans));
    rows.unacked.push(value.small(Unacked));
    Ok((t_ns, decimals))
}

#[derive(Default)]
struct Values {
    time: Option<(i64, u8)>,
    local: Option<super::flows::Endpoint>,
    remote: Option<super::flows::Endpoint>,
    number: [Option<i64>; Skip as usize],
}

impl Values {
    fn read(&mut self, layout: &[Role], words: &[&[u8]]) -> Result<(), Fault> {
        for (role, word) in layout.iter().zip(words) {
            match role {
                Time => self.time = Some(seconds(word).ok_or(Fault::NotOurs)?),
                Local => self.local = Some(endpoint(word, fit).ok_or(Fault::NotOurs)?),
                Remote => self.remote = Some(endpoint(word, fit).ok_or(Fault::NotOurs)?),
                Skip => {}
                role => {
                    let read = match role {
                        SndNxt | SndUna => hexadecimal(word),
                        _ => integer(word),
                    };
                    let number = read.and_then(|raw| i64::try_from(raw).ok()).ok_or(Fault::BadNumber)?;
                    self.number[*role as usize] = Some(number);
                }
            }
        }
        Ok(())
    }

    fn wide(&self, role: Role) -> i64 {
        self.number[role as usize].unwrap_or(-1)
    }

    fn small(&self, role: Role) -> i32 {
        self.number[role as usize].and_then(|number| i32::try_from(number).ok()).unwrap_or(-1)
    }
}

/// `%#x`: `0x` before everything but zero.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    if word == b"0" || word.starts_with(b"0x") { integer(word) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> ProbeLog {
        scan(format!("{line}\n").as_bytes(), None).unwrap()
    }

    #[test]
    fn every_number_of_columns() {
        let ten = "2.221032535 10.0.0.2:39815 10.0.0.1:5001 32 0x1a2a710c 0x1a2a387c 11 2147483647 14592 85";
        let log = one(ten);
        assert_eq!((log.rows.t_ns[0], log.resolution_ns, log.columns), (2_221_032_535, 1, 10));
        assert_eq!((log.rows.snd_nxt[0], log.rows.snd_una[0]), (0x1a2a_710c, 0x1a2a_387c));
        assert_eq!((log.rows.cwnd[0], log.rows.ssthresh[0], log.rows.srtt[0]), (11, -1, 85));
        assert_eq!(log.rows.rcv_wnd[0], -1);
        assert_eq!(one(&format!("{ten} 29696")).rows.rcv_wnd[0], 29696);
        assert_eq!(one(&format!("{ten} 1 2 29696")).rows.rcv_wnd[0], 29696);
        let plus = one(&format!("{ten} 53 255 4 3 2 1"));
        assert_eq!((plus.rows.rttvar[0], plus.rows.rto[0]), (53, 255));
        assert_eq!((plus.rows.retrans_total[0], plus.rows.unacked[0]), (3, 2));
        let more = one(&format!("{ten} 1 2 3 4 5 6 7 8 9 10"));
        assert_eq!(more.rows.srtt[0], 85);
        assert_eq!(more.issues.iter().next().unwrap().0, "unknown-version");
    }

    #[test]
    fn addresses_and_zeros() {
        let log = one("0.1 [2001:db8::1]:1 [::ffff:10.0.0.2]:2 32 0 0xffffffff 10 7 0 0 5");
        assert_eq!((log.rows.snd_nxt[0], log.rows.snd_una[0], log.rows.ssthresh[0]), (0, 0xffff_ffff, 7));
        assert!(log.issues.is_empty());
    }

    #[test]
    fn a_layout_overrides_the_count() {
        let layout: Vec<Role> =
            ["time", "-", "src", "dst", "cwnd", "srtt"].map(|name| Role::named(name).unwrap()).into();
        let log = scan(&b"1.5 R 10.0.0.1:1 10.0.0.2:2 9 70\n1.6 too short\n"[..], Some(&layout)).unwrap();
        assert_eq!((log.rows.cwnd[0], log.rows.srtt[0], log.rows.snd_una[0]), (9, 70, -1));
        assert_eq!(log.issues.iter().next().unwrap().0, "unparsed-line");
        assert_eq!(Role::named("nonsense"), None);
    }

    #[test]
    fn faults() {
        for (line, code) in [
            ("cat: /proc/net/tcpprobe: Resource busy", "unparsed-line"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 32 0x1 0x2 x 7 0 0", "bad-number"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 32 1 2 3 7 0 0", "bad-number"),
            ("0.1 10.0.0.1 10.0.0.2:2 32 0x1 0x2 3 7 0 0", "unparsed-line"),
        ] {
            let log = one(line);
            assert_eq!(log.issues.iter().next().map(|(code, _)| code), Some(code), "{line}");
            assert!(log.rows.t_ns.is_empty());
        }
    }
}

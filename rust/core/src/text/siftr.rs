//! FreeBSD's siftr: one line of comma-separated values per packet of a connection, between a line that says when
//! it was enabled and one that says when it was disabled.
//!
//! Reference: siftr(4); `sys/netinet/siftr.c` of FreeBSD 8 to 14.

use std::io::{self, Read};

use super::fault::{Fault, each_line};
use super::flows::{FlowTable, address};
use super::number::{decimal, fit, seconds};
use super::words::{Words, excerpt, split_once};
use crate::issue::Issues;
use crate::text::found::{Found, columns};

const MAX_SETTINGS: usize = 64;
/// Values behind `direction`, hash and time that all versions have, of which [`Fields`] reads those it wants.
const COMMON: usize = 22;
const MAX_COLUMNS: usize = 48;
/// `TCP_MAXWIN << TCP_MAX_WINSHIFT`: what a connection begins with.
const INFINITE: i64 = 65_535 << 14;

/// What caused a row; the position is the code in the column.
pub const TRIGGERS: [&str; 3] = ["", "received", "sent"];

/// Rows; -1 where a value is absent. Windows are bytes, srtt and rto as written.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rows {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub trigger: Vec<i8>,
    pub cwnd: Vec<i32>,
    pub ssthresh: Vec<i64>,
    pub snd_wnd: Vec<i64>,
    pub rcv_wnd: Vec<i64>,
    pub srtt: Vec<i64>,
    pub rto: Vec<i64>,
    pub mss: Vec<i32>,
    pub unacked: Vec<i32>,
    pub notsent: Vec<i64>,
}

/// What a siftr log says.
#[derive(Debug, Default)]
pub struct SiftrLog {
    /// One row per packet.
    pub rows: Rows,
    /// Sockets.
    pub flows: FlowTable,
    /// `key=value` of the first line.
    pub enabled: Vec<(String, String)>,
    /// `key=value` of the last line, without the list of flows.
    pub disabled: Vec<(String, String)>,
    /// Whether records carry a hash, as up to version 1.2.
    pub hashed: bool,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<SiftrLog> for Found {
    fn from(log: SiftrLog) -> Self {
        let rows = log.rows;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table(
                "tcp_states",
                columns!(
                    rows; t_ns, record, flow, trigger, cwnd, ssthresh, snd_wnd, rcv_wnd, srtt, rto, mss, unacked, notsent
                ),
            )
            .fact("flows", &log.flows)
            .fact("enabled", log.enabled)
            .fact("disabled", log.disabled)
            .fact("hashed", log.hashed)
    }
}

/// Read a siftr log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<SiftrLog> {
    let mut log = SiftrLog::default();
    let scanned = each_line(reader, |number, line, issues| {
        if line.starts_with(b"enable_time_secs=") {
            log.enabled = settings(line);
            return Ok(None);
        }
        if line.starts_with(b"disable_time_secs=") {
            log.disabled = settings(line);
            skipped(number, &log.disabled, issues);
            return Ok(None);
        }
        row(&mut log, number, line, issues).map(Some)
    })?;
    log.lines = scanned.lines;
    log.resolution_ns = scanned.resolution_ns;
    log.issues = scanned.issues;
    Ok(log)
}

fn settings(line: &[u8]) -> Vec<(String, String)> {
    Words(line)
        .filter_map(|word| split_once(word, b'='))
        .filter(|(key, _)| *key != b"flow_list")
        .take(MAX_SETTINGS)
        .map(|(key, value)| (excerpt(key), excerpt(value)))
        .collect()
}

/// Packets that siftr itself says it could not log.
fn skipped(number: u64, settings: &[(String, String)], issues: &mut Issues) {
    let counts = settings.iter().filter(|(key, _)| key.contains("skipped_pkts"));
    let lost: u64 = counts.filter_map(|(_, value)| decimal(value.as_bytes())).fold(0, u64::saturating_add);
    if lost > 0 {
        issues.add_many("lost-events", lost, number, || format!("siftr skipped {lost} packets"));
    }
}

fn row(log: &mut SiftrLog, number: u64, line: &[u8], issues: &mut Issues) -> Result<(i64, u8), Fault> {
    let mut words = [&b""[..]; MAX_COLUMNS];
    let mut count = 0;
    for word in line.split(|byte| *byte == b',') {
        *words.get_mut(count).ok_or(Fault::NotOurs)? = word;
        count += 1;
    }
    let trigger = match words[0] {
        b"i" => 1,
        b"o" => 2,
        _ => return Err(Fault::NotOurs),
    };
    let hashed = words[1].starts_with(b"0x");
    let first = 1 + usize::from(hashed);
    if count < first + 1 + COMMON {
        return Err(Fault::NotOurs);
    }
    // 25 and 28 with a hash, 27 without
    if !matches!((hashed, count), (true, 25 | 28) | (false, 27)) {
        issues
            .add("unknown-version", number, || format!("{count} values: those of older versions were read"));
    }
    let (t_ns, decimals) = seconds(words[first]).ok_or(Fault::BadNumber)?;
    let at = |place: usize| words[first + 1 + place];
    let number_at = |place: usize| fit::<i64>(at(place)).ok_or(Fault::BadNumber);
    let end = |host: usize| Some((address(at(host))?, fit(at(host + 1))?));
    let (local, remote) = (end(0).ok_or(Fault::BadNumber)?, end(2).ok_or(Fault::BadNumber)?);
    let (ssthresh, cwnd, mss) = (number_at(4)?, number_at(5)?, number_at(12)?);
    let (snd_wnd, rcv_wnd) = (number_at(7)?, number_at(8)?);
    let (srtt, rto) = (number_at(13)?, number_at(16)?);
    let (buffered, inflight) = (number_at(18)?, number_at(21)?);
    let packets = |bytes: i64| if mss > 0 { bytes / mss } else { -1 };
    if log.rows.t_ns.is_empty() {
        log.hashed = hashed;
    }
    let flow = log.flows.intern(local, remote);
    let rows = &mut log.rows;
    rows.t_ns.push(t_ns);
    rows.record.push(number as i64);
    rows.flow.push(flow);
    rows.trigger.push(trigger);
    rows.cwnd.push(i32::try_from(packets(cwnd)).unwrap_or(-1));
    rows.ssthresh.push(if ssthresh >= INFINITE { -1 } else { packets(ssthresh) });
    rows.snd_wnd.push(snd_wnd);
    rows.rcv_wnd.push(rcv_wnd);
    rows.srtt.push(if srtt > 0 { srtt } else { -1 });
    rows.rto.push(if rto > 0 { rto } else { -1 });
    rows.mss.push(i32::try_from(mss).unwrap_or(-1));
    let whole = if mss > 0 { inflight / mss + i64::from(inflight % mss > 0) } else { -1 };
    rows.unacked.push(i32::try_from(whole).unwrap_or(-1));
    rows.notsent.push(if buffered >= inflight { buffered - inflight } else { -1 });
    Ok((t_ns, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "o,0xbec491a5,1238556193.463551,172.16.7.28,22,172.16.2.5,55931,1073725440,172312,6144,66560,\
                       66608,8,1,4,1448,936,1,996,255,33304,208,66608,0,208";

    fn one(line: &str) -> SiftrLog {
        scan(format!("{line}\n").as_bytes()).unwrap()
    }

    #[test]
    fn versions_by_their_values() {
        let log = one(OLD);
        assert!(log.hashed && log.issues.is_empty());
        let rows = &log.rows;
        assert_eq!((rows.t_ns[0], rows.trigger[0]), (1_238_556_193_463_551_000, 2));
        assert_eq!((rows.cwnd[0], rows.ssthresh[0], rows.mss[0]), (172_312 / 1448, -1, 1448));
        assert_eq!((rows.srtt[0], rows.rto[0], rows.snd_wnd[0]), (936, 255, 66560));
        assert_eq!((rows.unacked[0], rows.notsent[0]), (1, 0));
        assert_eq!(one(&format!("{OLD},0,1,2")).rows, log.rows);
        let new = format!("{},0,1,2", OLD.replace("0xbec491a5,", ""));
        let found = one(&new);
        assert!(!found.hashed && found.issues.is_empty());
        assert_eq!(found.rows, log.rows);
        let newer = one(&format!("{new},9,9"));
        assert_eq!(newer.rows, log.rows);
        assert_eq!(newer.issues.iter().next().unwrap().0, "unknown-version");
    }

    #[test]
    fn first_and_last_line() {
        let text = format!(
            "enable_time_secs=1\tenable_time_usecs=2\tsiftrver=1.2.3\thz=1000\ttcp_rtt_scale=32\n{OLD}\n\
             disable_time_secs=3\tnum_inbound_skipped_pkts_malloc=4\tnum_outbound_skipped_pkts_mtx=1\t\
             total_skipped_tcp_pkts=5\tflow_list=172.16.7.28;22-172.16.2.5;55931,\n"
        );
        let log = scan(text.as_bytes()).unwrap();
        assert_eq!(log.enabled[3], ("hz".to_owned(), "1000".to_owned()));
        assert_eq!(log.disabled.len(), 4);
        assert_eq!(log.issues.iter().next().unwrap().1.count, 5);
    }

    #[test]
    fn faults() {
        for line in ["x,1,2", "o,0x1,1.5,10.0.0.1,1", "o", "kernel: siftr loaded"] {
            assert_eq!(one(line).issues.iter().next().unwrap().0, "unparsed-line", "{line}");
        }
        let bad = OLD.replace("172312", "1e9");
        assert_eq!(one(&bad).issues.iter().next().unwrap().0, "bad-number");
        assert_eq!(one(&OLD.replace(",1448,", ",0,")).rows.cwnd[0], -1);
    }
}

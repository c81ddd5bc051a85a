//! Loops of `ss -ti`: samples of sockets under time stamps that the user's loop printed.

use std::io::{self, Read};

use super::fault::{Fault, Order, Resolution, take_lines};
use super::flows::FlowTable;
use super::ssline::{Info, Socket, socket};
use super::stamp::{Stamp, leading};
use super::words::{Words, excerpt};
use crate::issue::Issues;
use crate::text::found::{Columns, Found, columns};

macro_rules! samples {
    ($($name:ident: $kind:ty),* $(,)?) => {
        /// One row per socket and sample; -1 where ss says nothing.
        #[derive(Debug, Default, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub struct Samples {
            pub t_ns: Vec<i64>,
            pub record: Vec<i64>,
            pub flow: Vec<i32>,
            $(pub $name: Vec<$kind>,)*
        }

        impl Samples {
            /// All columns by name.
            fn into_columns(self) -> Columns {
                columns!(self; t_ns, record, flow, $($name),*)
            }

            fn push(&mut self, t_ns: i64, record: i64, flow: i32, info: &Info) {
                self.t_ns.push(t_ns);
                self.record.push(record);
                self.flow.push(flow);
                $(self.$name.push(info.$name);)*
            }
        }
    };
}

samples! {
    cwnd: i32,
    ssthresh: i64,
    snd_wnd: i64,
    rcv_wnd: i64,
    srtt_ns: i64,
    rttvar_ns: i64,
    rto_ns: i64,
    mss: i32,
    bytes_sent: i64,
    bytes_acked: i64,
    bytes_retrans: i64,
    unacked: i32,
    retrans_total: i32,
    notsent: i64,
    min_rtt_ns: i64,
    backoff: i16,
    busy_ns: i64,
    rwnd_limited_ns: i64,
    sndbuf_limited_ns: i64,
    app_limited: i8,
    timer_ns: i64,
}

/// What a loop of ss says.
#[derive(Debug, Default)]
pub struct SocketLog {
    /// Sockets over time.
    pub samples: Samples,
    /// Sockets, local end first.
    pub flows: FlowTable,
    /// Time stamps.
    pub stamps: u64,
    /// Time stamps without a zone, taken as UTC.
    pub zoneless_stamps: u64,
    /// Connections without a word of `-i`.
    pub without_info: u64,
    /// Listening sockets and other protocols.
    pub other_sockets: u64,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<SocketLog> for Found {
    fn from(log: SocketLog) -> Self {
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("tcp_states", log.samples.into_columns())
            .fact("flows", &log.flows)
            .fact("stamps", log.stamps)
            .fact("zoneless_stamps", log.zoneless_stamps)
            .fact("without_info", log.without_info)
            .fact("other_sockets", log.other_sockets)
    }
}

/// Read a loop of ss.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<SocketLog> {
    let mut scanner = Scanner::default();
    let (lines, issues) = take_lines(reader, |number, line, issues| scanner.line(number, line, issues))?;
    scanner.drop_waiting();
    let mut log = scanner.log;
    log.lines = lines;
    log.resolution_ns = scanner.resolution.ns();
    log.issues = issues;
    Ok(log)
}

/// A socket whose second line may follow.
#[derive(Clone, Copy, Default)]
enum Waiting {
    #[default]
    No,
    /// Its values go into a row.
    For { t_ns: i64, record: u64, flow: i32, info: Info },
    /// Its values are not wanted.
    Skipped,
}

#[derive(Default)]
struct Scanner {
    log: SocketLog,
    resolution: Resolution,
    order: Order,
    now: Option<i64>,
    waiting: Waiting,
}

impl Scanner {
    fn line(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        let mut line = line.trim_ascii_end();
        if let Some((stamp, rest)) = leading(line) {
            // "1795248023 0 10.0.0.1:1 ...": an integer may be a queue, if what follows makes a socket of it
            if !(stamp.bare && socket(line).is_some() && socket(rest).is_none()) {
                self.stamp(stamp, rest.is_empty());
                line = rest;
            }
        }
        let mut words = Words(line);
        let Some(first) = words.next() else { return Ok(()) };
        if is_heading(first, words) {
            return Ok(());
        }
        match socket(line) {
            Some(Socket::Connection(local, remote, rest)) => {
                self.drop_waiting();
                self.waiting = Waiting::Skipped;
                let Some(t_ns) = self.now else {
                    issues.add("no-timestamp", number, || excerpt(line));
                    return Ok(());
                };
                let mut info = Info::NONE;
                info.read(rest)?;
                let flow = self.log.flows.intern(local, remote);
                self.waiting = Waiting::For { t_ns, record: number, flow, info };
                self.emit(issues);
                Ok(())
            }
            Some(Socket::Other) => {
                self.drop_waiting();
                self.waiting = Waiting::Skipped;
                self.log.other_sockets += 1;
                Ok(())
            }
            None => self.second_line(line, issues),
        }
    }

    fn stamp(&mut self, stamp: Stamp, alone: bool) {
        if alone {
            self.drop_waiting();
        }
        if alone || self.now != Some(stamp.t_ns) {
            self.log.stamps += 1;
            self.log.zoneless_stamps += u64::from(stamp.zoneless);
        }
        self.now = Some(stamp.t_ns);
        self.resolution.saw(stamp.decimals);
    }

    /// The values of the socket before, or a line of something else.
    fn second_line(&mut self, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        let mut values = Info::NONE;
        let outcome = values.read(Words(line));
        match &mut self.waiting {
            Waiting::For { info, .. } if outcome.is_ok() && values.present => {
                values.timer_ns = values.timer_ns.max(info.timer_ns);
                *info = values;
                self.emit(issues);
                Ok(())
            }
            Waiting::For { .. } if values.present => {
                self.waiting = Waiting::No;
                Err(Fault::BadNumber)
            }
            Waiting::Skipped if values.present => {
                self.waiting = Waiting::No;
                Ok(())
            }
            _ => Err(Fault::NotOurs),
        }
    }

    /// Make a row of the waiting socket once its values are there.
    fn emit(&mut self, issues: &mut Issues) {
        if let Waiting::For { t_ns, record, flow, info } = self.waiting
            && info.present
        {
            self.log.samples.push(t_ns, record as i64, flow, &info);
            self.order.check(t_ns, record, issues);
            self.waiting = Waiting::No;
        }
    }

    fn drop_waiting(&mut self) {
        if let Waiting::For { .. } = std::mem::take(&mut self.waiting) {
            self.log.without_info += 1;
        }
    }
}

/// Column titles of ss, and rulers that loops print between samples.
fn is_heading(first: &[u8], mut rest: Words) -> bool {
    let titles = match first {
        b"Netid" | b"State" | b"Recv-Q" => true,
        _ => return first.iter().all(|byte| b"-=#*".contains(byte)) && rest.next().is_none(),
    };
    titles && rest.any(|word| matches!(word, b"Send-Q"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "cubic rto:204 rtt:10.5/1.25 mss:1448 cwnd:11 busy:56ms";

    fn rows(text: &str) -> Vec<(i64, i64, i32)> {
        let log = scan(text.as_bytes()).unwrap();
        let samples = &log.samples;
        (0..samples.t_ns.len()).map(|i| (samples.t_ns[i], samples.record[i], samples.cwnd[i])).collect()
    }

    #[test]
    fn layouts_and_stamps() {
        const T: i64 = 1_795_248_023_500_000_000;
        let socket = "ESTAB 0 5 10.0.0.1:1 10.0.0.2:2";
        let titles = "State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess";
        for (text, record) in [
            (format!("1795248023.5\n{socket} {INFO}\n"), 2),
            (format!("1795248023.5\n{titles}\n{socket}\n\t {INFO}\n"), 3),
            (format!("1795248023.5 {socket} {INFO}\n"), 1),
            (format!("1795248023.5 {socket}\n1795248023.5 {INFO}\n"), 1),
            (format!("2026-11-21T08:00:23,5+00:00\n0 5 10.0.0.1:1 10.0.0.2:2\n\t {INFO}\n"), 2),
            (format!("2026-11-21T08:00:23,5+00:00 {titles}\n---\n{socket} {INFO}\n"), 3),
        ] {
            assert_eq!(rows(&text), [(T, record, 11)], "{text}");
        }
        let whole = format!("1795248023 0 5 10.0.0.1:1 10.0.0.2:2 {INFO}\n");
        assert_eq!(rows(&whole), [(T - 500_000_000, 1, 11)]);
    }

    #[test]
    fn words_of_other_programs_do_not_part_a_socket_from_its_values() {
        let text = format!("1795248023.5\nESTAB 0 5 10.0.0.1:1 10.0.0.2:2\nFailed: to find\n\t {INFO}\n");
        assert_eq!(rows(&text).len(), 1);
        let issues = scan(text.as_bytes()).unwrap().issues;
        assert_eq!(issues.iter().next().unwrap().0, "unparsed-line");
    }

    #[test]
    fn what_gives_no_row() {
        let text = format!(
            "ESTAB 0 5 10.0.0.1:1 10.0.0.2:2 {INFO}\n1795248023.5\nLISTEN 0 5 *:22 *:*\n\t cwnd:10 mss:5\n\
             ESTAB 0 5 10.0.0.1:1 10.0.0.2:2\n1795248024.5\nESTAB 0 5 10.0.0.1:1 10.0.0.2:2\n\t cwnd:x mss:5\n\
             ESTAB 0 5 10.0.0.1:1 10.0.0.2:2 cwnd:99999999999\n\t {INFO}\n"
        );
        let log = scan(text.as_bytes()).unwrap();
        assert_eq!(log.samples, Samples::default());
        assert_eq!((log.other_sockets, log.without_info, log.stamps), (1, 1, 2));
        let issues: Vec<_> = log.issues.iter().map(|(code, found)| (code, found.first_record)).collect();
        assert_eq!(issues, [("bad-number", 8), ("no-timestamp", 1)]);
    }
}

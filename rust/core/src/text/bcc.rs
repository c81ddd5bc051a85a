//! bcc's and bpftrace's tcpretrans, and bcc's tcpstates: retransmissions and changes of socket states.
//!
//! Reference: bcc `tools/tcpretrans.py`, `tools/tcpstates.py`; bpftrace `tools/tcpretrans.bt`.

use std::io::{self, Read};

use super::fault::{Fault, Order, Resolution, take_lines};
use super::flows::{Endpoint, FlowTable, address, endpoint};
use super::ftrace::{KernelEvents, STATES};
use super::number::{decimal, fit, scaled};
use super::words::Words;
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// More sockets than that are not kept apart.
const MAX_FLOWS: usize = 1 << 16;
const MAX_COLUMNS: usize = 64;
const DAY_NS: i64 = 86_400 * 1_000_000_000;
const RETRANSMIT: i8 = 0;
const SOCK_STATE: i8 = 2;

/// What such a log says.
#[derive(Debug, Default)]
pub struct BccLog {
    /// Events, in the order of the file.
    pub events: KernelEvents,
    /// Sockets.
    pub flows: FlowTable,
    /// Retransmissions, tail loss probes, changes of state.
    pub kinds: [u64; 3],
    /// Whether times are of day; midnights that passed.
    pub of_day: bool,
    /// Midnights that passed.
    pub days: i64,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<BccLog> for Found {
    fn from(log: BccLog) -> Self {
        let events = log.events;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("kernel_events", columns!(events; t_ns, record, flow, kind, value, old_value))
            .fact("flows", &log.flows)
            .fact("kinds", log.kinds)
            .fact("of_day", log.of_day)
            .fact("days", log.days)
    }
}

/// Read a log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<BccLog> {
    let mut scanner = Scanner::default();
    let (lines, issues) = take_lines(reader, |number, line, issues| scanner.line(number, line, issues))?;
    let mut log = scanner.log;
    log.lines = lines;
    log.resolution_ns = scanner.resolution.ns();
    log.issues = issues;
    Ok(log)
}

#[derive(Default)]
struct Scanner {
    log: BccLog,
    /// Where tcpstates has what, once its titles were seen.
    titles: Option<Titles>,
    resolution: Resolution,
    order: Order,
    last_ns: i64,
}

/// Places of words, arrows left out.
#[derive(Default)]
struct Titles {
    comma: bool,
    time: Option<usize>,
    addresses: [Option<usize>; 2],
    ports: [Option<usize>; 2],
    states: [Option<usize>; 2],
}

impl Scanner {
    fn line(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        if is_noise(line) {
            return Ok(());
        }
        if let Some(titles) = Titles::of(line) {
            self.titles = Some(titles);
            return Ok(());
        }
        if line.starts_with(b"TIME") && is_retrans_head(line) {
            self.titles = None;
            return Ok(());
        }
        match self.titles.take() {
            None => self.retransmission(number, line, issues),
            Some(titles) => {
                let outcome = self.state(number, line, &titles, issues);
                self.titles = Some(titles);
                outcome
            }
        }
    }

    /// `01:55:05 0 4 10.0.0.1:22 R> 10.0.0.2:34619 ESTABLISHED`
    fn retransmission(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        if !line[0].is_ascii_digit() {
            return Err(Fault::NotOurs);
        }
        let mut words = Words(line);
        let mut next = || words.next().ok_or(Fault::NotOurs);
        let clock = next()?;
        decimal(next()?).ok_or(Fault::NotOurs)?;
        let mut local = next()?;
        if matches!(local, b"4" | b"6") {
            local = next()?;
        }
        let mut remote = next()?;
        let mut probe = false;
        if matches!(remote, b"R>" | b"L>") {
            probe = remote == b"L>";
            remote = next()?;
        }
        let state = next()?;
        if !is_clock(clock) || !is_endpoint(local) || !is_endpoint(remote) || !state[0].is_ascii_uppercase() {
            return Err(Fault::NotOurs);
        }
        let t_ns = self.time(clock).ok_or(Fault::BadNumber)?;
        let ends = [local, remote].map(|end| endpoint(end, fit));
        let [Some(local), Some(remote)] = ends else { return Err(Fault::BadNumber) };
        let value = state_number(state).unwrap_or(-1);
        if self.add(number, t_ns, (local, remote), RETRANSMIT, [-1, value], issues) {
            self.log.kinds[usize::from(probe)] += 1;
        }
        Ok(())
    }

    fn state(&mut self, number: u64, line: &[u8], titles: &Titles, issues: &mut Issues) -> Result<(), Fault> {
        let mut words = [&b""[..]; MAX_COLUMNS];
        let count = titles.words(line, &mut words);
        let word = |place: Option<usize>| place.filter(|at| *at < count).map(|at| words[at]);
        let Some(clock) = word(titles.time) else {
            issues.add("no-timestamp", number, || "a line without a time".into());
            return Ok(());
        };
        let t_ns = self.time(clock).ok_or(Fault::NotOurs)?;
        let end = |side: usize| -> Option<Endpoint> {
            Some((address(word(titles.addresses[side])?)?, fit(word(titles.ports[side])?)?))
        };
        let (Some(local), Some(remote)) = (end(0), end(1)) else { return Err(Fault::NotOurs) };
        let states = titles.states.map(|place| word(place).and_then(state_number));
        let [Some(old), Some(new)] = states else { return Err(Fault::NotOurs) };
        if self.add(number, t_ns, (local, remote), SOCK_STATE, [old, new], issues) {
            self.log.kinds[2] += 1;
        }
        Ok(())
    }

    fn add(
        &mut self,
        number: u64,
        t_ns: i64,
        ends: (Endpoint, Endpoint),
        kind: i8,
        [old, new]: [i16; 2],
        issues: &mut Issues,
    ) -> bool {
        let Some(flow) = self.log.flows.intern_within(ends.0, ends.1, MAX_FLOWS) else {
            issues.add("unparsed-line", number, || format!("more than {MAX_FLOWS} sockets"));
            return false;
        };
        self.order.check(t_ns, number, issues);
        let events = &mut self.log.events;
        events.t_ns.push(t_ns);
        events.record.push(number as i64);
        events.flow.push(flow);
        events.kind.push(kind);
        events.value.push(new);
        events.old_value.push(old);
        true
    }

    /// Time of day, counted on over midnight; or seconds since the tool began.
    fn time(&mut self, text: &[u8]) -> Option<i64> {
        let mut parts = text.split(|byte| *byte == b':');
        let (first, second, third) = (parts.next()?, parts.next(), parts.next());
        if parts.next().is_some() {
            return None;
        }
        let mut t_ns = match (second, third) {
            (None, None) => self.seconds(first)?,
            (Some(minutes), Some(seconds)) => {
                let hours: i64 = i64::from(fit::<u16>(first)?);
                let of_hour =
                    self.seconds(seconds)?.checked_add(i64::from(fit::<u16>(minutes)?) * 60_000_000_000)?;
                self.log.of_day = true;
                of_hour.checked_add(hours * 3_600_000_000_000)?
            }
            _ => return None,
        };
        if second.is_some() {
            let passed = DAY_NS.checked_mul(self.log.days)?;
            if t_ns.checked_add(passed)? < self.last_ns - DAY_NS / 2 {
                self.log.days += 1;
            }
            t_ns = t_ns.checked_add(DAY_NS.checked_mul(self.log.days)?)?;
        }
        self.last_ns = t_ns;
        Some(t_ns)
    }

    fn seconds(&mut self, text: &[u8]) -> Option<i64> {
        let (t_ns, decimals) = scaled(text, 9)?;
        self.resolution.saw(decimals);
        Some(t_ns)
    }
}

impl Titles {
    /// `TIME,SKADDR,C-PID,...` or the same between blanks; the time may be missing.
    fn of(line: &[u8]) -> Option<Self> {
        if !line.starts_with(b"TIME") && !line.starts_with(b"SKADDR") {
            return None;
        }
        let mut titles = Titles { comma: line.contains(&b','), ..Titles::default() };
        let mut words = [&b""[..]; MAX_COLUMNS];
        let count = titles.words(line, &mut words);
        let from = usize::from(words[0] != b"SKADDR");
        if words[from] != b"SKADDR" || !matches!(words[from + 1], b"PID" | b"C-PID") {
            return None;
        }
        for (at, word) in words[..count].iter().enumerate() {
            let place = match *word {
                b"TIME" | b"TIME(s)" => &mut titles.time,
                b"LADDR" => &mut titles.addresses[0],
                b"RADDR" => &mut titles.addresses[1],
                b"LPORT" => &mut titles.ports[0],
                b"RPORT" => &mut titles.ports[1],
                b"OLDSTATE" => &mut titles.states[0],
                b"NEWSTATE" => &mut titles.states[1],
                _ => continue,
            };
            *place = Some(at);
        }
        Some(titles)
    }

    /// The words of a line; the arrow between the states has a title in some versions only.
    fn words<'a>(&self, line: &'a [u8], out: &mut [&'a [u8]; MAX_COLUMNS]) -> usize {
        let mut count = 0;
        let mut take = |word: &'a [u8]| {
            if word != b"->" && count < MAX_COLUMNS {
                out[count] = word;
                count += 1;
            }
        };
        if self.comma {
            line.split(|byte| *byte == b',').for_each(|word| take(word.trim_ascii()));
        } else {
            Words(line).for_each(take);
        }
        count
    }
}

fn is_noise(line: &[u8]) -> bool {
    let starts: [&[u8]; 3] = [b"Tracing ", b"Attaching ", b"#"];
    line.trim_ascii_start().is_empty() || starts.iter().any(|start| line.starts_with(start))
}

/// `TIME PID IP LADDR:LPORT T> ...`
fn is_retrans_head(line: &[u8]) -> bool {
    Words(line).any(|word| word == b"LADDR:LPORT")
}

/// `23:59:59` or `23:59:59.123`.
fn is_clock(word: &[u8]) -> bool {
    word.len() >= 8
        && word[2] == b':'
        && word[5] == b':'
        && &word[..2] < b"24"
        && word[3] < b'6'
        && word[6] < b'6'
}

fn is_endpoint(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':' | b'[' | b']'))
}

/// The kernel's number of a state, by its name with underscores or without.
fn state_number(name: &[u8]) -> Option<i16> {
    let same = |state: &str| {
        state.as_bytes() == name || state.bytes().filter(|byte| *byte != b'_').eq(name.iter().copied())
    };
    STATES.iter().position(|state| same(state)).map(|at| at as i16 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Tracing retransmits ... Hit Ctrl-C to end\nTIME     PID    IP LADDR:LPORT T> RADDR:RPORT STATE\n";
    const STATES_HEAD: &str = "TIME,SKADDR,C-PID,C-COMM,LADDR,LPORT,RADDR,RPORT,OLDSTATE,->,NEWSTATE,MS\n";

    fn read(text: &str) -> (BccLog, Vec<(&'static str, u64)>) {
        let log = scan(text.as_bytes()).unwrap();
        let codes = log.issues.iter().map(|(code, seen)| (code, seen.count)).collect();
        (log, codes)
    }

    #[test]
    fn retransmissions_over_midnight() {
        let (log, codes) = read(&format!(
            "{HEAD}23:59:58 0 4 10.0.0.1:22 R> 10.0.0.2:9 ESTABLISHED\n\
             00:00:01 7 6 [2001:db8::1]:443 L> 2001:db8::2:50000 FIN_WAIT1\n00:00:00.5 7 10.0.0.1:22 10.0.0.2:9 ODD\n"
        ));
        assert_eq!(codes, [("out-of-order-lines", 1)]);
        assert_eq!(log.events.t_ns, [86_398_000_000_000, 86_401_000_000_000, 86_400_500_000_000]);
        assert_eq!(
            (log.events.value.as_slice(), log.events.flow.as_slice()),
            (&[1, 4, -1][..], &[0, 1, 0][..])
        );
        assert_eq!((log.kinds, log.of_day, log.days, log.resolution_ns), ([2, 1, 0], true, 1, 100_000_000));
    }

    #[test]
    fn changes_of_state() {
        let (log, codes) = read(&format!(
            "{STATES_HEAD}18:15:30,ff,1,a b,10.0.0.1,0,10.0.0.2,80,CLOSE,->,SYN_SENT,0.0\n\
             TIME(s) SKADDR C-PID C-COMM LADDR LPORT RADDR RPORT OLDSTATE NEWSTATE MS\n\
             0.25 ff 1 curl 2001:db8::1 1 2001:db8::2 80 SYN_SENT -> ESTABLISHED 0.1\n"
        ));
        assert_eq!(log.events.old_value, [7, 2]);
        assert_eq!(log.events.value, [2, 1]);
        assert_eq!((log.kinds, log.events.t_ns[1]), ([0, 0, 2], 250_000_000));
        assert_eq!(codes, [("out-of-order-lines", 1)]);
    }

    #[test]
    fn faults() {
        for (line, code) in [
            ("noise", "unparsed-line"),
            ("25:00:00 0 4 10.0.0.1:22 R> 10.0.0.2:9 LISTEN", "unparsed-line"),
            ("23:00:00 x 4 10.0.0.1:22 R> 10.0.0.2:9 LISTEN", "unparsed-line"),
            ("23:00:00 0 4 10.0.0.1:22 R> 10.0.0.2:9", "unparsed-line"),
            ("23:00:00 0 4 10.0.0.1:99999 R> 10.0.0.2:9 LISTEN", "bad-number"),
            ("23:00:00. 0 4 10.0.0.1:22 R> 10.0.0.2:9 LISTEN", "bad-number"),
        ] {
            assert_eq!(read(&format!("{HEAD}{line}\n")).1, [(code, 1)], "{line}");
        }
        let untimed =
            STATES_HEAD.replace("TIME,", "") + "ff,1,curl,10.0.0.1,0,10.0.0.2,80,CLOSE,->,SYN_SENT,0\n";
        assert_eq!(read(&untimed).1, [("no-timestamp", 1)]);
        let odd = format!("{STATES_HEAD}1,ff,1,curl,10.0.0.1,0,10.0.0.2,80,CLOSE,->,ODD,0\n1,2\n");
        assert_eq!(read(&odd).1, [("unparsed-line", 2)]);
    }
}

//! The three formats of event traces.
//!
//! Reference: `trace/trace.cc` (wired) and `trace/cmu-trace.cc` (wireless, old and new) of ns-2.35.

use super::super::fault::Fault;
use super::super::number::{fit, integer};
use super::super::words::Words;
use super::event::{End, Event, Header, Layer, Tcp, end, energy, signed, time};

/// Words of the longest line with all that is read of it.
const MAX_WORDS: usize = 40;

/// Words of a line that are read.
struct Line<'a> {
    words: [&'a [u8]; MAX_WORDS],
    count: usize,
}

impl<'a> Line<'a> {
    fn split(line: &'a [u8]) -> Line<'a> {
        let mut words = [&b""[..]; MAX_WORDS];
        let mut count = 0;
        for word in Words(line).take(MAX_WORDS) {
            words[count] = word;
            count += 1;
        }
        Line { words, count }
    }

    fn at(&self, place: usize) -> Result<&'a [u8], Fault> {
        if place < self.count { Ok(self.words[place]) } else { Err(Fault::NotOurs) }
    }

    fn number<T: TryFrom<u64>>(&self, place: usize) -> Result<T, Fault> {
        fit(self.at(place)?).ok_or(Fault::BadNumber)
    }
}

/// `+ 0.5 0 1 tcp 40 ------- 1 0.0 3.0 0 500`, perhaps with ackno, flags, header and option lengths behind.
pub(super) fn wired(text: &[u8]) -> Result<Event<'_>, Fault> {
    let line = Line::split(text);
    let kind = single(line.at(0)?, b"+-rde")?;
    let (t_ns, decimals) = time(line.at(1)?)?;
    let packet = line.at(4)?;
    if line.at(6)?.len() < 6 || line.count < 12 {
        return Err(Fault::NotOurs);
    }
    let size = line.number(5)?;
    let uid = line.number::<u64>(11)? as u32;
    let mut tcp = None;
    if is_tcp(packet) {
        let mut found = of_ends(end(line.at(8)?), end(line.at(9)?), line.at(10)?)?;
        if let (Some(found), true) = (&mut found, line.count >= 16) {
            let flags = integer(line.at(13)?).ok_or(Fault::BadNumber)? as u16;
            let header = Header {
                ack: signed(line.at(12)?).ok_or(Fault::BadNumber)? as u32,
                flags,
                bytes: line.number(14)?,
            };
            found.header = (flags != 0).then_some(header);
        }
        tcp = found;
    }
    Ok(Event {
        kind,
        t_ns,
        decimals,
        node: line.number(2)?,
        to: line.number(3)?,
        layer: Layer::Link,
        layer_name: b"link",
        reason: b"---",
        packet,
        size,
        uid,
        energy: None,
        tcp,
        mac: [0; 3],
    })
}

/// `s 1.0 _2_ AGT  --- 3 tcp 1040 [0 0 0 0] [energy 99 ...] ------- [2:0 0:0 32 0] [1 0] 0 0`
pub(super) fn old(text: &[u8]) -> Result<Event<'_>, Fault> {
    let line = Line::split(text);
    let kind = single(line.at(0)?, b"srDdf")?.to_ascii_lowercase();
    let (t_ns, decimals) = time(line.at(1)?)?;
    let node = line.at(2)?.strip_prefix(b"_").and_then(|word| word.strip_suffix(b"_"));
    let layer_name = line.at(3)?;
    let packet = line.at(6)?;
    let mut place = 8;
    let mut mac = [0; 3];
    if let Some(first) = line.at(8).unwrap_or_default().strip_prefix(b"[") {
        mac = [hex(first)?, hex(line.at(9)?)?, hex(line.at(10)?)?];
        place = 12;
    }
    let mut joules = None;
    if line.at(place) == Ok(b"[energy") {
        joules = energy(line.at(place + 1)?);
        while !line.at(place)?.ends_with(b"]") {
            place += 1;
        }
        place += 1;
    }
    let mut tcp = None;
    if is_tcp(packet) {
        // Behind the dashes: [2:0 0:0 32 0] [1 0] 0 0
        while !line.at(place)?.starts_with(b"[") {
            place += 1;
        }
        let source = line.at(place)?.strip_prefix(b"[").unwrap_or_default();
        let number = line.at(place + 4)?.strip_prefix(b"[").ok_or(Fault::NotOurs)?;
        if !line.at(place + 5)?.ends_with(b"]") {
            return Err(Fault::NotOurs);
        }
        tcp = of_ends(end(source), end(line.at(place + 1)?), number)?;
    }
    Ok(Event {
        kind,
        t_ns,
        decimals,
        node: fit(node.ok_or(Fault::NotOurs)?).ok_or(Fault::BadNumber)?,
        to: 0,
        layer: Layer::named(layer_name),
        layer_name,
        reason: line.at(4)?,
        packet,
        size: line.number(7)?,
        uid: line.number::<u64>(5)? as u32,
        energy: joules,
        tcp,
        mac,
    })
}

/// `s -t 1.0 -Hs 0 -Hd -2 -Ni 0 ... -Nl AGT -Nw --- -Ma 0 ... -Is 0.0 -Id 3.0 -It tcp -Il 40 ... -Ps 0 -Pa 0`
pub(super) fn new(text: &[u8]) -> Result<Event<'_>, Fault> {
    let mut words = Words(text);
    let kind = single(words.next().ok_or(Fault::NotOurs)?, b"srdf")?;
    let mut event = Event {
        kind,
        t_ns: -1,
        decimals: 0,
        node: 0,
        to: 0,
        layer: Layer::Other,
        layer_name: b"",
        reason: b"---",
        packet: b"",
        size: -1,
        uid: 0,
        energy: None,
        tcp: None,
        mac: [0; 3],
    };
    let (mut node, mut source, mut destination, mut number) = (None, None, None, None);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        match key {
            b"-t" => (event.t_ns, event.decimals) = time(value)?,
            b"-Ni" => node = Some(fit(value).ok_or(Fault::BadNumber)?),
            b"-Ne" => event.energy = energy(value),
            b"-Nl" => (event.layer, event.layer_name) = (Layer::named(value), value),
            b"-Nw" => event.reason = value,
            b"-Ma" => event.mac[0] = hex(value)?,
            b"-Md" => event.mac[1] = hex(value)?,
            b"-Ms" => event.mac[2] = hex(value)?,
            b"-Is" => source = end(value),
            b"-Id" => destination = end(value),
            b"-It" => event.packet = value,
            b"-Il" => event.size = fit(value).ok_or(Fault::BadNumber)?,
            b"-Ii" => event.uid = fit::<u64>(value).ok_or(Fault::BadNumber)? as u32,
            b"-P" if event.packet.is_empty() => event.packet = value,
            b"-Ps" => number = Some(value),
            _ if !key.starts_with(b"-") => return Err(Fault::NotOurs),
            _ => {}
        }
    }
    event.node = node.ok_or(Fault::NotOurs)?;
    if event.t_ns < 0 || event.layer_name.is_empty() {
        return Err(Fault::NotOurs);
    }
    if is_tcp(event.packet) {
        event.tcp = of_ends(source, destination, number.ok_or(Fault::NotOurs)?)?;
    }
    Ok(event)
}

/// `N -t 1.001090 -n 1 -e 999.999716`: time, decimals, node, energy.
pub(super) fn node_energy(text: &[u8]) -> Result<(i64, u8, u32, Option<i64>), Fault> {
    let line = Line::split(text);
    if line.count < 7 || line.at(1)? != b"-t" || line.at(3)? != b"-n" || line.at(5)? != b"-e" {
        return Err(Fault::NotOurs);
    }
    let (t_ns, decimals) = time(line.at(2)?)?;
    Ok((t_ns, decimals, line.number(4)?, energy(line.at(6)?)))
}

fn is_tcp(packet: &[u8]) -> bool {
    matches!(packet, b"tcp" | b"ack")
}

fn of_ends(source: Option<End>, destination: Option<End>, number: &[u8]) -> Result<Option<Tcp>, Fault> {
    let number = signed(number).ok_or(Fault::BadNumber)?;
    let number = u32::try_from(number.max(-1) + 1).map_err(|_| Fault::BadNumber)?.wrapping_sub(1);
    let (Some(source), Some(destination)) = (source, destination) else { return Ok(None) };
    Ok(Some(Tcp { source, destination, number, header: None }))
}

fn single(word: &[u8], known: &[u8]) -> Result<u8, Fault> {
    match word {
        [kind] if known.contains(kind) => Ok(*kind),
        _ => Err(Fault::NotOurs),
    }
}

/// MAC addresses and durations are hexadecimal, without a prefix.
fn hex(word: &[u8]) -> Result<u32, Fault> {
    if word.is_empty() || word.len() > 8 {
        return Err(Fault::BadNumber);
    }
    word.iter().try_fold(0u32, |value, byte| {
        Ok(value << 4 | char::from(*byte).to_digit(16).ok_or(Fault::BadNumber)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wired_lines() {
        let event = wired(b"r 0.530464 2 3 tcp 1040 ------- 1 0.0 3.0 7 500").unwrap();
        assert_eq!((event.kind, event.t_ns, event.node, event.to), (b'r', 530_464_000, 2, 3));
        assert_eq!((event.size, event.uid), (1040, 500));
        let tcp = event.tcp.unwrap();
        assert_eq!((tcp.source, tcp.destination, tcp.number, tcp.header), ((0, 0), (3, 0), 7, None));
        let full = wired(b"+ 1 0 1 tcp 1000 ------- 1 0.0 3.0 961 5 1 0x10 40 0").unwrap();
        assert_eq!(full.tcp.unwrap().header, Some(Header { ack: 1, flags: 0x10, bytes: 40 }));
        assert!(wired(b"+ 0.1 1 2 cbr 1000 ------- 2 1.0 2.0 0 0").unwrap().tcp.is_none());
    }

    #[test]
    fn wireless_lines() {
        let text = "r 1.5 _3_ AGT  --- 6 tcp 1500 [13a 3 2 800] [energy 999.9 ei 0.000 es 0.000 et 0.0 er 0.0] \
                    ------- [0:0 3:0 30 3] [4 0] 3 0";
        let event = old(text.as_bytes()).unwrap();
        assert_eq!((event.node, event.layer, event.energy), (3, Layer::Agent, Some(999_900_000_000)));
        assert_eq!(event.tcp.unwrap().number, 4);
        assert_eq!(event.mac, [0x13a, 3, 2]);
        let rts = old(b"s 1.0 _2_ MAC  --- 0 RTS 44 [52e 3 2 0] ").unwrap();
        assert_eq!((rts.packet, rts.size, rts.energy), (&b"RTS"[..], 44, None));
        let event = new(
            b"d -t 10.28 -Hs 0  -Hd 19 -Ni 0  -Nx 49.61 -Ne -1.000000 -Nl IFQ -Nw ARP -Ma 0 -Md 13 -Ms 0  -Mt 800 \
              -Is 0.0  -Id 19.0 -It tcp -Il 1040 -If 0 -Ii 61   -Iv 30 -Pn tcp -Ps 38   -Pa 0 -Pf 0 -Po 0 ",
        )
        .unwrap();
        assert_eq!((event.kind, event.reason, event.energy), (b'd', &b"ARP"[..], None));
        assert_eq!((event.tcp.unwrap().number, event.mac[1]), (38, 0x13));
        assert_eq!(node_energy(b"N -t 1.5 -n 1 -e 9.5").unwrap(), (1_500_000_000, 1, 1, Some(9_500_000_000)));
    }

    #[test]
    fn cut_lines_are_faults() {
        let whole = "s 1.0 _2_ AGT  --- 3 tcp 1040 [0 0 0 0] ------- [2:0 0:0 32 0] [1 0] 0 0";
        for length in 0..whole.len() - 4 {
            assert!(old(&whole.as_bytes()[..length]).is_err(), "{}", &whole[..length]);
        }
        assert!(old(whole.as_bytes()).is_ok());
    }
}

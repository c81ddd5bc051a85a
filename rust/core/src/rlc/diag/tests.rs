//! The same messages, binary and as XML, give the same rows; whatever the bytes, there is no panic.

use proptest::prelude::*;

use super::clock::{Stamp, times};
use super::{Log, frames, read, read_xml};
use crate::fcs::FCS16;

const FLAG: u8 = 0x7e;

fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = content.to_vec();
    frame.extend(FCS16.checksum(content).to_le_bytes());
    let mut line = Vec::new();
    for byte in frame {
        if matches!(byte, 0x7d | FLAG) {
            line.extend([0x7d, byte ^ 0x20]);
        } else {
            line.push(byte);
        }
    }
    line.push(FLAG);
    line
}

/// A log packet at so many milliseconds since 1980.
fn packet(code: u16, millis: u64, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len()) as u16;
    let mut frame = vec![0x10, 0];
    frame.extend(length.to_le_bytes());
    frame.extend(length.to_le_bytes());
    frame.extend(code.to_le_bytes());
    frame.extend((millis * 52_428_800 / 1000).to_le_bytes());
    frame.extend(body);
    frame
}

/// A message of RLC: subframe, bytes and header of each PDU.
fn message(uplink: bool, pdus: &[(u16, u16, &[u8])]) -> Vec<u8> {
    let state = if uplink { 12 } else { 8 };
    let mut inner = vec![3, 1, 10, 0, 0xfe, 0];
    inner.extend(vec![0; state]);
    inner.extend((pdus.len() as u16).to_le_bytes());
    for (subframe, bytes, header) in pdus {
        inner.extend((((subframe / 10) << 4) | (subframe % 10)).to_le_bytes());
        inner.extend(bytes.to_le_bytes());
        inner.extend((header.len() as u16).to_le_bytes());
        inner.push(0);
        inner.extend(*header);
    }
    while inner.len() % 4 != 0 {
        inner.push(0);
    }
    let (code, number) = if uplink { (0xb092, 70) } else { (0xb082, 65) };
    let mut body = vec![1, 1, 0, 0, number, 3];
    body.extend((inner.len() as u16 + 4).to_le_bytes());
    body.extend(inner);
    packet(code, 1_000_000, &body)
}

/// The same as MobileInsight writes it; the fields of each PDU are given.
fn element(uplink: bool, pdus: &[String]) -> String {
    let way = if uplink { "UL" } else { "DL" };
    let list = |items: &[String]| {
        let items: String =
            items.iter().map(|item| format!("<item type=\"dict\"><dict>{item}</dict></item>")).collect();
        format!("<list>{items}</list>")
    };
    let packet = format!(
        "{}{}<pair key=\"RLC{way} PDUs\" type=\"list\">{}</pair>",
        pair("RB Cfg Idx", 3),
        pair("SN Length", 10),
        list(pdus)
    );
    format!(
        "<dm_log_packet>{}{}<pair key=\"Subpackets\" type=\"list\">{}</pair></dm_log_packet>\n",
        pair("type_id", format!("LTE_RLC_{way}_AM_All_PDU")),
        pair("timestamp", "1980-01-06 00:16:40"),
        list(&[packet])
    )
}

fn pair(key: &str, value: impl ToString) -> String {
    format!("<pair key=\"{key}\">{}</pair>", value.to_string())
}

fn fields(kind: &str, subframe: u16, bytes: u16, logged: u16, more: &[(&str, &str)]) -> String {
    let mut text = pair("PDU TYPE", kind) + &pair("sys_fn", subframe / 10) + &pair("sub_fn", subframe % 10);
    text += &(pair("pdu_bytes", bytes) + &pair("logged_bytes", logged));
    for (key, value) in more {
        text += &pair(key, value);
    }
    text
}

/// Milliseconds since 1980, kind, flags, number, start, length.
type Row = (i64, i64, i64, i64, i64, i64);

fn rows(log: &Log) -> Vec<Row> {
    let rows = &log.columns;
    let millis = |at: usize| rows.t_ns[at] / 1_000_000 - 315_964_800_000;
    (0..rows.t_ns.len())
        .map(|at| (millis(at), rows.kind[at], rows.flags[at], rows.sn[at], rows.start[at], rows.length[at]))
        .collect()
}

fn codes(log: &Log) -> Vec<(&'static str, u64)> {
    log.issues.iter().map(|(code, seen)| (code, seen.count)).collect()
}

const HEADER: &[u8] = &[0xa0, 0x05];
const LENGTHS: &[u8] = &[0x8c, 0x06, 0x83, 0x28, 0x32, 0x03, 0x20];
const SEGMENT: &[u8] = &[0xd0, 0x06, 0x80, 0x32];
const STATUS: &[u8] = &[0x00, 0x1e, 0x03, 0x00];
const DOWN: [(u16, u16, &[u8]); 3] = [(10_238, 102, HEADER), (10_239, 107, LENGTHS), (2, 54, SEGMENT)];
const UP: [(u16, u16, &[u8]); 1] = [(7, 4, STATUS)];

fn log() -> Vec<u8> {
    let wrapped = [&[0x98, 1, 0, 0, 1, 0, 0, 0][..], &message(true, &UP)].concat();
    [framed(&packet(0x1234, 5, b"~}")), framed(&message(false, &DOWN)), framed(&wrapped)].concat()
}

#[test]
fn binary_and_xml_are_the_same() {
    assert!(frames::sniff(&log()));
    let found = read(&log()[..]).unwrap();
    assert_eq!(codes(&found), []);
    // Written at the same time as the other, the message of the uplink tells of a PDU five subframes later.
    let expected = [
        (999_996, 0, 4 | 2, 5, 0, 100),
        (999_997, 0, 2, 6, 0, 100),
        (1_000_000, 0, 8 | 2, 6, 50, 50),
        (1_000_005, 1, 1, 7, 0, 0),
        (1_000_005, 2, 1, 6, 0, 1),
    ];
    assert_eq!(rows(&found), expected);
    assert_eq!(found.columns.record, [2, 2, 2, 3, 3]);
    let named: Vec<(&str, u64)> =
        found.messages.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(named, [("0x1234", 1), ("0xB082", 1), ("0xB092", 1)]);

    let item = |text: String| format!("<item type=\"dict\"><dict>{text}</dict></item>");
    let lengths = item(pair("LI", 50)).repeat(3);
    let nacks = item(pair("NACK_SN", 6));
    let down = [
        fields("RLCDL DATA", 10_238, 102, 2, &[("SN", "5"), ("RF", "0"), ("P", "1"), ("E", "0")]),
        fields("RLCDL DATA", 10_239, 107, 7, &[("SN", "6"), ("RF", "0"), ("P", "0"), ("E", "1")])
            + &format!("<pair key=\"RLC DATA LI\" type=\"list\"><list>{lengths}</list></pair>"),
        fields(
            "RLCDL DATA",
            2,
            54,
            4,
            &[("SN", "6"), ("RF", "1"), ("P", "0"), ("E", "0"), ("LSF", "1"), ("SO", "50")],
        ),
    ];
    let up = [fields("RLCUL CTRL", 7, 4, 4, &[("SN", "ACK_SN = 7")])
        + &format!("<pair key=\"RLC CTRL NACK\" type=\"list\"><list>{nacks}</list></pair>")];
    let text = element(false, &down) + &element(true, &up).replace("<list>", "<list>\n");
    let of_xml = read_xml(text.as_bytes()).unwrap();
    assert_eq!(codes(&of_xml), []);
    assert_eq!(rows(&of_xml), expected);
    assert_eq!((of_xml.sn_bits, of_xml.columns.bearer), (found.sn_bits, found.columns.bearer));
    assert_eq!(of_xml.messages.len(), 2);
}

/// A message of RRC: version, kind of its channel, and where that and the length are.
fn rrc(version: u8, (kind_at, length_at, head): (usize, usize, usize), kind: u8, message: &[u8]) -> Vec<u8> {
    let mut body = vec![0; head];
    body[0] = version;
    body[kind_at] = kind;
    body[length_at] = message.len() as u8;
    body.extend(message);
    body
}

#[test]
fn messages_of_rrc() {
    let bytes = framed(&message(true, &UP));
    // For each version: requests, a grant and a move, as their kinds are numbered; then an orderly release.
    for (version, places, [down_common, down, up_common]) in [
        (2, (10, 11, 13), [5, 6, 7]),
        (4, (10, 11, 13), [5, 6, 7]),
        (7, (10, 15, 17), [5, 6, 7]),
        (8, (12, 17, 19), [5, 6, 7]),
        (9, (12, 17, 19), [12, 13, 14]),
        (15, (12, 17, 19), [6, 7, 8]),
        (19, (12, 17, 19), [8, 9, 10]),
        (20, (12, 17, 19), [6, 7, 8]),
        (26, (14, 19, 21), [8, 9, 10]),
    ] {
        let says =
            |kind, message: &[u8]| framed(&packet(0xb0c0, 2_000_000, &rrc(version, places, kind, message)));
        let all = [
            says(up_common, &[0x08]),
            says(down_common, &[0x60]),
            says(down, &[0x22, 0x08]),
            says(down, &[0x24, 0x10]),
            says(up_common, &[0x5f]),
            says(down, &[0x2a]),
            says(up_common, &[0x5f]),
            says(1, &[0x08]),
        ];
        let found = read(&[bytes.clone(), all.concat()].concat()[..]).unwrap();
        assert_eq!(codes(&found), [], "{version}");
        assert_eq!(found.columns.kind, [1, 2, 3, 5, 6, 3], "{version}");
        assert_eq!(found.columns.bearer, [3, 3, -1, -1, -1, -1]);
        assert_eq!(found.columns.flags[2..], [1, 0, 0, 1]);
        assert_eq!(found.columns.record[2..], [2, 3, 4, 6]);
    }
    let bytes = framed(&packet(0xb0c0, 5, &rrc(200, (12, 17, 19), 6, &[0x22, 0x08])));
    assert_eq!(codes(&read(&bytes[..]).unwrap()), [("unknown-message", 1)]);
    let mut cut = rrc(20, (12, 17, 19), 7, &[0x22, 0x08]);
    cut.pop();
    assert_eq!(codes(&read(&framed(&packet(0xb0c0, 5, &cut))[..]).unwrap()), [("bad-message", 1)]);
}

#[test]
fn messages_of_rrc_as_wireshark_names_them() {
    let says = |names: &[&str]| {
        let fields: String =
            names.iter().map(|name| format!("<field name=\"lte-rrc.{name}\" pos=\"0\"/>\n")).collect();
        let head = pair("type_id", "LTE_RRC_OTA_Packet") + &pair("timestamp", "1980-01-06 00:16:41");
        format!(
            "<dm_log_packet>{head}<pair key=\"Msg\" type=\"list\"><msg>\n{fields}</msg></pair></dm_log_packet>\n"
        )
    };
    let text = [
        says(&["UL_CCCH_Message_element", "rrcConnectionReestablishmentRequest_element"]),
        says(&["rrcConnectionReestablishment_element"]),
        says(&["rrcConnectionReconfiguration_element", "mobilityControlInfo_element"]),
        says(&["rrcConnectionReconfigurationComplete_element"]),
        says(&["rrcConnectionReconfiguration_element", "measConfig_element"]),
        says(&["rrcConnectionRelease"]),
        says(&["rrcConnectionRequest_element"]),
        says(&["rrcConnectionSetup_element"]),
        says(&["rrcConnectionRequest_element"]),
    ];
    let found = read_xml(text.concat().as_bytes()).unwrap();
    assert_eq!((codes(&found), &found.columns.kind[..]), (vec![], &[3, 5, 6, 5, 3][..]));
    let bad = says(&[]).replace("1980-01-06 00", "1980-01-06 99");
    assert_eq!(codes(&read_xml(bad.as_bytes()).unwrap()), [("bad-message", 1)]);
}

#[test]
fn what_cannot_be_used_is_said() {
    let whole = message(false, &DOWN);
    let with = |at: usize, byte: u8| {
        let mut changed = whole.clone();
        changed[at] = byte;
        framed(&changed)
    };
    let mut damaged = framed(&whole);
    damaged[20] ^= 1;
    for (bytes, expected) in [
        (damaged, "bad-frame"),
        (with(16, 9), "unknown-message"),
        (with(21, 7), "unknown-message"),
        (with(4, 1), "bad-message"),
        (with(15, 0xff), "bad-message"),
        (with(22, 3), "bad-message"),
        (with(22, 0xff), "bad-message"),
        (with(38, 1), "bad-message"),
        (framed(&whole)[..40].to_vec(), "truncated-file"),
        (framed(&vec![0; 1 << 19]), "bad-frame"),
    ] {
        let found = read(&bytes[..]).unwrap();
        assert_eq!(codes(&found), [(expected, 1)]);
        assert!(found.columns.t_ns.is_empty());
    }
    // A second subscription has bearers of its own.
    let second = [&[0x98, 1, 0, 0, 2, 0, 0, 0][..], &whole].concat();
    let found = read(&[framed(&whole), framed(&second)].concat()[..]).unwrap();
    assert_eq!(found.sn_bits.keys().collect::<Vec<_>>(), [&(0, 3), &(1, 3)]);
    assert_eq!(found.columns.ue.iter().sum::<i64>(), 3);
    // Another command, and nothing between two flags.
    let found = read(&[framed(&[0x60, 1]), vec![FLAG, FLAG]].concat()[..]).unwrap();
    assert_eq!((found.messages.get("command 0x60"), found.records), (Some(&1), 1));
    let text = element(false, &[fields("RLCDL DATA", 0, 102, 2, &[])]);
    for bad in [
        text.clone(),
        text.replace("</list>", ""),
        text.replace("type_id", "type"),
        text.replace("00:16", "25:16"),
    ] {
        assert_eq!(codes(&read_xml(bad.as_bytes()).unwrap()), [("bad-message", 1)]);
    }
}

#[test]
fn times_by_frame_numbers() {
    let stamp =
        |millis: i64, uplink, last| Stamp { ue: 0, t_ns: millis * 1_000_000, uplink, last: Some(last) };
    // Lags of 4, 24, 9 and 4 ms behind the frames; then an uplink that is ahead; then another cell, 4 s off.
    let stamps = [
        stamp(104, false, 100),
        stamp(164, false, 140),
        stamp(189, false, 180),
        stamp(10_304, false, 60),
        stamp(10_310, true, 71),
        stamp(10_330, false, 4086),
        stamp(10_350, false, 4096),
        Stamp { ue: 0, t_ns: 10_400_000_000, uplink: true, last: None },
    ];
    let found: Vec<i64> = times(&stamps).iter().map(|t| t / 1_000_000).collect();
    assert_eq!(found, [104, 144, 184, 10_304, 10_315, 10_330, 10_340, 10_400]);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let whole = || Just(message(false, &DOWN)).boxed();
    let changed = (whole(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut bytes, at, byte)| {
        let at = at.index(bytes.len());
        bytes[at] = byte;
        framed(&bytes)
    });
    let text = element(false, &[fields("RLCDL DATA", 3, 102, 2, &[("SN", "5"), ("RF", "1"), ("P", "1")])]);
    let cut = (Just(text), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(
        |(text, from, to)| {
            let bytes = text.into_bytes();
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            [&bytes[..from], &bytes[to..]].concat()
        },
    );
    prop_oneof![changed, cut, proptest::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #[test]
    fn whatever_the_bytes(parts in proptest::collection::vec(pieces(), 0..6)) {
        let bytes = parts.concat();
        for log in [read(&bytes[..]).unwrap(), read_xml(&bytes[..]).unwrap()] {
            let rows = &log.columns;
            prop_assert!(rows.t_ns.is_sorted());
            prop_assert!([&rows.bearer, &rows.record, &rows.kind, &rows.flags, &rows.sn, &rows.start, &rows.length]
                .iter().all(|column| column.len() == rows.t_ns.len()));
            prop_assert!(rows.length.iter().all(|length| *length >= 0));
        }
    }
}

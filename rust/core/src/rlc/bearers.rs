//! Bearers of all terminals in a log, until it is known which of them carries the data.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Radio;
use super::framing::{Channel, Layer, Mode, Pdu};
use super::pdu::{Data, Pdu as Rlc};
use super::rrc::{self, Said};
use super::track::{Kind, Row};
use super::{lte, mac, nr, um};

/// In rows of PDUs that have no number.
pub(crate) const NO_SN: u32 = u32::MAX;
/// MAC PDUs of a terminal that a repetition is compared with.
const RECENT: usize = 64;
/// Data PDUs that show that a bearer is in unacknowledged mode, and so many that show that it is not.
const ENOUGH_UM: u64 = 8;
const REFUTED_UM: u64 = 256;
/// More terminals than any cell serves: what more there is comes from damage.
const MAX_TERMINALS: usize = 65_536;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) radio: Radio,
    pub(crate) ue: u32,
    pub(crate) channel: Channel,
    pub(crate) mode: Mode,
    pub(crate) sn_bits: u8,
}

/// PDUs of a file, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// PDUs whose framing was understood.
    pub pdus: u64,
    /// MAC PDUs among them.
    pub mac: u64,
    /// Of them, HARQ retransmissions.
    pub harq_again: u64,
    /// PDUs with a wrong checksum, which are left alone.
    pub wrong_crc: u64,
    /// RLC PDUs in transparent and unacknowledged mode.
    pub other_modes: u64,
    /// PDCP PDUs.
    pub pdcp: u64,
    /// Messages of common control.
    pub ccch: u64,
}

/// A MAC PDU of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) t_ns: i64,
    pub(crate) record: i64,
    pub(crate) interface: u16,
    pub(crate) uplink: bool,
    pub(crate) bytes: u32,
    pub(crate) attempt: i16,
}

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub(crate) rnti: u16,
    /// New starts and handovers.
    pub(crate) marks: Vec<Row>,
    pub(crate) blocks: Vec<Block>,
    recent: VecDeque<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Bearer {
    pub(crate) rows: Vec<Row>,
    pub(crate) data: u64,
    pub(crate) bytes: u64,
    pub(crate) status: u64,
    pub(crate) nacks: u64,
    /// Data PDUs whose number follows that of the one before in their direction, and those with the same.
    pub(crate) steps: u64,
    same: u64,
    /// By direction: of RLC; of PDCP with 12 and with 18 bits.
    last: [[Option<u32>; 3]; 2],
    pub(crate) malformed: u64,
    /// Mode and length of its numbers are in the log, or always the same.
    pub(crate) stated: bool,
    /// It was tried and is none: its PDUs are not looked at any more.
    refuted: bool,
}

impl Bearer {
    /// Whether its numbers run as those of a bearer of that mode do.
    fn is_plausible(&self, mode: Mode) -> bool {
        let regular = (self.steps + self.same) * 2 > self.data;
        self.stated
            || match mode {
                // Any byte can be a header; an SDU may have many segments of one number.
                Mode::Unacknowledged => {
                    let enough = self.data >= ENOUGH_UM && self.steps * 16 > self.data;
                    regular && enough && self.malformed * 16 < self.data
                }
                _ => regular && self.steps * 4 > self.data && self.malformed * 4 < self.data,
            }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bearers {
    pub(crate) bearers: BTreeMap<Key, Bearer>,
    pub(crate) terminals: BTreeMap<(Radio, u32), Terminal>,
    pub(crate) counts: Counts,
}

/// Where and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) t_ns: i64,
    pub(crate) record: i64,
    pub(crate) interface: u16,
}

impl Bearers {
    /// Take a PDU; what is wrong with it.
    pub(crate) fn take(&mut self, at: At, pdu: &Pdu<'_>) -> Result<(), &'static str> {
        self.counts.pdus += 1;
        let ue = if pdu.ueid != 0 { u32::from(pdu.ueid) } else { u32::from(pdu.rnti) << 16 };
        let blank = |kind| Row {
            t_ns: at.t_ns,
            record: at.record,
            interface: at.interface,
            uplink: pdu.uplink,
            kind,
            sn: 0,
            start: 0,
            length: 0,
            last: false,
            poll: false,
            part: false,
            hash: 0,
        };
        if pdu.crc == Some(false) {
            self.counts.wrong_crc += 1;
            return Ok(());
        }
        match pdu.layer {
            Layer::Pdcp { .. } => {
                self.counts.pdcp += 1;
                Ok(())
            }
            Layer::Mac { own } => {
                self.counts.mac += 1;
                self.counts.harq_again += u64::from(pdu.retx > 0);
                if !own || !self.is_known_or_room(pdu.radio, ue) {
                    return Ok(());
                }
                let row = blank(Kind::Handover);
                let terminal = self.terminals.entry((pdu.radio, ue)).or_default();
                if pdu.ueid != 0 && pdu.rnti != 0 {
                    if terminal.rnti != 0 && terminal.rnti != pdu.rnti {
                        terminal.marks.push(row);
                    }
                    terminal.rnti = pdu.rnti;
                }
                terminal.blocks.push(Block {
                    t_ns: at.t_ns,
                    record: at.record,
                    interface: at.interface,
                    uplink: pdu.uplink,
                    bytes: pdu.payload.len() as u32,
                    attempt: if pdu.radio == Radio::Lte { i16::from(pdu.retx) } else { -1 },
                });
                let mark = hash(&(pdu.uplink, pdu.payload));
                if pdu.retx > 0 && terminal.recent.contains(&mark) {
                    return Ok(()); // the same block once more
                }
                terminal.recent.push_back(mark);
                if terminal.recent.len() > RECENT {
                    terminal.recent.pop_front();
                }
                let mut parts = Vec::new();
                let outcome =
                    mac::sdus(pdu.radio, pdu.uplink, pdu.payload, |lcid, sdu| parts.push((lcid, sdu)));
                for (lcid, sdu) in parts {
                    self.logical_channel(&blank(Kind::Data), pdu.radio, ue, lcid, sdu);
                }
                outcome
            }
            Layer::Rlc { mode: Mode::Acknowledged, sn_bits, channel, long_li } => {
                if !self.is_known_or_room(pdu.radio, ue) {
                    return Ok(());
                }
                let key = Key { radio: pdu.radio, ue, channel, mode: Mode::Acknowledged, sn_bits };
                self.acknowledged(&blank(Kind::Data), key, true, long_li, pdu.payload)
            }
            Layer::Rlc { channel: Channel::Ccch, .. } => {
                self.common_control(&blank(Kind::Data), pdu.radio, ue, pdu.payload);
                Ok(())
            }
            Layer::Rlc { mode, sn_bits, channel, .. } => {
                self.counts.other_modes += 1;
                if !self.is_known_or_room(pdu.radio, ue) {
                    return Ok(());
                }
                let key = Key { radio: pdu.radio, ue, channel, mode, sn_bits };
                self.unacknowledged(&blank(Kind::Data), key, pdu.payload)
            }
        }
    }

    fn is_known_or_room(&self, radio: Radio, ue: u32) -> bool {
        self.terminals.len() < MAX_TERMINALS || self.terminals.contains_key(&(radio, ue))
    }

    fn logical_channel(&mut self, blank: &Row, radio: Radio, ue: u32, lcid: u8, sdu: &[u8]) {
        let signalling = if radio == Radio::Lte { 1..=2 } else { 1..=3 };
        if lcid == 0 {
            self.common_control(blank, radio, ue, sdu);
        } else if signalling.contains(&lcid) {
            let sn_bits = if radio == Radio::Lte { 10 } else { 12 };
            let key = Key { radio, ue, channel: Channel::Srb(lcid), mode: Mode::Acknowledged, sn_bits };
            // Ciphered or not, RLC headers are in the clear; what is no RLC PDU was counted.
            let _ = self.acknowledged(blank, key, true, false, sdu);
        } else {
            // Which mode it has was said in ciphered messages: each is tried.
            let channel = Channel::Drb(lcid - signalling.end());
            let lengths: &[u8] = if radio == Radio::Lte { &[10, 16] } else { &[12, 18] };
            for &sn_bits in lengths {
                let key = Key { radio, ue, channel, mode: Mode::Acknowledged, sn_bits };
                let _ = self.acknowledged(blank, key, false, false, sdu);
            }
            let lengths: &[u8] = if radio == Radio::Lte { &[5, 10] } else { &[6, 12] };
            for &sn_bits in lengths {
                let key = Key { radio, ue, channel, mode: Mode::Unacknowledged, sn_bits };
                self.perhaps_unacknowledged(blank, key, sdu);
            }
        }
    }

    fn common_control(&mut self, blank: &Row, radio: Radio, ue: u32, message: &[u8]) {
        self.counts.ccch += 1;
        if !self.is_known_or_room(radio, ue) {
            return;
        }
        let kind = match rrc::common_control(radio, blank.uplink, message) {
            Some(Said::AsksAgain | Said::Asks) => Kind::Reestablishment,
            Some(Said::Granted) => Kind::Answer,
            _ => return,
        };
        self.terminals.entry((radio, ue)).or_default().marks.push(Row { kind, ..*blank });
    }

    fn acknowledged(
        &mut self,
        blank: &Row,
        key: Key,
        stated: bool,
        long_li: bool,
        data: &[u8],
    ) -> Result<(), &'static str> {
        let decoded = match key.radio {
            Radio::Lte => lte::decode(data, key.sn_bits, long_li),
            Radio::Nr => nr::decode(data, key.sn_bits),
        };
        let bearer = self.bearers.entry(key).or_default();
        bearer.stated |= stated;
        match decoded {
            Ok(Rlc::Data(found)) => bearer.data(blank, &found, key.sn_bits),
            Ok(Rlc::Status { ack, nacks }) => {
                bearer.status += 1;
                bearer.rows.push(Row { kind: Kind::Status, sn: ack, ..*blank });
                for nack in nacks {
                    bearer.nacks += 1;
                    bearer.rows.push(Row {
                        kind: Kind::Nack,
                        sn: nack.sn,
                        length: nack.count,
                        part: nack.part.is_some(),
                        start: nack.part.map_or(0, |part| part.0),
                        ..*blank
                    });
                }
            }
            Err(why) => {
                bearer.malformed += 1;
                return if stated { Err(why) } else { Ok(()) };
            }
        }
        Ok(())
    }
}

impl Bearers {
    fn unacknowledged(&mut self, blank: &Row, key: Key, data: &[u8]) -> Result<(), &'static str> {
        let bearer = self.bearers.entry(key).or_default();
        bearer.stated = true;
        if key.mode == Mode::Transparent {
            bearer.data += 1;
            bearer.bytes += data.len() as u64;
            let length = data.len() as u32;
            bearer.rows.push(Row { sn: NO_SN, length, last: true, hash: hash(&data), ..*blank });
            return Ok(());
        }
        bearer.unacknowledged(blank, key, data)
    }

    /// A PDU of a data bearer of which only the logical channel is known.
    fn perhaps_unacknowledged(&mut self, blank: &Row, key: Key, data: &[u8]) {
        let bearer = self.bearers.entry(key).or_default();
        if bearer.refuted {
            return;
        }
        if um::reserved_bits(key.radio, data, key.sn_bits) != 0 {
            bearer.malformed += 1;
        } else {
            let _ = bearer.unacknowledged(blank, key, data);
        }
        if bearer.data + bearer.malformed >= REFUTED_UM && !bearer.is_plausible(key.mode) {
            *bearer = Bearer { refuted: true, ..Bearer::default() };
        }
    }

    /// Bearers, the busiest first, those in transparent mode last; of those whose mode or length of numbers the log
    /// does not tell, the likeliest.
    pub(crate) fn likeliest(&self) -> Vec<Key> {
        let mut chosen: Vec<Key> = Vec::new();
        for (key, one) in &self.bearers {
            if !one.is_plausible(key.mode) {
                continue;
            }
            // PDUs of acknowledged mode that are whole look like segments of the other one, of NR.
            let rank = |one: &Bearer| (one.steps, std::cmp::Reverse(one.malformed));
            let same = |other: &&mut Key| {
                let alone = one.stated && self.bearers[other].stated;
                (other.radio, other.ue, other.channel) == (key.radio, key.ue, key.channel)
                    && (!alone || other.mode == key.mode)
            };
            // Keys are in order: those of one channel follow each other, one of each mode at most.
            match chosen.iter_mut().rev().take(3).find(same) {
                Some(other) => {
                    let before = &self.bearers[other];
                    let acknowledged = other.mode < key.mode;
                    if rank(one) > rank(before) || (acknowledged && rank(one) == rank(before)) {
                        *other = *key;
                    }
                }
                None => chosen.push(*key),
            }
        }
        chosen.sort_by_key(|key| (key.mode == Mode::Transparent, std::cmp::Reverse(self.bearers[key].bytes)));
        chosen
    }
}

impl Bearer {
    fn unacknowledged(&mut self, blank: &Row, key: Key, data: &[u8]) -> Result<(), &'static str> {
        match um::decode(key.radio, data, key.sn_bits) {
            Ok((Some(_), found)) => self.data(blank, &found, key.sn_bits),
            Ok((None, found)) => {
                // Whole SDUs of NR have no number, but that of PDCP in them.
                let numbers = um::pdcp_numbers(found.data);
                self.push(blank, &Data { sn: NO_SN, ..found }, [None, numbers[0], numbers[1]]);
            }
            Err(why) => {
                self.malformed += 1;
                return Err(why);
            }
        }
        Ok(())
    }
}

impl Bearer {
    fn data(&mut self, blank: &Row, found: &Data<'_>, sn_bits: u8) {
        self.push(blank, found, [Some((found.sn, u32::from(sn_bits.min(18)))), None, None]);
    }

    /// Take a data PDU with these numbers and their bits.
    fn push(&mut self, blank: &Row, found: &Data<'_>, numbers: [Option<(u32, u32)>; 3]) {
        self.data += 1;
        self.bytes += found.data.len() as u64;
        let (mut stepped, mut stayed) = (false, false);
        let before = &mut self.last[usize::from(!blank.uplink)];
        for (before, now) in before.iter_mut().zip(numbers) {
            let Some((sn, bits)) = now else { continue };
            if let Some(before) = before.replace(sn) {
                let step = sn.wrapping_sub(before) & ((1 << bits) - 1);
                stepped |= step == 1;
                stayed |= step == 0;
            }
        }
        self.steps += u64::from(stepped);
        self.same += u64::from(stayed && !stepped);
        self.rows.push(Row {
            kind: Kind::Data,
            sn: found.sn,
            start: found.start,
            length: found.data.len() as u32,
            last: found.last,
            poll: found.poll,
            part: found.part,
            hash: hash(&found.data),
            ..*blank
        });
    }
}

pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut state = DefaultHasher::new();
    value.hash(&mut state);
    state.finish()
}

/// The LCID of a bearer in MAC PDUs; `None` where that is not fixed.
pub(crate) fn lcid(radio: Radio, channel: Channel) -> Option<u8> {
    match channel {
        Channel::Ccch => Some(0),
        Channel::Srb(id) => Some(id),
        Channel::Drb(id) => id.checked_add(if radio == Radio::Lte { 2 } else { 3 }),
        Channel::Other => None,
    }
}

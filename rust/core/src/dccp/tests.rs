use super::header::{Bad, Number, decode};
use super::options::{self, Options};
use super::sequence::Numbers;

/// A DataAck with 48-bit numbers, one ack vector, and two bytes of data.
fn dataack() -> Vec<u8> {
    let mut packet = vec![0x13, 0x88, 0x9c, 0x40, 7, 0x30, 0, 0, 4 << 1 | 1, 0];
    packet.extend([0, 0, 0, 1, 2, 3]);
    packet.extend([0, 0, 0, 0, 0, 0, 0, 9]);
    packet.extend([38, 4, 0x02, 0xc0]); // three received, one missing
    packet.extend([0xaa, 0xbb]);
    packet
}

#[test]
fn a_long_header_with_ack_options_and_data() {
    let packet = dataack();
    let header = decode(&packet, packet.len() as u32).unwrap();
    assert_eq!((header.ports, header.kind, header.ccval), ((5000, 40000), 4, 3));
    assert_eq!(header.seq, Number { value: 0x0001_0203, whole: true });
    assert_eq!(header.ack, Some(Number { value: 9, whole: true }));
    assert_eq!((header.length, header.reset_code), (2, None));
    let said = options::parse(header.options);
    assert_eq!((said.received, said.marked, said.missing, said.malformed), (3, 0, 1, false));
}

#[test]
fn a_short_data_header() {
    let packet = [0, 1, 0, 2, 3, 0x10, 0, 0, 2 << 1, 0xff, 0xff, 0xfe, 1, 2, 3];
    let header = decode(&packet, 15).unwrap();
    assert_eq!((header.seq, header.ack), (Number { value: 0xff_fffe, whole: false }, None));
    assert_eq!(header.length, 3);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let mut packet = dataack();
    assert_eq!(decode(&packet[..11], 11), Err(Bad::Malformed("packet shorter than a DCCP header")));
    assert_eq!(decode(&packet[..14], 30), Err(Bad::Cut));
    packet[4] = 3;
    assert!(matches!(decode(&packet, 30), Err(Bad::Malformed(_))));
    packet[4] = 60;
    assert!(matches!(decode(&packet, 30), Err(Bad::Malformed(_))));
    packet[8] = 10 << 1 | 1;
    assert!(matches!(decode(&packet, 30), Err(Bad::Malformed(_))));
    packet[8] = 8 << 1; // Sync with short numbers
    assert!(matches!(decode(&packet, 30), Err(Bad::Malformed(_))));
}

#[test]
fn options_of_ccid_3() {
    let said = options::parse(&[
        192, 6, 0, 0, 1, 244, 194, 6, 0, 1, 0, 0, 43, 4, 0, 5, 0, 0, 33, 4, 1, 3, 42, 8, 0, 0, 0, 7, 0, 2,
    ]);
    assert_eq!((said.loss_interval, said.receive_rate_bps), (500, 65536 * 8));
    assert_eq!((said.elapsed_ns, said.echo), (20_000, 7));
    assert_eq!(said.ccid_local, Some(3));
    assert_eq!(options::parse(&[192, 6, 255, 255, 255, 255]).loss_interval, 0);
}

#[test]
fn an_option_that_leaves_the_header_ends_the_list() {
    for bytes in [&[192u8][..], &[192, 1, 0], &[192, 0], &[38, 9, 0, 0]] {
        assert!(options::parse(bytes).malformed, "{bytes:?}");
    }
    assert_eq!(options::parse(&[0, 1, 2, 0]), Options::default());
}

#[test]
fn short_numbers_wrap() {
    let mut numbers = Numbers::default();
    let short = |value| Number { value, whole: false };
    assert_eq!(numbers.saw(Number { value: 0x01_ff_ff_fe, whole: true }), 0x01ff_fffe);
    assert_eq!(numbers.saw(short(1)), 0x0200_0001);
    assert_eq!(numbers.whole(short(0xff_ffff)), 0x01ff_ffff);
    assert_eq!(Numbers::default().saw(short(5)), 5);
}

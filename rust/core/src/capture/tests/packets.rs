use super::build::{File, Tcp, ethernet, gzip, ipv6, tcp_v4};
use crate::capture::{ip_packets, ip_packets_in};

/// Record, length and bytes.
fn found(file: &[u8]) -> Vec<(u64, u32, Vec<u8>)> {
    let found = ip_packets_in(file).unwrap().unwrap();
    found.iter().map(|(record, length, data)| (record, length, data.to_vec())).collect()
}

#[test]
fn packets_without_link_headers_and_padding() {
    let (v4, v6) = (tcp_v4(&Tcp::default()), ipv6(17, b"12345678"));
    let mut padded = ethernet(0x0800, &v4);
    padded.extend([0; 9]);
    let mut tagged = ethernet(0x8100, &[0, 7, 0x86, 0xdd]);
    tagged.extend(&v6);
    let file = File::new(1)
        .packet(&padded)
        .packet(&ethernet(0x0806, &[0; 28]))
        .packet(&tagged)
        .record((3, 0), &ethernet(0x0800, &v4[..30]), 14 + v4.len() as u32)
        .done();
    let expected =
        [(1, v4.len() as u32, v4.clone()), (3, v6.len() as u32, v6), (4, v4.len() as u32, v4[..30].to_vec())];
    assert_eq!(found(&file), expected);
    assert_eq!(found(&gzip(&file)), expected);
}

#[test]
fn records_are_counted_through_files() {
    let v4 = tcp_v4(&Tcp::default());
    let folder = std::env::temp_dir().join(format!("multitracer-packets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let paths = [folder.join("a"), folder.join("b")];
    for path in &paths {
        std::fs::write(path, File::new(101).packet(&v4).packet(b"no packet").packet(&v4).done()).unwrap();
    }
    let both = ip_packets(&paths).unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(both.iter().map(|(record, ..)| record).collect::<Vec<_>>(), [1, 3, 4, 6]);
    assert!(both.iter().all(|(_, length, data)| length == v4.len() as u32 && data == v4));
}

#[test]
fn too_many_records_are_none() {
    let mut file = File::new(101);
    for _ in 0..=200_000 {
        file = file.packet(b"");
    }
    assert_eq!(ip_packets_in(&file.done()).unwrap(), None);
}

//! What the targets share: bytes as packets in a sound file.

/// A pcap file out of a fuzzer's bytes: the first chooses one of the link types, then come records of length,
/// time step, bytes. None if there is no first byte.
pub fn file_of(data: &[u8], link_types: &[u32]) -> Option<Vec<u8>> {
    let (choice, mut rest) = data.split_first()?;
    let mut file = Vec::with_capacity(data.len() * 2 + 64);
    let link_type = link_types[usize::from(*choice) % link_types.len()];
    for field in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type] {
        file.extend(field.to_le_bytes());
    }
    let mut micros = 0u32;
    while let Some(([length, step], more)) = rest.split_first_chunk::<2>() {
        let (packet, after) = more.split_at(more.len().min(usize::from(*length)));
        rest = after;
        micros = micros.wrapping_add(1 << (step & 31));
        // The upper bits cut what was captured of it.
        let original = packet.len() as u32 + u32::from(step >> 5) * 100;
        for field in [micros / 1_000_000, micros % 1_000_000, packet.len() as u32, original] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    Some(file)
}

//! Numbers out of bytes; the caller has looked that they are there.

pub(super) fn le16(data: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([data[at], data[at + 1]])
}

pub(super) fn le32(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

pub(super) fn le64(data: &[u8], at: usize) -> u64 {
    u64::from(le32(data, at)) | u64::from(le32(data, at + 4)) << 32
}

pub(super) fn be32(data: &[u8], at: usize) -> u32 {
    le32(data, at).swap_bytes()
}

//! How fast captures are decoded: `cargo bench --bench decode -- [millions of packets]`.
//!
//! Writes captures into the temporary directory, reads each a few times from the page cache, and removes it.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use multitracer_core::capture::{Sink, read};
use multitracer_core::issue::Issues;
use multitracer_core::segment::Segment;

/// Uses every segment, and keeps none.
#[derive(Default)]
struct Sum(u64);

impl Sink for Sum {
    fn segment(&mut self, segment: &Segment) {
        let timestamps = segment.options.timestamps.map_or(0, |(value, _)| value);
        self.0 =
            self.0.wrapping_add(u64::from(segment.seq) ^ u64::from(segment.length) ^ u64::from(timestamps));
        black_box(segment);
    }
}

/// Ethernet, IPv4, TCP with timestamps: two segments of 1448 bytes and their ACK, in turn.
fn frame(number: u32, connections: u32) -> Vec<u8> {
    let (connection, is_ack) = (number / 3 % connections, number % 3 == 2);
    let sack = if is_ack && number.is_multiple_of(7) { 12 } else { 0 };
    let payload = if is_ack { 0 } else { 1448 };
    let tcp_header = 32 + sack;
    let total = (20 + tcp_header + payload) as u16;
    let mut out = vec![2; 12];
    out.extend([0x08, 0x00, 0x45, 0]);
    out.extend(total.to_be_bytes());
    out.extend([number as u8, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 1]);
    out.extend((connection as u16).to_be_bytes());
    out.extend([0x9c, 0x40, 0x00, 0x50]);
    out.extend(number.wrapping_mul(1448).to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend([(tcp_header as u8 / 4) << 4, 0x10, 2, 0, 0x5a, 0xa5, 0, 0, 1, 1, 8, 10]);
    out.extend(number.to_be_bytes());
    out.extend(number.wrapping_sub(9).to_be_bytes());
    if sack > 0 {
        out.extend([1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9]);
    }
    out.resize(out.len() + payload, number as u8);
    out
}

fn write(path: &Path, packets: u32, connections: u32, snaplen: usize) -> std::io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for field in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1] {
        file.write_all(&u32::to_le_bytes(field))?;
    }
    for number in 0..packets {
        let frame = frame(number, connections);
        let kept = &frame[..frame.len().min(snaplen)];
        for field in [number / 100_000, number % 100_000 * 10, kept.len() as u32, frame.len() as u32] {
            file.write_all(&field.to_le_bytes())?;
        }
        file.write_all(kept)?;
    }
    file.flush()?;
    Ok(file.get_ref().metadata()?.len())
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn main() -> std::io::Result<()> {
    let millions = std::env::args().filter_map(|a| a.parse::<u32>().ok()).next().unwrap_or(2);
    let path = std::env::temp_dir().join(format!("multitracer-bench-{}.pcap", std::process::id()));
    for (name, packets, connections, snaplen) in [
        ("headers, 50 connections", millions * 1_000_000, 50, 96),
        ("headers, 60000 connections", millions * 1_000_000, 60_000, 96),
        ("whole payload", millions * 250_000, 50, 65_535),
    ] {
        let bytes = write(&path, packets, connections, snaplen)?;
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let (mut sink, mut issues) = (Sum::default(), Issues::default());
            let start = Instant::now();
            let info = read(&path, &mut sink, &mut issues).map_err(std::io::Error::other)?;
            best = best.min(start.elapsed());
            assert_eq!(info.tcp_segments, u64::from(packets));
        }
        println!(
            "{name}: {:.2} M packets, {:.0} MB in {:.3} s: {:.1} M packets/s, {:.2} GB/s, {:.1} ns a packet; peak {}",
            f64::from(packets) / 1e6,
            bytes as f64 / 1e6,
            best.as_secs_f64(),
            f64::from(packets) / 1e6 / best.as_secs_f64(),
            bytes as f64 / 1e9 / best.as_secs_f64(),
            best.as_secs_f64() * 1e9 / f64::from(packets),
            peak_memory(),
        );
    }
    std::fs::remove_file(&path)
}

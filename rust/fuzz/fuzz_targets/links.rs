//! Readers that take files: bearers of LTE and NR with the packets in them, alone and as a pair of captures; RLP in
//! GSMTAP. DCCP in packets of any kind of network layer. Any bytes as a record file of pppd.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use multitracer_core::rlc::capture::Wanted;
use multitracer_core::rlc::pair;
use multitracer_core::{dccp, ppp, rlc, rlp};
use multitracer_fuzz::file_of;

const CELLULAR: [u32; 5] = [1, 147, 149, 157, 252];
const NETWORK: [u32; 4] = [1, 101, 113, 276];

fuzz_target!(|data: &[u8]| {
    ppp::record::sniff(data);
    ppp::record::read(data).expect("bytes in memory");
    let path = std::env::temp_dir().join(format!("multitracer-fuzz-{}", std::process::id()));
    if let Some(file) = file_of(data, &NETWORK) {
        let found = dccp::read_from(&file[..]).expect("a sound file");
        assert!(found.packets.t_ns.len() as u64 <= found.counts.records);
        fs::write(&path, &file).expect("a place for files");
        rlp::gsmtap::sniff(&file);
        rlp::gsmtap::read(&path, data.len().is_multiple_of(2), None).expect("a sound file");
    }
    if let Some(file) = file_of(data, &CELLULAR) {
        fs::write(&path, &file).expect("a place for files");
        let (files, wanted) = ([path.clone()], Wanted::default());
        rlc::capture::sniff(&file);
        rlc::capture::read(&files, &wanted).expect("a sound file");
        let paired = pair::read([&files[..], &files[..]], [&wanted, &wanted]);
        assert!(paired.is_ok());
    }
    let _ = fs::remove_file(&path);
});

//! Packets of radio links in a file that is sound: frames of 802.11 behind each header, PDUs of LTE and NR. Any bytes
//! as the log of a modem.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::{rlc, wifi};
use multitracer_fuzz::file_of;

const WIFI: [u32; 5] = [105, 119, 127, 163, 192];
const CELLULAR: [u32; 5] = [1, 147, 149, 157, 252];

fuzz_target!(|data: &[u8]| {
    if let Some(file) = file_of(data, &WIFI) {
        wifi::read_from(&file[..], wifi::Wanted::default()).expect("a sound file");
    }
    rlc::diag::read(data).expect("bytes in memory");
    rlc::diag::read_xml(data).expect("bytes in memory");
    if let Some(file) = file_of(data, &CELLULAR) {
        rlc::capture::read_from(&file[..], &rlc::capture::Wanted::default()).expect("a sound file");
    }
});

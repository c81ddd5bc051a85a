//! Any bytes as each of the text logs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::text::{ftrace, rlpdump, siftr, ss, tcpprobe};

fuzz_target!(|data: &[u8]| {
    // Memory is all that is read from, so none of them may fail; whatever is wrong is an issue.
    rlpdump::scan(data).expect("data and issues");
    ftrace::scan(data).expect("data and issues");
    ss::scan(data).expect("data and issues");
    siftr::scan(data).expect("data and issues");
    tcpprobe::scan(data, None).expect("data and issues");
});

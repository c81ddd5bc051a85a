//! Any bytes as each of the text logs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::text::{
    bcc, csv, dccpprobe, ftrace, iperf3, lena, ndt7, ns2, ns3, omnetpp, rlpdump, siftr, srsran, ss, tcpinfo,
    tcpprobe,
};

fuzz_target!(|data: &[u8]| {
    // Memory is all that is read from, so none of them may fail; whatever is wrong is an issue.
    rlpdump::scan(data).expect("data and issues");
    ftrace::scan(data).expect("data and issues");
    ss::scan(data).expect("data and issues");
    siftr::scan(data).expect("data and issues");
    tcpprobe::scan(data, None).expect("data and issues");
    dccpprobe::scan(data).expect("data and issues");
    ns2::scan(data, true, 40).expect("data and issues");
    ns2::variables::scan(data).expect("data and issues");
    ns3::scan(data).expect("data and issues");
    ns3::series::scan(data).expect("data and issues");
    omnetpp::scan(data).expect("data and issues");
    bcc::scan(data).expect("data and issues");
    tcpinfo::scan(data).expect("data and issues");
    iperf3::scan(data).expect("data and issues");
    iperf3::read(data);
    ndt7::read(data);
    srsran::scan(data).expect("data and issues");
    lena::scan(data, &[lena::Column { unit: 1e9, limit: Some(9.2e18) }; lena::COLUMNS])
        .expect("data and issues");
    let kinds = [csv::Kind::Time(0), csv::Kind::Word, csv::Kind::Number];
    csv::scan(data, 1, b',', &kinds).expect("data and issues");
});

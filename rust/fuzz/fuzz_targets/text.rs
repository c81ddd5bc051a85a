//! Any bytes as each of the text logs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::text::settings::{CONFIGURED, Settings};
use multitracer_core::text::{SCANNERS, csv};

fuzz_target!(|data: &[u8]| {
    // Memory is all that is read from, so none of them may fail; whatever is wrong is an issue.
    for scanner in SCANNERS {
        (scanner.scan)(&mut &data[..]).expect("data and issues");
    }
    let kinds = [csv::Kind::Word, csv::Kind::Time(3), csv::Kind::Number];
    csv::scan(data, 0, b' ', &kinds).expect("data and issues");
    for configured in CONFIGURED {
        // Some want settings: an error then, and no panic.
        let _ = (configured.scan)(&mut &data[..], &Settings::default());
    }
});

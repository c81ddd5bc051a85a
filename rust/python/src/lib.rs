//! The Python binding: nothing but conversions. The logic is in `multitracer-core`.

use pyo3::prelude::*;

mod bottleneck;
mod capture;
mod columns;
mod dccp;
mod diag;
mod echoes;
mod episodes;
mod flight;
mod follow;
mod framing;
mod grouped;
mod in_flight;
mod json;
mod limits;
mod link;
mod loss_recovery;
mod passages;
mod rlc;
mod spans;
mod summaries;
mod tables;
mod text;
mod watch;
mod wifi;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    multitracer_core::input::read_ratio();
    bottleneck::register(m)?;
    capture::register(m)?;
    dccp::register(m)?;
    diag::register(m)?;
    echoes::register(m)?;
    flight::register(m)?;
    follow::register(m)?;
    framing::register(m)?;
    grouped::register(m)?;
    in_flight::register(m)?;
    json::register(m)?;
    limits::register(m)?;
    link::register(m)?;
    loss_recovery::register(m)?;
    passages::register(m)?;
    rlc::register(m)?;
    spans::register(m)?;
    summaries::register(m)?;
    text::register(m)?;
    wifi::register(m)?;
    Ok(())
}

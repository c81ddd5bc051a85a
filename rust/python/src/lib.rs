//! The Python binding: nothing but conversions. The logic is in `multitracer-core`.

use pyo3::prelude::*;

mod capture;
mod link;
mod text;
mod watch;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    capture::register(m)?;
    link::register(m)?;
    text::register(m)?;
    Ok(())
}

//! Sizes of packets in a byte stream, and their places in it.

use multitracer_core::framing::sizes::{Framing, Packet, sizes};
use multitracer_core::framing::walk::{Anchors, Packets, walk};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::columns::{Ints, same_length};

type Column<'py> = Bound<'py, PyArray1<i64>>;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(framed_sizes, m)?)?;
    m.add_function(wrap_pyfunction!(walk_anchors, m)?)?;
    Ok(())
}

#[pyfunction]
#[pyo3(signature = (packets, address, short_protocol, flags, accm, vj))]
fn framed_sizes(
    py: Python<'_>,
    packets: Vec<(i64, PyBackedBytes)>,
    address: bool,
    short_protocol: bool,
    flags: u8,
    accm: u32,
    vj: Option<(bool, bool)>,
) -> (Column<'_>, Column<'_>) {
    let framing = Framing { address, short_protocol, flags, accm, vj };
    let packets: Vec<_> = packets
        .iter()
        .map(|(length, data)| Packet { length: usize::try_from(*length).unwrap_or(0), data })
        .collect();
    let (known, unseen) = py.detach(|| sizes(framing, &packets));
    (known.into_pyarray(py), unseen.into_pyarray(py))
}

#[pyfunction]
fn walk_anchors<'py>(
    py: Python<'py>,
    packets: (Ints<'py>, Ints<'py>, Ints<'py>),
    anchors: (Ints<'py>, Ints<'py>, Ints<'py>),
    begin: i64,
    rate: f64,
) -> PyResult<(Column<'py>, Column<'py>, u64, u64)> {
    let packets = Packets {
        known: packets.0.as_slice()?,
        unseen: packets.1.as_slice()?,
        pauses: packets.2.as_slice()?,
    };
    let anchors =
        Anchors { offset: anchors.0.as_slice()?, low: anchors.1.as_slice()?, high: anchors.2.as_slice()? };
    same_length(&[packets.known.len(), packets.unseen.len(), packets.pauses.len()])?;
    same_length(&[anchors.offset.len(), anchors.low.len(), anchors.high.len()])?;
    let found = py.detach(|| walk(packets, anchors, begin, rate));
    Ok((found.bounds.into_pyarray(py), found.error.into_pyarray(py), found.matched, found.missed))
}

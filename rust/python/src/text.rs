//! Text logs: every scanner comes back as (tables, issues, facts).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use multitracer_core::input::{self, Progress};
use multitracer_core::issue::Issues;
use multitracer_core::text::found::{Column, Columns, Found, Value};
use multitracer_core::text::lines::Lines;
use multitracer_core::text::{SCANNERS, csv, iperf3, lena, ndt7, scanner, tcpprobe};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyTuple};

use crate::watch::watched;

/// Tables by name, issues as (code, count, first record, detail), and facts about the file.
pub(crate) type Scan<'py> = (Bound<'py, PyDict>, Vec<(&'static str, u64, u64, String)>, Bound<'py, PyDict>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(head, m)?)?;
    m.add_function(wrap_pyfunction!(forget, m)?)?;
    m.add("TEXT_SCANNERS", SCANNERS.iter().map(|scanner| scanner.name).collect::<Vec<_>>())?;
    m.add_function(wrap_pyfunction!(scan_text, m)?)?;
    m.add_function(wrap_pyfunction!(scan_tcpprobe, m)?)?;
    m.add_function(wrap_pyfunction!(scan_csv, m)?)?;
    m.add_function(wrap_pyfunction!(scan_lena, m)?)?;
    m.add_function(wrap_pyfunction!(read_iperf3, m)?)?;
    m.add_function(wrap_pyfunction!(read_ndt7, m)?)?;
    m.add_class::<TextLines>()?;
    Ok(())
}

/// The lines of a file in batches: for formats whose lines Python reads.
#[pyclass]
struct TextLines {
    // A reader is not Sync; nobody contends for the lock.
    lines: Mutex<Lines<Box<dyn Read + Send>>>,
    issues: Issues,
}

/// Lines with their numbers, from 1.
type Batch<'py> = Vec<(u64, Bound<'py, PyBytes>)>;

#[pymethods]
impl TextLines {
    #[new]
    #[pyo3(signature = (path, longest=None))]
    fn new(path: PathBuf, longest: Option<usize>) -> PyResult<Self> {
        let reader = input::open(&path, None)?.reader;
        let lines = match longest {
            None => Lines::new(reader),
            Some(bytes) => Lines::of_length(reader, bytes),
        };
        Ok(TextLines { lines: Mutex::new(lines), issues: Issues::default() })
    }

    /// Some more lines, of about so many bytes together; none at the end.
    fn batch<'py>(&mut self, py: Python<'py>, bytes: usize) -> PyResult<Batch<'py>> {
        let mut found = Vec::new();
        let mut size = 0;
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        while size < bytes {
            let Some((number, line)) = lines.next_line(&mut self.issues)? else { break };
            size += line.len() + 1;
            found.push((number, PyBytes::new(py, line)));
        }
        Ok(found)
    }

    /// Damage so far.
    fn issues(&self) -> Vec<(&'static str, u64, u64, String)> {
        listed(&self.issues)
    }
}

#[pyfunction]
fn head(py: Python<'_>, path: PathBuf, count: usize) -> PyResult<Bound<'_, PyBytes>> {
    let progress = Progress::default();
    let bytes = watched(py, &progress, None, || input::head(&path, count, Some(&progress)))??;
    Ok(PyBytes::new(py, &bytes))
}

#[pyfunction]
fn forget(path: PathBuf) {
    input::forget(&path);
}

/// Open and scan without the interpreter lock; Ctrl-C ends it.
#[allow(clippy::needless_lifetimes, reason = "elided, it would have to hold for every lifetime")]
pub(crate) fn scan<'p, T: Send>(
    py: Python<'_>,
    path: &Path,
    progress: &'p Progress,
    scanner: impl FnOnce(Box<dyn Read + Send + 'p>) -> std::io::Result<T> + Send,
) -> PyResult<T> {
    Ok(watched(py, progress, None, || scanner(input::open(path, Some(progress))?.reader))??)
}

macro_rules! table {
    ($py:expr, $rows:expr, $($name:ident),+ $(,)?) => {{
        let table = PyDict::new($py);
        $( table.set_item(stringify!($name), $rows.$name.into_pyarray($py))?; )+
        table
    }};
}
pub(crate) use table;

/// A log through the scanner of this name, with usual settings.
#[pyfunction]
fn scan_text<'py>(py: Python<'py>, name: &str, path: PathBuf) -> PyResult<Scan<'py>> {
    let scanner =
        scanner(name).ok_or_else(|| PyValueError::new_err(format!("no scanner is named {name:?}")))?;
    let found = scan(py, &path, &Progress::default(), |mut reader| (scanner.scan)(&mut reader))?;
    to_python(py, found)
}

#[pyfunction]
#[pyo3(signature = (path, columns=None))]
fn scan_tcpprobe(py: Python<'_>, path: PathBuf, columns: Option<Vec<String>>) -> PyResult<Scan<'_>> {
    let role = |name: &String| {
        tcpprobe::Role::named(name).ok_or_else(|| PyValueError::new_err(format!("unknown column {name:?}")))
    };
    let layout = columns.map(|names| names.iter().map(role).collect::<PyResult<Vec<_>>>()).transpose()?;
    let log = scan(py, &path, &Progress::default(), |reader| tcpprobe::scan(reader, layout.as_deref()))?;
    to_python(py, log.into())
}

/// `kinds`, by column: `time:<decimals of its unit>`, `number`, `word`; anything else is skipped.
#[pyfunction]
fn scan_csv(
    py: Python<'_>,
    path: PathBuf,
    header: u64,
    separator: u8,
    kinds: Vec<String>,
) -> PyResult<Scan<'_>> {
    let kinds: Vec<csv::Kind> = kinds
        .iter()
        .map(|kind| {
            match (kind.as_str(), kind.strip_prefix("time:").and_then(|digits| digits.parse().ok())) {
                (_, Some(digits)) => csv::Kind::Time(digits),
                ("number", _) => csv::Kind::Number,
                ("word", _) => csv::Kind::Word,
                _ => csv::Kind::Skip,
            }
        })
        .collect();
    let log = scan(py, &path, &Progress::default(), |reader| csv::scan(reader, header, separator, &kinds))?;
    to_python(py, log.into())
}

/// `columns`: of each column of the file what one of its unit is, and from where on values do not fit.
#[pyfunction]
fn scan_lena(py: Python<'_>, path: PathBuf, columns: Vec<(f64, Option<f64>)>) -> PyResult<Scan<'_>> {
    let columns: Vec<_> = columns.into_iter().map(|(unit, limit)| lena::Column { unit, limit }).collect();
    let columns: [lena::Column; lena::COLUMNS] =
        columns.try_into().map_err(|_| PyValueError::new_err("not as many columns as LENA writes"))?;
    let log = scan(py, &path, &Progress::default(), |reader| lena::scan(reader, &columns))?;
    to_python(py, log.into())
}

/// Documents of iperf3, one after the other.
#[pyfunction]
fn read_iperf3<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Scan<'py>> {
    let log = py.detach(|| iperf3::read(text));
    to_python(py, log.into())
}

/// A result of NDT7. What it says of itself, of its tests and of sockets is JSON.
#[pyfunction]
fn read_ndt7<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Scan<'py>> {
    let log = py.detach(|| ndt7::read(text));
    to_python(py, log.into())
}

/// What a scanner found, as Python's.
pub(crate) fn to_python(py: Python<'_>, found: Found) -> PyResult<Scan<'_>> {
    let (tables, facts) = (PyDict::new(py), PyDict::new(py));
    for (name, columns) in found.tables {
        tables.set_item(name, table_of(py, columns)?)?;
    }
    for (name, value) in found.facts {
        facts.set_item(name, value_of(py, value)?)?;
    }
    Ok((tables, listed(&found.issues), facts))
}

/// Columns of a table, by name.
pub(crate) fn table_of(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns {
        table.set_item(name, array_of(py, column))?;
    }
    Ok(table)
}

fn array_of(py: Python<'_>, column: Column) -> Bound<'_, PyAny> {
    match column {
        Column::I8(values) => values.into_pyarray(py).into_any(),
        Column::I16(values) => values.into_pyarray(py).into_any(),
        Column::I32(values) => values.into_pyarray(py).into_any(),
        Column::I64(values) => values.into_pyarray(py).into_any(),
        Column::F64(values) => values.into_pyarray(py).into_any(),
    }
}

fn value_of(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    let each =
        |values: Vec<Value>| values.into_iter().map(|one| value_of(py, one)).collect::<PyResult<Vec<_>>>();
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::Count(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => value.into_pyobject(py)?.into_any(),
        Value::Text(value) => value.into_pyobject(py)?.into_any(),
        Value::Bytes(value) => PyBytes::new(py, &value).into_any(),
        Value::List(values) => PyList::new(py, each(values)?)?.into_any(),
        Value::Tuple(values) => PyTuple::new(py, each(values)?)?.into_any(),
        Value::ByName(values) => {
            let found = PyDict::new(py);
            for (name, value) in values {
                found.set_item(name, value_of(py, value)?)?;
            }
            found.into_any()
        }
        Value::Column(column) => array_of(py, column),
    })
}

pub(crate) fn facts(py: Python<'_>, lines: u64, resolution_ns: i64) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("lines", lines)?;
    facts.set_item("resolution_ns", resolution_ns)?;
    Ok(facts)
}

pub(crate) fn listed(issues: &Issues) -> Vec<(&'static str, u64, u64, String)> {
    issues.iter().map(|(code, seen)| (code, seen.count, seen.first_record, seen.detail.clone())).collect()
}

//! Text logs: every scanner comes back as (tables, issues, facts).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use multitracer_core::input::{self, Progress};
use multitracer_core::issue::Issues;
use multitracer_core::text::SCANNERS;
use multitracer_core::text::found::{Column, Columns, End, Found, Value};
use multitracer_core::text::lines::Lines;
use multitracer_core::text::settings::{CONFIGURED, Settings, Unread, read};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::capture::tracked_to_python;
use crate::watch::{Beside, watched};

/// Tables by name, issues as (code, count, first record, detail), and facts about the file.
pub(crate) type Scan<'py> = (Bound<'py, PyDict>, Vec<(&'static str, u64, u64, String)>, Bound<'py, PyDict>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(head, m)?)?;
    m.add_function(wrap_pyfunction!(forget, m)?)?;
    m.add("TEXT_SCANNERS", names())?;
    m.add_function(wrap_pyfunction!(scan_text, m)?)?;
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
    let bytes = watched(py, &progress, Beside::default(), || input::head(&path, count, Some(&progress)))??;
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
    Ok(watched(py, progress, Beside::default(), || scanner(input::open(path, Some(progress))?.reader))??)
}

macro_rules! table {
    ($py:expr, $rows:expr, $($name:ident),+ $(,)?) => {{
        let table = PyDict::new($py);
        $( table.set_item(stringify!($name), $rows.$name.into_pyarray($py))?; )+
        table
    }};
}
pub(crate) use table;

/// What `scan_text` takes.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = SCANNERS.iter().map(|scanner| scanner.name).collect();
    names.extend(CONFIGURED.iter().map(|configured| configured.name));
    names.sort_unstable();
    names.dedup();
    names
}

/// A log through the scanner of this name, as the settings say.
#[pyfunction]
#[pyo3(signature = (name, path, settings=None))]
fn scan_text<'py>(
    py: Python<'py>,
    name: &str,
    path: PathBuf,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Scan<'py>> {
    let mut values = Vec::new();
    for (name, value) in settings.into_iter().flatten() {
        values.push((name.extract()?, setting(&value)?));
    }
    let settings = Settings::new(values);
    let progress = Progress::default();
    let found = watched(py, &progress, Beside::default(), || {
        let mut reader = input::open(&path, Some(&progress))?.reader;
        read(name, &mut reader, &settings)
    })?;
    let found = found.map_err(|error| match error {
        Unread::Io(error) => error.into(),
        Unread::Unusable(why) => PyValueError::new_err(why),
    })?;
    to_python(py, found)
}

/// A value that Python states.
fn setting(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let each = |values: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        values.map(|one| setting(&one)).collect::<PyResult<Vec<_>>>()
    };
    Ok(if value.is_none() {
        Value::None
    } else if let Ok(flag) = value.cast::<PyBool>() {
        Value::Bool(flag.is_true())
    } else if value.is_instance_of::<PyInt>() {
        Value::Int(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        Value::Float(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        Value::Text(value.extract()?)
    } else if let Ok(values) = value.cast::<PyTuple>() {
        Value::Tuple(each(&mut values.iter())?)
    } else if let Ok(values) = value.cast::<PyList>() {
        Value::List(each(&mut values.iter())?)
    } else {
        return Err(PyTypeError::new_err(format!("no setting is of type {}", value.get_type().name()?)));
    })
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
    if let Some(ends) = found.ends {
        let seen = ends.into_iter().map(|end| end_of(py, end)).collect::<PyResult<Vec<_>>>()?;
        facts.set_item("ends", seen)?;
    }
    Ok((tables, listed(&found.issues), facts))
}

/// What one host or end saw, in the shape of `read_capture`.
fn end_of(py: Python<'_>, end: End) -> PyResult<Bound<'_, PyDict>> {
    let seen = PyDict::new(py);
    for (name, value) in end.about {
        seen.set_item(name, value_of(py, value)?)?;
    }
    tracked_to_python(py, &seen, &end.connections, Some(end.segments))?;
    Ok(seen)
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

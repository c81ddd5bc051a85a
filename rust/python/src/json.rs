//! JSON as Python's `json.dumps(value, indent=2, allow_nan=False)` writes it, some twenty times as fast: with an
//! indent the standard library has no encoder in C.

use multitracer_core::json::{push_float, push_int, push_string};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper values are refused: no result is, and the stack is finite.
const MOST_LEVELS: usize = 200;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(json_text, m)?)?;
    m.add_function(wrap_pyfunction!(json_rows, m)?)?;
    m.add_function(wrap_pyfunction!(json_nested_rows, m)?)?;
    Ok(())
}

/// `value` as JSON; the lines after the first are indented by `level` times two blanks more.
#[pyfunction]
fn json_text(value: &Bound<'_, PyAny>, level: usize) -> PyResult<String> {
    let mut out = String::new();
    write_value(&mut out, value, level, 0)?;
    Ok(out)
}

/// What a column of `json_rows` holds, and when an entry of it is null.
enum Column<'py> {
    /// A number.
    Number(PyReadonlyArray1<'py, i64>),
    /// A number; null below zero.
    Known(PyReadonlyArray1<'py, i64>),
    /// A number; null if it is zero.
    Some(PyReadonlyArray1<'py, i64>),
    /// Nanoseconds, written as seconds.
    Seconds(PyReadonlyArray1<'py, i64>),
    /// The same; null below zero.
    KnownSeconds(PyReadonlyArray1<'py, i64>),
    /// Nanoseconds from the zero of all times on, written as seconds.
    Time(PyReadonlyArray1<'py, i64>),
    /// The same; null below zero.
    KnownTime(PyReadonlyArray1<'py, i64>),
    /// Text; null if it is empty.
    Text(Vec<Bound<'py, PyString>>),
    /// JSON as it is.
    Json(Vec<Bound<'py, PyString>>),
    /// Rows of another table.
    Rows,
}

impl<'py> Column<'py> {
    fn of(kind: &str, values: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(match kind {
            "number" => Self::Number(values.extract()?),
            "known" => Self::Known(values.extract()?),
            "some" => Self::Some(values.extract()?),
            "seconds" => Self::Seconds(values.extract()?),
            "known seconds" => Self::KnownSeconds(values.extract()?),
            "time" => Self::Time(values.extract()?),
            "known time" => Self::KnownTime(values.extract()?),
            "text" => Self::Text(values.extract()?),
            "json" => Self::Json(values.extract()?),
            "rows" if values.is_none() => Self::Rows,
            _ => return Err(PyValueError::new_err(format!("JSON: no kind of column is called {kind}"))),
        })
    }

    /// How many values it has; None if that is not its own to say.
    fn len(&self) -> PyResult<Option<usize>> {
        Ok(Some(match self {
            Self::Number(values)
            | Self::Known(values)
            | Self::Some(values)
            | Self::Seconds(values)
            | Self::KnownSeconds(values)
            | Self::Time(values)
            | Self::KnownTime(values) => values.as_slice()?.len(),
            Self::Text(values) | Self::Json(values) => values.len(),
            Self::Rows => return Ok(None),
        }))
    }

    fn write(&self, out: &mut String, row: usize, t0_ns: i64) -> PyResult<()> {
        match self {
            Self::Number(values) => push_int(out, values.as_slice()?[row]),
            Self::Known(values) => or_null(out, values.as_slice()?[row], |value| value >= 0, push_int),
            Self::Some(values) => or_null(out, values.as_slice()?[row], |value| value != 0, push_int),
            Self::Seconds(values) => push_seconds(out, values.as_slice()?[row]),
            Self::KnownSeconds(values) => {
                or_null(out, values.as_slice()?[row], |value| value >= 0, push_seconds)
            }
            Self::Time(values) => push_seconds(out, values.as_slice()?[row].wrapping_sub(t0_ns)),
            Self::KnownTime(values) => or_null(
                out,
                values.as_slice()?[row],
                |value| value >= 0,
                |out, value| {
                    push_seconds(out, value.wrapping_sub(t0_ns));
                },
            ),
            Self::Text(values) if values[row].is_empty()? => out.push_str("null"),
            Self::Text(values) => write_string(out, &values[row])?,
            Self::Json(values) => out.push_str(values[row].to_str()?),
            Self::Rows => {}
        }
        Ok(())
    }
}

fn or_null(out: &mut String, value: i64, known: impl Fn(i64) -> bool, push: impl Fn(&mut String, i64)) {
    if known(value) {
        push(out, value);
    } else {
        out.push_str("null");
    }
}

/// Nanoseconds as seconds with six decimals at most: as Python writes `round(ns / 1e9, 6)`.
fn push_seconds(out: &mut String, ns: i64) {
    let rest = ns.rem_euclid(1000);
    // A double below a thousand million seconds is near enough to its decimals but for the middle of two.
    let value = if ns.unsigned_abs() < 1_000_000_000_000_000 && !(499..=501).contains(&rest) {
        (ns.div_euclid(1000) + i64::from(rest > 500)) as f64 / 1e6
    } else {
        format!("{:.6}", ns as f64 / 1e9).parse().unwrap_or(0.0)
    };
    let zero = if ns < 0 { -0.0 } else { 0.0 };
    push_float(out, if value == 0.0 { zero } else { value });
}

/// Rows of a table as JSON objects, each as `json_text` writes it: key, kind and values of each column.
#[pyfunction]
fn json_rows(fields: Vec<Field<'_>>, t0_ns: i64, level: usize) -> PyResult<Vec<String>> {
    let rows = Rows::of(&fields, t0_ns, level)?;
    (0..rows.count)
        .map(|row| {
            let mut out = String::with_capacity(32 * rows.columns.len());
            rows.write(&mut out, row, no_rows)?;
            Ok(out)
        })
        .collect()
}

/// The same as entries of a list, in one text; a column of kind `rows` holds those rows of another table that
/// are between two bounds, as a list.
#[pyfunction]
fn json_nested_rows(
    fields: Vec<Field<'_>>,
    inner: Vec<Field<'_>>,
    bounds: PyReadonlyArray1<'_, i64>,
    t0_ns: i64,
    level: usize,
) -> PyResult<String> {
    let rows = Rows::of(&fields, t0_ns, level)?;
    let inner = Rows::of(&inner, t0_ns, level + 2)?;
    let bounds = bounds.as_slice()?;
    let ascend = bounds.windows(2).all(|pair| 0 <= pair[0] && pair[0] <= pair[1]);
    if bounds.len() != rows.count + 1 || !ascend || bounds[rows.count] as usize > inner.count {
        return Err(PyValueError::new_err("JSON: bounds that are not those of the rows"));
    }
    let mut out =
        String::with_capacity(32 * (rows.count * rows.columns.len() + inner.count * inner.columns.len()));
    for row in 0..rows.count {
        if row > 0 {
            out.push(',');
            new_line(&mut out, level);
        }
        rows.write(&mut out, row, |out, row| {
            let (begin, end) = (bounds[row] as usize, bounds[row + 1] as usize);
            out.push('[');
            for at in begin..end {
                if at > begin {
                    out.push(',');
                }
                new_line(out, level + 2);
                inner.write(out, at, no_rows)?;
            }
            if end > begin {
                new_line(out, level + 1);
            }
            out.push(']');
            Ok(())
        })?;
    }
    Ok(out)
}

/// Rows are nested once.
fn no_rows(_: &mut String, _: usize) -> PyResult<()> {
    Err(PyValueError::new_err("JSON: rows in rows"))
}

/// Key, kind and values of a column.
type Field<'py> = (String, String, Bound<'py, PyAny>);

/// Rows of a table that become JSON objects.
struct Rows<'py> {
    columns: Vec<(String, Column<'py>)>,
    count: usize,
    t0_ns: i64,
    level: usize,
}

impl<'py> Rows<'py> {
    fn of(fields: &[Field<'py>], t0_ns: i64, level: usize) -> PyResult<Self> {
        let mut columns = Vec::with_capacity(fields.len());
        for (key, kind, values) in fields {
            let mut before = String::new();
            new_line(&mut before, level + 1);
            push_string(&mut before, key);
            before.push_str(": ");
            columns.push((before, Column::of(kind, values)?));
        }
        let mut lengths = Vec::with_capacity(columns.len());
        for (_, column) in &columns {
            lengths.extend(column.len()?);
        }
        let count = lengths.first().copied().unwrap_or(0);
        if lengths.iter().any(|length| *length != count) {
            return Err(PyValueError::new_err("JSON: columns of different lengths"));
        }
        Ok(Self { columns, count, t0_ns, level })
    }

    /// Writes one; `rows` writes what a column of this kind holds.
    fn write(
        &self,
        out: &mut String,
        row: usize,
        rows: impl Fn(&mut String, usize) -> PyResult<()>,
    ) -> PyResult<()> {
        for (index, (before, column)) in self.columns.iter().enumerate() {
            out.push(if index == 0 { '{' } else { ',' });
            out.push_str(before);
            match column {
                Column::Rows => rows(out, row)?,
                column => column.write(out, row, self.t0_ns)?,
            }
        }
        new_line(out, self.level);
        out.push('}');
        Ok(())
    }
}

fn write_value(out: &mut String, value: &Bound<'_, PyAny>, level: usize, depth: usize) -> PyResult<()> {
    if depth > MOST_LEVELS {
        return Err(PyValueError::new_err("JSON: the value is nested too deep"));
    }
    if value.is_none() {
        out.push_str("null");
    } else if let Ok(text) = value.cast::<PyString>() {
        write_string(out, text)?;
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.push_str(if flag.is_true() { "true" } else { "false" });
    } else if let Ok(number) = value.cast::<PyInt>() {
        write_int(out, number)?;
    } else if let Ok(number) = value.cast::<PyFloat>() {
        write_float(out, number)?;
    } else if let Ok(entries) = value.cast::<PyDict>() {
        write_dict(out, entries, level, depth)?;
    } else if let Ok(entries) = value.cast::<PyList>() {
        write_list(out, entries.iter(), level, depth)?;
    } else if let Ok(entries) = value.cast::<PyTuple>() {
        write_list(out, entries.iter(), level, depth)?;
    } else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("Object of type {kind} is not JSON serializable")));
    }
    Ok(())
}

fn write_dict(out: &mut String, entries: &Bound<'_, PyDict>, level: usize, depth: usize) -> PyResult<()> {
    if entries.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    for (index, (key, value)) in entries.iter().enumerate() {
        out.push(if index == 0 { '{' } else { ',' });
        new_line(out, level + 1);
        write_key(out, &key)?;
        out.push_str(": ");
        write_value(out, &value, level + 1, depth + 1)?;
    }
    new_line(out, level);
    out.push('}');
    Ok(())
}

fn write_list<'py>(
    out: &mut String,
    entries: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    level: usize,
    depth: usize,
) -> PyResult<()> {
    if entries.len() == 0 {
        out.push_str("[]");
        return Ok(());
    }
    for (index, value) in entries.enumerate() {
        out.push(if index == 0 { '[' } else { ',' });
        new_line(out, level + 1);
        write_value(out, &value, level + 1, depth + 1)?;
    }
    new_line(out, level);
    out.push(']');
    Ok(())
}

fn new_line(out: &mut String, level: usize) {
    out.push('\n');
    for _ in 0..level {
        out.push_str("  ");
    }
}

/// Keys that are no strings are written as such, as Python does.
fn write_key(out: &mut String, key: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(text) = key.cast::<PyString>() {
        return write_string(out, text);
    }
    if !(key.is_none() || key.is_instance_of::<PyInt>() || key.is_instance_of::<PyFloat>()) {
        let kind = key.get_type().name()?;
        return Err(PyTypeError::new_err(format!("keys must be str, int, float, bool or None, not {kind}")));
    }
    out.push('"');
    write_value(out, key, 0, 0)?;
    out.push('"');
    Ok(())
}

/// As `int.__repr__` has it: an enumeration by its number.
fn write_int(out: &mut String, number: &Bound<'_, PyInt>) -> PyResult<()> {
    match number.extract::<i64>() {
        Ok(small) => {
            push_int(out, small);
            Ok(())
        }
        Err(_) => {
            let plain = number.py().get_type::<PyInt>().call_method1("__repr__", (number,))?;
            out.push_str(plain.cast::<PyString>()?.to_str()?);
            Ok(())
        }
    }
}

/// As `float.__repr__` has it: NumPy's doubles are floats, with a repr of their own.
fn write_float(out: &mut String, number: &Bound<'_, PyFloat>) -> PyResult<()> {
    let value = number.value();
    if !value.is_finite() {
        return Err(PyValueError::new_err("Out of range float values are not JSON compliant"));
    }
    push_float(out, value);
    Ok(())
}

/// A lone surrogate is escaped as it is.
fn write_string(out: &mut String, text: &Bound<'_, PyString>) -> PyResult<()> {
    if let Ok(plain) = text.to_str() {
        push_string(out, plain);
        return Ok(());
    }
    let escaped = text.py().import("json.encoder")?.getattr("encode_basestring_ascii")?.call1((text,))?;
    out.push_str(escaped.cast::<PyString>()?.to_str()?);
    Ok(())
}

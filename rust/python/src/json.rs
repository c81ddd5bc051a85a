//! JSON as Python's `json.dumps(value, indent=2, allow_nan=False)` writes it, some twenty times as fast: with an
//! indent the standard library has no encoder in C.

use multitracer_core::json::{push_float, push_int, push_string};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper values are refused: no result is, and the stack is finite.
const MOST_LEVELS: usize = 200;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(json_text, m)?)?;
    Ok(())
}

/// `value` as JSON; the lines after the first are indented by `level` times two blanks more.
#[pyfunction]
fn json_text(value: &Bound<'_, PyAny>, level: usize) -> PyResult<String> {
    let mut out = String::new();
    write_value(&mut out, value, level, 0)?;
    Ok(out)
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

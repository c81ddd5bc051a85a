//! What a scanner found, in the same form for every format: columns by table, facts, damage.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::flows::FlowTable;
use crate::issue::Issues;
use crate::tracker::{Columns as Segments, Connection};

/// Values of one column, by row.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Column {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Column::I8(values) => values.len(),
            Column::I16(values) => values.len(),
            Column::I32(values) => values.len(),
            Column::I64(values) => values.len(),
            Column::F64(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of a table by name, in its order.
pub type Columns = Vec<(Cow<'static, str>, Column)>;

/// A fact about a file.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Count(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    ByName(Vec<(String, Value)>),
    Column(Column),
}

/// What was seen at one host or end of the network, tracked as a capture there would be.
#[derive(Debug)]
pub struct End {
    /// Facts about it.
    pub about: Vec<(&'static str, Value)>,
    /// Its connections.
    pub connections: Vec<Connection>,
    /// Their segments.
    pub segments: Segments,
}

impl End {
    /// Of which nothing else is known.
    pub(crate) fn new(connections: Vec<Connection>, segments: Segments) -> Self {
        End { about: Vec::new(), connections, segments }
    }

    /// With one more fact.
    pub(crate) fn about(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.about.push((name, value.into()));
        self
    }
}

/// By the segments: the connections follow from them.
impl PartialEq for End {
    fn eq(&self, other: &Self) -> bool {
        self.about == other.about && self.segments == other.segments
    }
}

/// What a scanner found in a file.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// Columns by table.
    pub tables: Vec<(&'static str, Columns)>,
    /// Facts by name.
    pub facts: Vec<(&'static str, Value)>,
    /// By host or end, of a simulation that says what each saw of TCP.
    pub ends: Option<Vec<End>>,
    /// Damage.
    pub issues: Issues,
}

impl Found {
    /// Nothing yet, of a file with so many lines whose clock ticks in such steps.
    pub(crate) fn new(lines: u64, resolution_ns: i64, issues: Issues) -> Self {
        Self::bare(issues).fact("lines", lines).fact("resolution_ns", resolution_ns)
    }

    /// Nothing yet, of a file without lines.
    pub(crate) fn bare(issues: Issues) -> Self {
        Found { tables: Vec::new(), facts: Vec::new(), ends: None, issues }
    }

    /// With one more table.
    pub(crate) fn table(mut self, name: &'static str, columns: Columns) -> Self {
        self.tables.push((name, columns));
        self
    }

    /// With one more fact.
    pub(crate) fn fact(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// With what hosts or ends saw.
    pub(crate) fn ends(mut self, ends: impl IntoIterator<Item = End>) -> Self {
        self.ends = Some(ends.into_iter().collect());
        self
    }
}

/// The named fields of `$rows` as the columns of a table.
macro_rules! columns {
    ($rows:expr; $($name:ident),+ $(,)?) => {
        vec![$((std::borrow::Cow::Borrowed(stringify!($name)), $crate::text::found::Column::from($rows.$name))),+]
    };
}
pub(crate) use columns;

macro_rules! from {
    ($($type:ty => $value:expr;)+) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                let made: fn($type) -> Value = $value;
                made(value)
            }
        })+
    };
}

from! {
    bool => Value::Bool;
    i64 => Value::Int;
    u64 => Value::Count;
    u32 => |value| Value::Count(value.into());
    u16 => |value| Value::Count(value.into());
    usize => |value| Value::Count(value as u64);
    f64 => Value::Float;
    String => Value::Text;
    &str => |value| Value::Text(value.to_owned());
    Column => Value::Column;
    &FlowTable => |table| table
        .flows()
        .iter()
        .map(|(local, remote)| {
            (local.0.to_ip().to_string(), local.1, remote.0.to_ip().to_string(), remote.1)
        })
        .collect::<Vec<_>>()
        .into();
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::None, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Vec::from(values).into()
    }
}

impl<K: Into<String>, T: Into<Value>> From<BTreeMap<K, T>> for Value {
    fn from(values: BTreeMap<K, T>) -> Self {
        Value::ByName(values.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

macro_rules! tuples {
    ($(($($name:ident),+);)+) => {
        $(impl<$($name: Into<Value>),+> From<($($name,)+)> for Value {
            #[allow(non_snake_case)]
            fn from(($($name,)+): ($($name,)+)) -> Self {
                Value::Tuple(vec![$($name.into()),+])
            }
        })+
    };
}

tuples! {
    (A, B);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
}

macro_rules! column {
    ($($type:ty => $kind:ident;)+) => {
        $(impl From<Vec<$type>> for Column {
            fn from(values: Vec<$type>) -> Self {
                Column::$kind(values)
            }
        })+
    };
}

column! {
    i8 => I8;
    i16 => I16;
    i32 => I32;
    i64 => I64;
    f64 => F64;
}

//! JSON as Python's `json.dumps(value, indent=2, allow_nan=False)` lays it out: numbers and strings to the last
//! character, and the entries of `connections` straight from what the tracker knows.

mod connection;
mod entries;
mod line;
mod number;
mod path;
mod string;

pub use connection::{EntryContext, connection_entries, push_connection};
pub use entries::Entries;
pub use number::{push_float, push_int, push_rounded};
pub use path::path_object;
pub use string::push_string;

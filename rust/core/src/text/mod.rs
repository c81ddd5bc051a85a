//! Line-oriented logs to columns.

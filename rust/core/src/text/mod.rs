//! Line-oriented logs to columns.
//!
//! Each scanner streams over [`lines::Lines`] and returns one struct of column vectors, with the damage that it met
//! as [`crate::issue::Issues`]. A line that cannot be read costs an issue, never the file.

mod fault;
pub mod flows;
pub mod ftrace;
pub mod input;
pub mod lines;
mod number;
pub mod rlpdump;
pub mod ss;
mod ssline;
mod stamp;
mod tracepoint;
mod words;

#[cfg(test)]
mod properties;

//! Files that go on where another ended.

use std::path::PathBuf;

use super::reading::Reading;
use crate::capture::ReadError;
use crate::rlc::bearers::Key;
use crate::rlc::framing::Mode;
use crate::rlc::track::Kind;

/// Numbers that a sender may be further on, or behind, when a file goes on where another ended.
const NEAR: u32 = 64;

/// The order in which files continue each other: each begins when the one before has ended, and bearers of a
/// terminal go on with their numbers. `None` if they do not.
///
/// # Errors
/// See [`ReadError`].
pub fn continuation(files: &[PathBuf]) -> Result<Option<Vec<usize>>, ReadError> {
    let mut outlines = Vec::with_capacity(files.len());
    for path in files {
        let reading = Reading::of(std::slice::from_ref(path))?;
        let mut directions: Vec<(Key, bool, u32, u32)> = Vec::new();
        let mut span: Option<(i64, i64)> = None;
        for key in reading.bearers.likeliest() {
            for row in reading.rows(key) {
                span = Some(span.map_or((row.t_ns, row.t_ns), |(a, b)| (a.min(row.t_ns), b.max(row.t_ns))));
                if row.kind != Kind::Data || key.mode != Mode::Acknowledged {
                    continue;
                }
                match directions
                    .iter_mut()
                    .rev()
                    .find(|direction| (direction.0, direction.1) == (key, row.uplink))
                {
                    Some(direction) => direction.3 = row.sn,
                    None => directions.push((key, row.uplink, row.sn, row.sn)),
                }
            }
        }
        let Some(span) = span else { return Ok(None) };
        outlines.push((span, directions));
    }
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&at| outlines[at].0.0);
    let goes_on = order.windows(2).all(|pair| {
        let ((a, before), (b, after)) = (&outlines[pair[0]], &outlines[pair[1]]);
        let both: Vec<_> = after
            .iter()
            .filter_map(|direction| {
                before
                    .iter()
                    .find(|one| (one.0, one.1) == (direction.0, direction.1))
                    .map(|one| (one, direction))
            })
            .collect();
        let near = both.iter().all(|(one, direction)| {
            let mask = (1_u32 << direction.0.sn_bits.clamp(1, 18)) - 1;
            let ahead = direction.2.wrapping_sub(one.3) & mask;
            ahead.min(mask + 1 - ahead) <= NEAR
        });
        // All that begins with 0 is another run.
        a.1 <= b.0 && !both.is_empty() && near && both.iter().any(|(_, direction)| direction.2 != 0)
    });
    Ok(goes_on.then_some(order))
}

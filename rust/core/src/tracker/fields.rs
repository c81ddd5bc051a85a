//! One walk over the fields of what is stored compactly: it writes them as numbers and reads them back, so that both ways
//! cannot differ.

/// Writes numbers, or reads them back in the same order.
pub(super) trait Walk {
    /// Whether it reads.
    const READS: bool;

    /// The next number.
    fn number(&mut self, value: &mut i64);

    /// The next number, which is a time.
    fn time(&mut self, value: &mut i64);

    /// The time that all later ones are relative to.
    fn origin(&mut self, value: &mut i64);
}

/// What a walk goes over.
pub(super) trait Fields {
    /// Goes over the fields.
    fn walk<W: Walk>(&mut self, walk: &mut W);
}

/// Goes over several in turn.
macro_rules! walk_over {
    ($walk:ident: $($field:expr),+ $(,)?) => { $( $crate::tracker::fields::Fields::walk($field, $walk); )+ };
}
pub(super) use walk_over;

impl Fields for i64 {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        walk.number(self);
    }
}

macro_rules! whole_numbers {
    ($($kind:ty),+) => { $(
        impl Fields for $kind {
            #[inline(always)]
            fn walk<W: Walk>(&mut self, walk: &mut W) {
                let mut value = *self as i64;
                walk.number(&mut value);
                *self = value as $kind;
            }
        }
    )+ };
}
whole_numbers!(u64, u32, u16, u8);

impl Fields for bool {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut value = i64::from(*self);
        walk.number(&mut value);
        *self = value != 0;
    }
}

/// Answers, in one number.
#[inline(always)]
pub(super) fn walk_answers<W: Walk, const COUNT: usize>(walk: &mut W, mut answers: [&mut bool; COUNT]) {
    let mut bits = answers.iter().rev().fold(0, |bits: i64, answer| 2 * bits + i64::from(**answer));
    walk.number(&mut bits);
    for (place, answer) in answers.iter_mut().enumerate() {
        **answer = bits >> place & 1 != 0;
    }
}

impl<T: Fields + Default> Fields for Option<T> {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut present = self.is_some();
        present.walk(walk);
        if present {
            self.get_or_insert_default().walk(walk);
        } else if W::READS {
            *self = None;
        }
    }
}

impl<T: Fields> Fields for Box<T> {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        (**self).walk(walk);
    }
}

impl<A: Fields, B: Fields> Fields for (A, B) {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        walk_over!(walk: &mut self.0, &mut self.1);
    }
}

impl<T: Fields, const N: usize> Fields for [T; N] {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        self.iter_mut().for_each(|item| item.walk(walk));
    }
}

/// A number that is a time.
pub(super) struct Time<'a>(pub(super) &'a mut i64);

impl Fields for Time<'_> {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        walk.time(self.0);
    }
}

/// The same, if there is one.
pub(super) struct MaybeTime<'a>(pub(super) &'a mut Option<i64>);

impl Fields for MaybeTime<'_> {
    #[inline(always)]
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut present = self.0.is_some();
        present.walk(walk);
        if present {
            walk.time(self.0.get_or_insert_default());
        } else if W::READS {
            *self.0 = None;
        }
    }
}

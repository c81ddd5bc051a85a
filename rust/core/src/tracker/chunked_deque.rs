//! A sorted sequence that is cheap at its ends and not dear in its middle: one deque while it is short, chunks of
//! bounded length when it is not, so that an insertion never moves more than a chunk.

use super::fields::{Fields, Walk};
use super::queue::Queue;

/// Items in a chunk at most.
const CHUNK: usize = 512;
/// Items that are looked at one after the other before all are searched.
const NEXT: usize = 2;
/// Items for which room is kept where none are left.
const FEW: usize = 32;

/// Where an item is; void once anything is inserted or removed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    chunk: usize,
    offset: usize,
}

impl Place {
    /// Of the first item.
    pub const FIRST: Place = Place { chunk: 0, offset: 0 };
}

/// Items in order. No chunk of `rest` is empty, nor is `head` unless all is.
#[derive(Debug, Clone)]
pub struct ChunkedDeque<T> {
    head: Queue<T>,
    rest: Vec<Queue<T>>,
    in_rest: usize,
}

impl<T> Default for ChunkedDeque<T> {
    fn default() -> Self {
        ChunkedDeque { head: Queue::default(), rest: Vec::new(), in_rest: 0 }
    }
}

impl<T: Copy> ChunkedDeque<T> {
    /// Remove all, and keep the room for a few.
    pub fn empty(&mut self) {
        self.head.empty(FEW);
        (self.rest, self.in_rest) = (Vec::new(), 0);
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.head.len() + self.in_rest
    }

    /// No items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// The last item.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.rest.last().unwrap_or(&self.head).back()
    }

    /// The last item, to change.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.rest.last_mut().unwrap_or(&mut self.head).back_mut()
    }

    /// The first item.
    pub fn front(&self) -> Option<&T> {
        self.head.front()
    }

    /// The first item, to change.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.head.front_mut()
    }

    /// Append.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        if self.rest.is_empty() && self.head.len() < CHUNK {
            self.head.push_back(item);
        } else {
            self.push_rest(item);
        }
    }

    /// Append what is filled in its place.
    #[inline(always)]
    pub fn push_blank(&mut self, blank: T) -> Option<&mut T> {
        if self.rest.is_empty() && self.head.len() < CHUNK {
            self.head.push_back(blank);
            self.head.back_mut()
        } else {
            self.push_rest(blank);
            self.back_mut()
        }
    }

    #[inline(never)]
    fn push_rest(&mut self, item: T) {
        self.in_rest += 1;
        match self.rest.last_mut() {
            Some(last) if last.len() < CHUNK => last.push_back(item),
            _ => {
                let mut chunk = Queue::with_capacity(CHUNK);
                chunk.push_back(item);
                self.rest.push(chunk);
            }
        }
    }

    /// Remove the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = self.head.pop_front();
        if self.head.is_empty() && !self.rest.is_empty() {
            self.head = self.rest.remove(0);
            self.in_rest -= self.head.len();
        }
        item
    }

    /// The first place whose item does not fulfil `before`, which holds for a first part of the items.
    #[inline]
    pub fn find(&self, before: impl Fn(&T) -> bool) -> Place {
        if self.rest.is_empty() || self.head.back().is_some_and(|last| !before(last)) {
            return Place { chunk: 0, offset: self.head.as_slice().partition_point(before) };
        }
        let passed = self.rest.partition_point(|chunk| chunk.back().is_some_and(&before));
        let offset = self.rest.get(passed).map_or(0, |chunk| chunk.as_slice().partition_point(before));
        Place { chunk: passed + 1, offset }
    }

    /// The first place behind one whose item does not fulfil `before`, which holds for a first part of the items: most often
    /// it is one of the next.
    #[inline(always)]
    pub fn find_behind(&self, at: Place, before: impl Fn(&T) -> bool) -> Place {
        let mut next = self.following(at);
        for _ in 0..NEXT {
            match self.get(next) {
                Some(item) if before(item) => next = self.following(next),
                _ => return next,
            }
        }
        self.find(before)
    }

    /// The place after one.
    #[inline]
    pub fn following(&self, at: Place) -> Place {
        self.settled(Place { offset: at.offset + 1, ..at })
    }

    /// The place before one, unless that is the first.
    #[inline]
    pub fn preceding(&self, at: Place) -> Option<Place> {
        if at.offset > 0 {
            return Some(Place { offset: at.offset - 1, ..at });
        }
        let chunk = at.chunk.checked_sub(1)?;
        Some(Place { chunk, offset: self.chunk(chunk)?.len().checked_sub(1)? })
    }

    /// The items from a place on.
    #[inline]
    pub fn from(&self, at: Place) -> impl Iterator<Item = &T> {
        let mut next = at;
        std::iter::from_fn(move || {
            let item = self.get(next)?;
            next = self.following(next);
            Some(item)
        })
    }

    /// The item at a place.
    #[inline]
    pub fn get(&self, at: Place) -> Option<&T> {
        self.chunk(at.chunk)?.get(at.offset)
    }

    /// The item at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, at: Place) -> Option<&mut T> {
        match at.chunk {
            0 => self.head.get_mut(at.offset),
            n => self.rest.get_mut(n - 1)?.get_mut(at.offset),
        }
    }

    /// Insert before what is at a place; where it is now.
    pub fn insert(&mut self, mut at: Place, item: T) -> Place {
        if self.chunk(at.chunk).is_none() {
            self.push_back(item);
            let chunk = self.rest.len();
            return Place { chunk, offset: self.rest.last().unwrap_or(&self.head).len() - 1 };
        }
        let chunk = if at.chunk == 0 { &mut self.head } else { &mut self.rest[at.chunk - 1] };
        if chunk.len() < CHUNK {
            chunk.insert(at.offset, item);
            self.in_rest += usize::from(at.chunk > 0);
            return at;
        }
        let upper = chunk.split_off(CHUNK / 2);
        if at.chunk == 0 {
            self.in_rest += upper.len();
        }
        self.rest.insert(at.chunk, upper);
        if at.offset > CHUNK / 2 {
            at = Place { chunk: at.chunk + 1, offset: at.offset - CHUNK / 2 };
        }
        self.insert(at, item)
    }

    /// Remove the item at a place; where what followed it is now.
    pub fn remove(&mut self, at: Place) -> Place {
        if at.chunk == 0 {
            self.head.remove(at.offset);
            if self.head.is_empty() && !self.rest.is_empty() {
                self.head = self.rest.remove(0);
                self.in_rest -= self.head.len();
            }
        } else if let Some(chunk) = self.rest.get_mut(at.chunk - 1)
            && chunk.remove(at.offset)
        {
            self.in_rest -= 1;
            if self.rest[at.chunk - 1].is_empty() {
                self.rest.remove(at.chunk - 1);
            }
        }
        self.settled(at)
    }

    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.head.as_slice().iter().chain(self.rest.iter().flat_map(Queue::as_slice))
    }

    /// Something of each item, added up.
    #[inline(always)]
    pub fn sum(&self, of: impl Fn(&T) -> u32) -> u32 {
        let part = |queue: &Queue<T>| queue.as_slice().iter().fold(0, |sum, item| sum + of(item));
        self.rest.iter().fold(part(&self.head), |sum, queue| sum + part(queue))
    }

    /// All items, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.head.as_mut_slice().iter_mut().chain(self.rest.iter_mut().flat_map(Queue::as_mut_slice))
    }

    #[inline]
    fn chunk(&self, index: usize) -> Option<&Queue<T>> {
        if index == 0 { Some(&self.head) } else { self.rest.get(index - 1) }
    }

    /// Behind the last of a chunk is the first of the next.
    #[inline]
    fn settled(&self, at: Place) -> Place {
        match self.chunk(at.chunk) {
            Some(chunk) if at.offset >= chunk.len() && at.chunk < self.rest.len() => {
                Place { chunk: at.chunk + 1, offset: 0 }
            }
            _ => at,
        }
    }
}

impl<T: Fields + Default + Copy> Fields for ChunkedDeque<T> {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut count = self.len() as u64;
        count.walk(walk);
        if W::READS {
            self.empty();
            for _ in 0..count {
                let mut item = T::default();
                item.walk(walk);
                self.push_back(item);
            }
        } else {
            self.iter_mut().for_each(|item| item.walk(walk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is done at whatever places, the items are those of a plain vector.
        #[test]
        fn is_a_sorted_vector(keys in prop::collection::vec((0u32..4000, 0u8..10), 0..6000)) {
            let (mut runs, mut plain) = (ChunkedDeque::default(), Vec::new());
            for (key, action) in keys {
                let place = runs.find(|&other| other < key);
                let index = plain.partition_point(|&other| other < key);
                prop_assert_eq!(runs.get(place), plain.get(index));
                prop_assert!(runs.from(place).eq(&plain[index..]));
                let before = runs.preceding(place).and_then(|place| runs.get(place));
                prop_assert_eq!(before, index.checked_sub(1).map(|index| &plain[index]));
                if let Some(least) = index.checked_sub(1).and_then(|before| plain.get(before / 2)) {
                    let behind = runs.find_behind(runs.find(|other| other < least), |&other| other < key);
                    prop_assert_eq!(runs.get(behind), plain.get(index));
                }
                match action {
                    0 => prop_assert_eq!(runs.pop_front(), (!plain.is_empty()).then(|| plain.remove(0))),
                    1 if index < plain.len() => {
                        let now = runs.remove(place);
                        plain.remove(index);
                        prop_assert_eq!(runs.get(now), plain.get(index));
                    }
                    2 => {
                        let key = plain.last().copied().unwrap_or(0) + 1;
                        runs.push_back(key);
                        plain.push(key);
                    }
                    _ => {
                        let now = runs.insert(place, key);
                        plain.insert(index, key);
                        prop_assert_eq!(runs.get(now), Some(&key));
                        prop_assert_eq!(runs.get(runs.following(now)), plain.get(index + 1));
                    }
                }
                prop_assert_eq!(runs.len(), plain.len());
                prop_assert_eq!(runs.is_empty(), plain.is_empty());
                prop_assert_eq!(runs.back(), plain.last());
            }
            prop_assert!(runs.iter().eq(plain.iter()));
        }
    }
}

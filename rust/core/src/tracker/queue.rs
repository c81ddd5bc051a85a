//! A sequence in one piece that is cheap at both ends: what leaves at the front stays where it is until the room is needed.

/// Items in order.
#[derive(Clone)]
pub(super) struct Queue<T> {
    /// What has left, and behind it what is there; none at all where nothing is there.
    items: Vec<T>,
    /// How many have left.
    left: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { items: Vec::new(), left: 0 }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Queue<T> {
    /// What is there: what has left is nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.items.get(self.left..).unwrap_or_default().fmt(f)
    }
}

impl<T: Copy> Queue<T> {
    /// With room for so many.
    pub fn with_capacity(room: usize) -> Self {
        Queue { items: Vec::with_capacity(room), left: 0 }
    }

    /// The items.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        self.items.get(self.left..).unwrap_or_default()
    }

    /// The items, to change.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.items.get_mut(self.left..).unwrap_or_default()
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.items.len() - self.left
    }

    /// None.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.items.get(self.left)
    }

    /// The first, to change.
    #[inline(always)]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.items.get_mut(self.left)
    }

    /// The last.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        self.items.last()
    }

    /// The last, to change.
    #[inline(always)]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.items.last_mut()
    }

    /// One by its place.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.items.get(self.left + at)
    }

    /// One by its place, to change.
    #[inline(always)]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.items.get_mut(self.left + at)
    }

    /// Append.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Remove the first.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = *self.items.get(self.left)?;
        self.left += 1;
        self.settle();
        Some(item)
    }

    /// Insert before what is at a place.
    pub fn insert(&mut self, at: usize, item: T) {
        if self.left > 0 && at <= self.len() / 2 {
            self.items.copy_within(self.left..self.left + at, self.left - 1);
            self.left -= 1;
            self.items[self.left + at] = item;
        } else {
            if self.items.len() == self.items.capacity() {
                self.make_room();
            }
            self.items.insert(self.left + at, item);
        }
    }

    /// Remove what is at a place, if anything is; whether it was.
    pub fn remove(&mut self, at: usize) -> bool {
        if at >= self.len() {
            return false;
        }
        if at < self.len() / 2 {
            self.items.copy_within(self.left..self.left + at, self.left + 1);
            self.left += 1;
        } else {
            self.items.remove(self.left + at);
        }
        self.settle();
        true
    }

    /// Take out what is from a place on.
    pub fn split_off(&mut self, at: usize) -> Self {
        let upper = self.items.split_off(self.left + at);
        self.settle();
        Queue { items: upper, left: 0 }
    }

    /// Remove all, and keep room for so many at most.
    pub fn empty(&mut self, room: usize) {
        self.items.clear();
        self.items.shrink_to(room);
        self.left = 0;
    }

    /// Where nothing is left, the room is used from its beginning again: it is still in the cache.
    #[inline(always)]
    fn settle(&mut self) {
        if self.left == self.items.len() {
            self.items.clear();
            self.left = 0;
        }
    }

    /// Half of the room or more is taken by what has left: move what is there to the beginning.
    #[cold]
    fn make_room(&mut self) {
        if 2 * self.left >= self.items.len() {
            self.items.drain(..self.left);
            self.left = 0;
        }
    }
}

//! The stores of several trackers, as one.

use super::{ConnectionStore, NOBODY, Overview, Place};

/// What is left of a store while its connections are numbered anew.
struct Part {
    places: std::vec::IntoIter<Place>,
    /// Where those begin that it held ready, and how many are numbered.
    offset: u32,
    numbered: usize,
    overview: Overview,
}

impl ConnectionStore {
    /// One store of all connections of some that pack; `order` says whose next connection is the next of all.
    pub(in crate::tracker) fn joined(
        stores: impl Iterator<Item = Self>,
        order: impl Iterator<Item = usize>,
    ) -> Self {
        let mut all = ConnectionStore { limit: Some(0), ..ConnectionStore::default() };
        let mut parts: Vec<Part> = stores.map(|store| all.take_in(store)).collect();
        for part in order {
            let Some(part) = parts.get_mut(part) else { continue };
            let Some(place) = part.places.next() else { continue };
            let number = all.places.len();
            all.places.push(match place {
                Place::Ready(at) => {
                    all.numbers[(at + part.offset) as usize] = number as u32;
                    Place::Ready(at + part.offset)
                }
                packed @ Place::Packed(..) => packed,
            });
            if let Some((sent, index)) = part.overview.largest
                && index == part.numbered
            {
                all.overview.rank(sent, number);
            }
            part.numbered += 1;
        }
        all
    }

    /// Take over what another store holds ready; the rest of it.
    fn take_in(&mut self, store: ConnectionStore) -> Part {
        let offset = self.ready.len() as u32;
        self.ready.extend(store.ready);
        self.numbers.resize(self.ready.len(), NOBODY);
        self.vacant.extend(store.vacant.into_iter().map(|at| at + offset));
        self.limit = self.limit.zip(store.limit).map(|(all, limit)| all + limit);
        self.sums_up |= store.sums_up;
        self.unpacked += store.unpacked;
        let known = [self.overview.first_ns, store.overview.first_ns];
        self.overview.first_ns = known.into_iter().flatten().min();
        Part { places: store.places.into_iter(), offset, numbered: 0, overview: store.overview }
    }
}

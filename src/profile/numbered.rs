//! A map from numbers that were handed out one after another.
//!
//! What is looked up is most often near what was looked up before, so the page of that is kept at
//! hand: a look-up costs an index, not a hash. A page goes with the last thing in it, so that old
//! numbers cost nothing.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// So many numbers share a page.
const PAGE: usize = 64;

/// Things by number.
pub struct Numbered<T> {
    pages: Vec<Page<T>>,
    by_number: HashMap<usize, usize, FixedState>,
    /// The page of the last look-up.
    last: usize,
    len: usize,
}

struct Page<T> {
    number: usize,
    there: usize,
    slots: Box<[Option<T>]>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { pages: Vec::new(), by_number: HashMap::default(), last: 0, len: 0 }
    }
}

impl<T> Numbered<T> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.len
    }

    /// The page that a number is in.
    #[inline]
    fn page(&self, id: usize) -> Option<usize> {
        let number = id / PAGE;
        match self.pages.get(self.last) {
            Some(page) if page.number == number => Some(self.last),
            _ => self.by_number.get(&number).copied(),
        }
    }

    /// The one of that number.
    pub fn get(&self, id: usize) -> Option<&T> {
        self.pages[self.page(id)?].slots[id % PAGE].as_ref()
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: usize) -> Option<&mut T> {
        self.last = self.page(id)?;
        self.pages[self.last].slots[id % PAGE].as_mut()
    }

    /// Puts something in a place, for what was there.
    pub fn insert(&mut self, id: usize, thing: T) {
        let at = self.page(id).unwrap_or_else(|| {
            let slots = (0..PAGE).map(|_| None).collect();
            self.pages.push(Page { number: id / PAGE, there: 0, slots });
            self.by_number.insert(id / PAGE, self.pages.len() - 1);
            self.pages.len() - 1
        });
        let page = &mut self.pages[at];
        if page.slots[id % PAGE].replace(thing).is_none() {
            page.there += 1;
            self.len += 1;
        }
    }

    /// Takes something out.
    pub fn remove(&mut self, id: usize) -> Option<T> {
        let at = self.page(id)?;
        let page = &mut self.pages[at];
        let thing = page.slots[id % PAGE].take()?;
        page.there -= 1;
        self.len -= 1;
        if page.there == 0 {
            self.by_number.remove(&page.number);
            self.pages.swap_remove(at);
            if let Some(moved) = self.pages.get(at) {
                self.by_number.insert(moved.number, at);
            }
        }
        Some(thing)
    }

    /// The numbers that there are.
    pub fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.pages.iter().flat_map(|page| {
            let there = page.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
            there.map(|(at, _)| page.number * PAGE + at)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut own, mut map) = (Numbered::default(), BTreeMap::new());
        let mut random = 7u64;
        for step in 0..20_000usize {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as usize % 700;
            match random >> 20 & 3 {
                0 => {
                    own.insert(id, step);
                    map.insert(id, step);
                }
                1 | 2 => assert_eq!(own.remove(id), map.remove(&id)),
                _ => assert_eq!(own.get_mut(id), map.get_mut(&id)),
            }
            assert_eq!((own.get(id), own.count()), (map.get(&id), map.len()));
        }
        let mut ids: Vec<usize> = own.ids().collect();
        ids.sort_unstable();
        assert_eq!(ids, map.keys().copied().collect::<Vec<_>>());
        assert!(ids.into_iter().all(|id| own.remove(id).is_some()));
        assert!(own.pages.is_empty() && own.by_number.is_empty());
    }
}

//! What keeps a source from running ahead of its reader.
//!
//! A function can make a milliard rows of one. Where they go to a reader as they come, the reader's
//! sink says how much waits for it ([`Pressure::set`]), and whoever makes rows stops while that is
//! much ([`Pressure::is_high`]) and is woken when it has been taken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timely::scheduling::Activator;

/// With more than this many bytes waiting nothing is added.
const HIGH: u64 = 8 << 20;

/// Shared between a dataflow's sink and what feeds it.
#[derive(Clone, Default)]
pub struct Pressure(Rc<State>);

#[derive(Default)]
struct State {
    bytes: Cell<u64>,
    waiting: RefCell<Vec<Activator>>,
}

impl Pressure {
    /// Whether so much waits that nothing should be added.
    pub fn is_high(&self) -> bool {
        self.0.bytes.get() > HIGH
    }

    /// Wakes an operator once that is no longer so.
    pub fn wait(&self, activator: &Activator) {
        self.0.waiting.borrow_mut().push(activator.clone());
    }

    /// Says how many bytes wait for the reader.
    pub fn set(&self, bytes: u64) {
        self.0.bytes.set(bytes);
        if bytes <= HIGH {
            self.0.waiting.borrow_mut().drain(..).for_each(|activator| activator.activate());
        }
    }
}

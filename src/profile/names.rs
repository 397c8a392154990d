//! What operators are called, and what their dataflows are for, as events tell it.
//!
//! Operators have the same numbers on all workers. What has ended is forgotten some snapshots after
//! its end, so that what is kept is what runs.

use std::collections::BTreeMap;
use std::ops::Range;

use super::event::{Event, OperatorId};

/// What is known of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The path of scopes that leads to it, itself at the end.
    pub address: Vec<usize>,
    /// What it is called.
    pub name: String,
}

/// What is known of all that runs.
#[derive(Debug, Default)]
pub struct Names {
    operators: BTreeMap<OperatorId, Named>,
    /// By the first number: behind the last, and the object.
    dataflows: BTreeMap<usize, (usize, u64)>,
    /// What has ended since the newest snapshot, since the one before it, and since that before.
    ended: [Vec<OperatorId>; 3],
    keeps_ended: bool,
}

impl Names {
    /// Takes an event.
    pub(super) fn add(&mut self, event: &Event) {
        match event {
            Event::Operator { id, address, name } => {
                let (address, name) = (address.clone(), name.clone());
                self.operators.insert(*id, Named { address, name });
            }
            Event::Dataflow { first, end, object } => {
                self.dataflows.insert(*first, (*end, *object));
            }
            Event::Ended(id) if !self.keeps_ended => self.ended[0].push(*id),
            _ => {}
        }
    }

    /// What the dataflow of an operator is for.
    pub fn object(&self, operator: OperatorId) -> Option<u64> {
        let (_, (end, object)) = self.dataflows.range(..=operator).next_back()?;
        (operator < *end).then_some(*object)
    }

    /// The operators, by number.
    pub fn operators(&self) -> impl Iterator<Item = (OperatorId, &Named)> {
        self.operators.iter().map(|(id, named)| (*id, named))
    }

    /// Has nothing forgotten that ends.
    pub fn keep_ended(&mut self) {
        self.keeps_ended = true;
    }

    /// Forgets what has ended: an operator, or a dataflow with all of its operators; returns the
    /// numbers of those dataflows. Of what was told before a snapshot is complete some belongs to
    /// the next one.
    pub(super) fn forget_ended(&mut self) -> Vec<Range<usize>> {
        let mut dataflows = Vec::new();
        self.ended.rotate_right(1);
        for id in std::mem::take(&mut self.ended[0]) {
            self.operators.remove(&id);
            if let Some((end, _)) = self.dataflows.remove(&id) {
                let of_dataflow = self.operators.range(id..end.max(id));
                let of_dataflow: Vec<OperatorId> = of_dataflow.map(|(id, _)| *id).collect();
                of_dataflow.iter().for_each(|id| drop(self.operators.remove(id)));
                dataflows.push(id..end);
            }
        }
        dataflows
    }
}

//! FlowLog, in its incremental mode. Its programs are in `programs/`.
//!
//! Triangles are left out: version 0.7 derives fewer of them than all others after some changes.

use crate::Maintained;
use crate::figures::Check;
use crate::graphs::Fact;

#[allow(warnings)] // FlowLog writes it.
mod closure {
    include!(concat!(env!("OUT_DIR"), "/closure.rs"));
}
#[allow(warnings)]
mod reach {
    include!(concat!(env!("OUT_DIR"), "/reach.rs"));
}

/// The workload of that name, if it is written.
pub fn maintain(name: &str) -> Option<Box<dyn Maintained>> {
    Some(match name {
        "closure" => Box::new(closure::IncrementalEngine::new(1)),
        "reach" => Box::new(reach::IncrementalEngine::new(1)),
        _ => return None,
    })
}

/// The rows of a table with two columns that come (1) or go (-1).
fn pairs(changes: &[(Fact, i64)], table: usize, sign: i64) -> Vec<(u32, u32)> {
    let those = changes.iter().filter(|((of, _), diff)| *of == table && *diff == sign);
    those.map(|((_, [x, y, _]), _)| (*x, *y)).collect()
}

impl Maintained for closure::IncrementalEngine {
    fn commit(&mut self, changes: &[(Fact, i64)], check: &mut Check) {
        self.begin();
        self.insert_edge(pairs(changes, 0, 1));
        self.remove_edge(pairs(changes, 0, -1));
        for ((x, y), diff) in self.commit().path {
            check.add(&[x, y], diff.into());
        }
    }
}

impl Maintained for reach::IncrementalEngine {
    fn commit(&mut self, changes: &[(Fact, i64)], check: &mut Check) {
        self.begin();
        self.insert_edge(pairs(changes, 0, 1));
        self.remove_edge(pairs(changes, 0, -1));
        self.insert_root(pairs(changes, 1, 1).into_iter().map(|(x, _)| (x,)).collect());
        for ((x,), diff) in self.commit().reach {
            check.add(&[x], diff.into());
        }
    }
}

//! What a large partition comes to, stretch by stretch.
//!
//! A partition's sorted rows are cut into blocks of some [`BLOCK`] rows, and blocks are held in
//! nodes: a tree of two levels, in which every node knows what its rows come to
//! ([`Summary`]). So what precedes a row is known without reading it, and where to begin reading so
//! as to see enough in front of it is found as well. Blocks are bounds between values, not lists of
//! rows: a value belongs to the last block that begins at it or before it.

use crate::expr::window::call::WindowCall;
use crate::expr::window::reach::Extent;
use crate::expr::window::running::Summary;
use crate::repr::Row;

/// How many rows a block has when it is made. A few in tests, so that small random partitions have
/// many blocks.
pub const BLOCK: usize = if cfg!(test) { 2 } else { 128 };
/// How many blocks a node has at most.
const NODE: usize = if cfg!(test) { 3 } else { 128 };

/// A stretch of rows.
#[derive(Clone, Debug)]
pub struct Block {
    /// No value of the block is less.
    pub from: Row,
    /// The order's first column of the row that the block was made to begin with, packed.
    pub order: Row,
    /// What the rows come to.
    pub summary: Summary,
}

/// The blocks of a partition.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    blocks: Vec<Block>,
    summary: Summary,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    node: usize,
    block: usize,
}

impl Node {
    fn new(calls: &[WindowCall], blocks: Vec<Block>) -> Node {
        let mut summary = Summary::default();
        blocks.iter().for_each(|block| summary.append(calls, &block.summary));
        Node { blocks, summary }
    }
}

impl Blocks {
    /// These blocks, the first of which begins with the partition.
    pub fn new(calls: &[WindowCall], blocks: Vec<Block>) -> Blocks {
        let mut made = Blocks::default();
        made.put(calls, 0..0, blocks);
        made
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.nodes.iter().map(|node| node.summary.rows).sum()
    }

    /// Puts blocks, cut into nodes, in the place of some nodes.
    fn put(&mut self, calls: &[WindowCall], nodes: std::ops::Range<usize>, blocks: Vec<Block>) {
        let count = blocks.len().div_ceil(NODE).max(1);
        let size = blocks.len().div_ceil(count).max(1);
        let mut blocks = blocks.into_iter().peekable();
        let mut made = Vec::with_capacity(count);
        while blocks.peek().is_some() {
            made.push(Node::new(calls, blocks.by_ref().take(size).collect()));
        }
        self.nodes.splice(nodes, made);
    }

    /// The block at a place.
    pub fn block(&self, at: Place) -> &Block {
        &self.nodes[at.node].blocks[at.block]
    }

    /// The block that a value belongs to.
    pub fn find(&self, value: &[u8]) -> Place {
        let begins = |node: &Node| node.blocks[0].from.bytes() <= value;
        let node = self.nodes.partition_point(begins).saturating_sub(1);
        let begins = |block: &Block| block.from.bytes() <= value;
        let block = self.nodes[node].blocks.partition_point(begins).saturating_sub(1);
        Place { node, block }
    }

    /// The block before.
    pub fn before(&self, at: Place) -> Option<Place> {
        match (at.block, at.node) {
            (0, 0) => None,
            (0, node) => {
                Some(Place { node: node - 1, block: self.nodes[node - 1].blocks.len() - 1 })
            }
            (block, node) => Some(Place { node, block: block - 1 }),
        }
    }

    /// The block behind.
    pub fn behind(&self, at: Place) -> Option<Place> {
        if at.block + 1 < self.nodes[at.node].blocks.len() {
            return Some(Place { block: at.block + 1, ..at });
        }
        (at.node + 1 < self.nodes.len()).then_some(Place { node: at.node + 1, block: 0 })
    }

    /// The last block.
    pub fn last(&self) -> Place {
        let node = self.nodes.len() - 1;
        Place { node, block: self.nodes[node].blocks.len() - 1 }
    }

    /// The first block such that so much lies between its begin and that of another.
    pub fn back(&self, mut at: Place, extent: Extent) -> Place {
        let mut seen = Extent::default();
        while seen.rows < extent.rows || seen.groups < extent.groups {
            let Some(before) = self.before(at) else { break };
            at = before;
            seen.rows += self.block(at).summary.rows;
            seen.groups += self.block(at).summary.groups;
        }
        at
    }

    /// The last block such that so much lies between its end and that of another.
    pub fn ahead(&self, mut at: Place, extent: Extent) -> Place {
        let mut seen = Extent::default();
        while seen.rows < extent.rows || seen.groups < extent.groups {
            let Some(behind) = self.behind(at) else { break };
            at = behind;
            seen.rows += self.block(at).summary.rows;
            seen.groups += self.block(at).summary.groups;
        }
        at
    }

    /// What comes before a block.
    pub fn preceding(&self, calls: &[WindowCall], at: Place) -> Summary {
        let mut summary = Summary::default();
        self.nodes[..at.node].iter().for_each(|node| summary.append(calls, &node.summary));
        let blocks = &self.nodes[at.node].blocks[..at.block];
        blocks.iter().for_each(|block| summary.append(calls, &block.summary));
        summary
    }

    /// What the blocks from one to another come to.
    pub fn sum(&self, calls: &[WindowCall], (mut at, last): (Place, Place)) -> Summary {
        let mut summary = self.block(at).summary.clone();
        while at < last {
            at = self.behind(at).expect("the last block is not before the first");
            summary.append(calls, &self.block(at).summary);
        }
        summary
    }

    /// Puts others in the place of the blocks from one to another. Together they begin where those
    /// began.
    pub fn replace(&mut self, calls: &[WindowCall], (at, last): (Place, Place), new: Vec<Block>) {
        if at.node == last.node && new.len() == last.block + 1 - at.block {
            self.nodes[at.node].blocks[at.block..=last.block].clone_from_slice(&new);
            let blocks = std::mem::take(&mut self.nodes[at.node].blocks);
            self.nodes[at.node] = Node::new(calls, blocks);
            return;
        }
        let mut all = self.nodes[at.node].blocks[..at.block].to_vec();
        all.extend(new);
        all.extend_from_slice(&self.nodes[last.node].blocks[last.block + 1..]);
        self.put(calls, at.node..last.node + 1, all);
    }
}

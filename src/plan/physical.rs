//! The physical plan: what a worker builds, operator by operator.
//!
//! A [`Dataflow`] is closed: workers need nothing else to render it, and cannot fail to. It reads
//! arrangements of relations (`imports`), builds `root`, and either keeps the result as
//! arrangements or hands it to a reader (`sink`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::expr::aggregate::Aggregate;
use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::plan::relation::{ColumnOrder, RoundLimit};
use crate::repr::key::KeyMode;
use crate::repr::settings::FormatSettings;
use crate::repr::{Diff, GlobalId, Row, ScalarType, Timestamp};

/// How a relation's rows are laid out in an arrangement.
///
/// A row `r` with columns of `types` is stored under the key encoding of `key` (expressions over
/// `r`) with the value encoding of the columns `value`. Columns whose key encoding can be read
/// back are left out of the value: `columns` tells for each column of the relation where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arrangement {
    /// The relation's column types.
    pub types: Vec<ScalarType>,
    /// The key, over the relation's columns.
    pub key: Vec<Expr>,
    /// The types of the key.
    pub key_types: Vec<ScalarType>,
    /// How the key is encoded.
    pub mode: KeyMode,
    /// The relation's columns that the value holds, ascending.
    pub value: Vec<usize>,
    /// Where each column of the relation is found.
    pub columns: Vec<Source>,
}

/// Where a column of an arranged relation is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The key's part of that position.
    Key(usize),
    /// The value's part of that position.
    Value(usize),
}

/// Names an arrangement: the relation, and which of its arrangements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArrangementId {
    /// The table or the maintained view.
    pub relation: GlobalId,
    /// The object that made the arrangement: the relation itself, or an index on it.
    pub index: GlobalId,
}

/// Which keys a peek reads. Keys are in the arrangement's key encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bounds {
    /// All.
    All,
    /// These keys, ascending.
    Keys(Arc<Vec<Row>>),
    /// From `lo` on, up to but not including `hi`.
    Range {
        /// The least key.
        lo: Option<Row>,
        /// Just above the greatest.
        hi: Option<Row>,
    },
}

/// An arrangement that a dataflow reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Which.
    pub id: ArrangementId,
    /// Its layout.
    pub layout: Arrangement,
}

/// A dataflow to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataflow {
    /// Its name: the object it maintains, or a transient id.
    pub id: GlobalId,
    /// What it reads; [`Node::Import`] counts here.
    pub imports: Vec<Import>,
    /// Nodes in dependency order; a node refers to earlier ones by position.
    pub nodes: Vec<Node>,
    /// What becomes of the last node.
    pub sink: Sink,
    /// The time from which the result is right.
    pub as_of: Timestamp,
    /// What its expressions see of a session.
    pub settings: FormatSettings,
}

impl Dataflow {
    /// Whether the result changes as time goes on, though what it reads does not.
    pub fn reads_clock(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Temporal { .. }))
    }

    /// The time from which nothing of the result is wanted.
    pub fn until(&self) -> Option<Timestamp> {
        match self.sink {
            Sink::Peek { .. } => Some(self.as_of.saturating_add(1)),
            Sink::Subscribe { up_to, .. } => up_to,
            Sink::Arrange(_) => None,
        }
    }
}

/// What becomes of a dataflow's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sink {
    /// It is kept, arranged as said.
    Arrange(Arrangement),
    /// Its rows (value encoding) and their changes go to a reader.
    Subscribe {
        /// Changes at or above this are not sent, and the stream ends there.
        up_to: Option<Timestamp>,
        /// Whether what was there at `as_of` is sent.
        snapshot: bool,
        /// Bytes that may wait for the reader.
        buffer_limit: u64,
    },
    /// Its rows at `as_of` go to a reader, once; the dataflow then ends.
    Peek {
        /// Bytes that may wait for the reader on one worker.
        buffer_limit: u64,
    },
}

/// Rows that look for others in an arrangement, at the time at which they come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// A collection.
    pub input: NodeId,
    /// How the collection's rows are keyed: as in an arrangement of them, which is not made.
    pub layout: Arrangement,
    /// An arranged node, with equal key types and mode.
    pub right: NodeId,
    /// Whether changes of the arrangement at the very time of a row are not seen.
    pub before: bool,
}

/// The position of an earlier node.
pub type NodeId = usize;

/// One operator. Unless said otherwise rows are in value encoding of the node's types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Node {
    /// Rows, or an error in their place.
    Constant {
        /// The rows.
        rows: Result<Vec<(Row, Diff)>, EvalError>,
    },
    /// An imported arrangement, as it is.
    Import {
        /// Position in [`Dataflow::imports`].
        import: usize,
    },
    /// Maps, filters and projects. The input may be arranged: then its columns are decoded from
    /// key and value.
    Mfp {
        /// The input.
        input: NodeId,
        /// The input's column types.
        types: Vec<ScalarType>,
        /// What to do.
        mfp: Mfp,
    },
    /// The rows for which predicates that read the clock are true, from when they are until when.
    Temporal {
        /// A collection.
        input: NodeId,
        /// Its column types.
        types: Vec<ScalarType>,
        /// The predicates, in which [`Expr::Now`] stands as [`crate::expr::temporal`] wants it.
        predicates: Vec<Expr>,
    },
    /// Each row with each row that a function returns for it.
    FlatMap {
        /// The input, which may be arranged.
        input: NodeId,
        /// The input's column types.
        types: Vec<ScalarType>,
        /// The function, whose columns come behind the input's.
        func: TableFunc,
        /// Its arguments, over the input's columns.
        args: Vec<Expr>,
    },
    /// Arranges a collection. Rows whose strict key has a NULL are left out.
    Arrange {
        /// A collection.
        input: NodeId,
        /// The layout.
        layout: Arrangement,
    },
    /// Joins two arrangements with equal key types and mode. The columns of the left relation
    /// come first.
    Join {
        /// An arranged node.
        left: NodeId,
        /// An arranged node.
        right: NodeId,
        /// What is done to each joined row; its input is the left relation's columns and then
        /// the right one's.
        mfp: Mfp,
    },
    /// Joins the changes of a collection with what an arrangement holds, and not the other way
    /// round: a part of a join along the paths of its inputs' changes. The columns of the
    /// collection come first.
    HalfJoin {
        /// What is looked up.
        lookup: Lookup,
        /// What is done to each joined row, as in [`Node::Join`].
        mfp: Mfp,
    },
    /// Adds to each row how many rows an arrangement has under its key, at most, and the number of
    /// this option ([`Node::FEWEST_TYPES`]). Behind another such node the two columns are there;
    /// they are replaced where this one has fewer. A row without any match is left out.
    Fewest {
        /// What is looked up.
        lookup: Lookup,
        /// The option; 0 is the first one.
        option: i32,
    },
    /// Groups: the output's columns are the key and then the aggregates.
    Reduce {
        /// A collection.
        input: NodeId,
        /// The input's column types.
        types: Vec<ScalarType>,
        /// The key, over the input's columns; empty: one group.
        key: Vec<Expr>,
        /// The key's types.
        key_types: Vec<ScalarType>,
        /// The aggregates; none: distinct keys.
        aggregates: Vec<Aggregate>,
    },
    /// As in [`crate::plan::relation::Relation::TopK`].
    TopK {
        /// A collection.
        input: NodeId,
        /// Its column types.
        types: Vec<ScalarType>,
        /// Columns that tell groups apart.
        group_key: Vec<usize>,
        /// The order.
        order: Vec<ColumnOrder>,
        /// At most so many.
        limit: Option<u64>,
        /// So many are passed over.
        offset: u64,
        /// Whether the peers of the last row are there as well.
        ties: bool,
        /// Whether the number is added as an int8.
        rank: bool,
    },
    /// As in [`crate::plan::relation::Relation::Window`].
    Window {
        /// A collection.
        input: NodeId,
        /// Its column types.
        types: Vec<ScalarType>,
        /// Columns that tell partitions apart.
        partition: Vec<usize>,
        /// The order.
        order: Vec<ColumnOrder>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// Opposite counts; errors stay.
    Negate {
        /// A collection.
        input: NodeId,
    },
    /// Rows with a positive count.
    Threshold {
        /// A collection.
        input: NodeId,
        /// Its column types.
        types: Vec<ScalarType>,
    },
    /// Variables that begin empty, and are round by round what `nodes` make of them as they were,
    /// until none changes.
    Loop {
        /// Collections that are the same in each round; [`Node::Entered`] counts here.
        inputs: Vec<NodeId>,
        /// Nodes in dependency order, numbered by themselves: no constants, imports or loops.
        nodes: Vec<Node>,
        /// The node that each variable is made of.
        values: Vec<NodeId>,
        /// After how many rounds it ends in any case.
        limit: Option<RoundLimit>,
    },
    /// Inside a loop: one of its inputs.
    Entered {
        /// Which.
        input: usize,
    },
    /// Inside a loop: one of its variables, as it was a round before.
    Variable {
        /// Which.
        variable: usize,
    },
    /// What a variable of a loop has become.
    Leave {
        /// The loop.
        of: NodeId,
        /// The variable.
        variable: usize,
    },
    /// All rows of all inputs.
    Union {
        /// Collections.
        inputs: Vec<NodeId>,
    },
}

impl Node {
    /// The columns that [`Node::Fewest`] adds: how many, and by which option.
    pub const FEWEST_TYPES: [ScalarType; 2] = [ScalarType::Int8, ScalarType::Int4];
}

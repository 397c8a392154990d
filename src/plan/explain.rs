//! Plans as text and as JSON: what `EXPLAIN` prints.
//!
//! Text has one operator a line, its inputs below it and further in. Columns are positions (`#0`),
//! expressions are written as [`Expr`] displays itself, and objects are named by the caller, since
//! plans know ids alone. JSON has the same words in a tree of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::plan::observed::{Place, Seen};
use crate::plan::physical::{
    Arrangement, ArrangementId, Bounds, Dataflow, Lookup, Node, NodeId, Sink, Source,
};
use crate::plan::relation::{Binding, ColumnOrder, Equivalence, Id, Relation, RoundLimit};
use crate::plan::visit::grow;
use crate::repr::key::{KeyMode, decode_key};
use crate::repr::value::decode_values;
use crate::repr::{Diff, GlobalId, Row, ScalarType};

/// Rows and keys beyond this many are counted, not shown.
const SHOWN_MAX: usize = 8;

/// What an object is called.
pub type Names<'a> = &'a dyn Fn(GlobalId) -> String;

/// An operator as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Item {
    operator: String,
    details: Vec<(&'static str, Detail)>,
    /// What it cost.
    seen: Option<Seen>,
    inputs: Vec<Item>,
}

#[derive(Clone, Debug)]
enum Detail {
    Word(String),
    List(Vec<String>),
    Flag,
}

impl Item {
    fn new(operator: impl Into<String>) -> Item {
        Item { operator: operator.into(), ..Item::default() }
    }

    fn word(mut self, key: &'static str, word: impl ToString) -> Item {
        self.details.push((key, Detail::Word(word.to_string())));
        self
    }

    fn list<T: ToString>(mut self, key: &'static str, list: impl IntoIterator<Item = T>) -> Item {
        let list = list.into_iter().map(|x| x.to_string()).collect();
        self.details.push((key, Detail::List(list)));
        self
    }

    /// A list that is left out where it is empty.
    fn some<T: ToString>(self, key: &'static str, list: impl IntoIterator<Item = T>) -> Item {
        let list: Vec<T> = list.into_iter().collect();
        if list.is_empty() { self } else { self.list(key, list) }
    }

    fn flag(mut self, key: &'static str, set: bool) -> Item {
        if set {
            self.details.push((key, Detail::Flag));
        }
        self
    }

    fn input(mut self, input: Item) -> Item {
        self.inputs.push(input);
        self
    }

    /// With what was seen of it.
    pub fn seen(mut self, seen: Seen) -> Item {
        self.seen = Some(seen);
        self
    }

    /// One operator a line.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut todo = vec![(self, 0)];
        while let Some((item, depth)) = todo.pop() {
            out.extend(std::iter::repeat_n("  ", depth));
            out.push_str(&item.line());
            out.push('\n');
            todo.extend(item.inputs.iter().rev().map(|input| (input, depth + 1)));
        }
        out
    }

    fn line(&self) -> String {
        let mut line = self.operator.clone();
        for (key, detail) in &self.details {
            line.push(' ');
            if !key.is_empty() {
                line.push_str(key);
            }
            let assign = if key.is_empty() { "" } else { "=" };
            match detail {
                Detail::Word(word) => line.extend([assign, word]),
                Detail::List(list) => line.extend([assign, "[", &list.join(", "), "]"]),
                Detail::Flag => {}
            }
        }
        match self.seen.as_ref().map(Seen::text) {
            Some(seen) if !seen.is_empty() => line.extend([" (", &seen, ")"]),
            _ => {}
        }
        line
    }

    /// An object with `operator`, what belongs to it, and `inputs`.
    pub fn json(&self) -> Value {
        grow(|| {
            let mut object = Map::new();
            object.insert("operator".into(), json!(self.operator));
            for (key, detail) in &self.details {
                let key = if key.is_empty() { "what" } else { key };
                let value = match detail {
                    Detail::Word(word) => json!(word),
                    Detail::List(list) => json!(list),
                    Detail::Flag => json!(true),
                };
                object.insert(key.into(), value);
            }
            let seen = self.seen.as_ref().map(Seen::json);
            if let Some(seen) = seen.filter(|seen| *seen != json!({})) {
                object.insert("seen".into(), seen);
            }
            if !self.inputs.is_empty() {
                let inputs = self.inputs.iter().map(Item::json).collect();
                object.insert("inputs".into(), Value::Array(inputs));
            }
            Value::Object(object)
        })
    }
}

/// A relation as it is shown.
pub fn relation(relation: &Relation, names: Names<'_>) -> Item {
    grow(|| {
        let mut item = own(relation, names);
        item.inputs = relation.children().into_iter().map(|c| self::relation(c, names)).collect();
        item
    })
}

/// The operator alone.
fn own(relation: &Relation, names: Names<'_>) -> Item {
    match relation {
        Relation::Constant { rows, ty } => constant(rows, Some(&ty.scalars())),
        Relation::Get { id: Id::Global(id), .. } => Item::new("Get").word("", names(*id)),
        Relation::Get { id: Id::Local(id), .. } => Item::new("Get").word("", format!("l{id}")),
        Relation::Let { id, .. } => Item::new("Let").word("", format!("l{id}")),
        Relation::LetRec { bindings, limit, .. } => let_rec(bindings, limit.as_ref()),
        Relation::Project { outputs, .. } => Item::new("Project").list("", columns(outputs)),
        Relation::Map { exprs, .. } => Item::new("Map").list("", exprs),
        Relation::FlatMap { func, args, .. } => flat_map(func, args),
        Relation::Filter { predicates, .. } => Item::new("Filter").list("", predicates),
        Relation::Join { equivalences, .. } => {
            Item::new("Join").list("", equivalences.iter().map(equivalence))
        }
        Relation::Reduce { group_key, aggregates, .. } => {
            if aggregates.is_empty() {
                Item::new("Distinct").list("", group_key)
            } else {
                let item = Item::new("Reduce").some("key", group_key);
                item.list("aggregates", aggregates)
            }
        }
        Relation::TopK { group_key, order, limit, offset, ties, rank, .. } => {
            top_k(group_key, order, *limit, *offset).flag("ties", *ties).flag("rank", *rank)
        }
        Relation::Window { partition, order, calls, .. } => window(partition, order, calls),
        Relation::Negate { .. } => Item::new("Negate"),
        Relation::Threshold { .. } => Item::new("Threshold"),
        Relation::Union { .. } => Item::new("Union"),
    }
}

fn let_rec(bindings: &[Binding], limit: Option<&RoundLimit>) -> Item {
    rounds(Item::new("LetRec").list("", bindings.iter().map(|b| format!("l{}", b.id))), limit)
}

fn rounds(item: Item, limit: Option<&RoundLimit>) -> Item {
    let Some(RoundLimit { rounds, fails, .. }) = limit else { return item };
    item.word("rounds", rounds).flag("returns", !fails)
}

fn flat_map(func: &TableFunc, args: &[Expr]) -> Item {
    let mut rest = args;
    let calls = func.parts.iter().map(|part| {
        let (own, others) = rest.split_at(part.args);
        rest = others;
        let own = own.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ");
        let name = part.func.map_or("", |func| func.0.name);
        format!("{name}({own})")
    });
    Item::new("FlatMap").list("", calls).flag("ordinality", func.ordinality)
}

fn columns(columns: &[usize]) -> impl Iterator<Item = String> {
    columns.iter().map(|c| format!("#{c}"))
}

fn equivalence(class: &Equivalence) -> String {
    let parts: Vec<String> = class.exprs.iter().map(Expr::to_string).collect();
    parts.join(if class.null_safe { " <=> " } else { " = " })
}

fn order(order: &[ColumnOrder]) -> impl Iterator<Item = String> {
    order.iter().map(|o| {
        let direction = if o.descending { " DESC" } else { "" };
        let nulls = match (o.nulls_first, o.descending) {
            (true, false) => " NULLS FIRST",
            (false, true) => " NULLS LAST",
            _ => "",
        };
        format!("#{}{direction}{nulls}", o.column)
    })
}

fn top_k(group: &[usize], by: &[ColumnOrder], limit: Option<u64>, offset: u64) -> Item {
    let mut item = Item::new("TopK").some("group", columns(group)).some("order", order(by));
    if let Some(limit) = limit {
        item = item.word("limit", limit);
    }
    if offset > 0 {
        item = item.word("offset", offset);
    }
    item
}

fn window(partition: &[usize], by: &[ColumnOrder], calls: &[WindowCall]) -> Item {
    let item = Item::new("Window").some("partition", columns(partition)).some("order", order(by));
    item.list("calls", calls)
}

fn constant(rows: &Result<Vec<(Row, Diff)>, EvalError>, types: Option<&[ScalarType]>) -> Item {
    let rows = match rows {
        Err(error) => return Item::new("Error").word("", format!("{:?}", error.message)),
        Ok(rows) => rows,
    };
    let Some(types) = types else {
        return Item::new("Constant").word("rows", rows.len());
    };
    let shown = rows.iter().take(SHOWN_MAX).map(|(row, diff)| {
        let mut datums = Vec::new();
        decode_values(types, row.bytes(), &mut datums);
        let count = if *diff == 1 { String::new() } else { format!(" x {diff}") };
        format!("{}{count}", tuple(types, &datums))
    });
    let more = rows.len().saturating_sub(SHOWN_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    Item::new("Constant").list("", shown.chain(more))
}

fn tuple(types: &[ScalarType], datums: &[crate::repr::Datum<'_>]) -> String {
    let parts = types.iter().zip(datums).map(|(ty, d)| Expr::literal(*d, *ty).to_string());
    format!("({})", parts.collect::<Vec<_>>().join(", "))
}

/// A read of an arrangement as it is shown.
pub fn peek(
    target: ArrangementId,
    layout: &Arrangement,
    bounds: &Bounds,
    mfp: &Mfp,
    names: Names<'_>,
) -> Item {
    let item = imported(Item::new("Peek"), target, layout, names);
    let item = match bounds {
        Bounds::All => item,
        Bounds::Range { lo, hi } => item
            .word("from", lo.as_ref().map_or("the first".into(), |k| key_text(layout, k)))
            .word("below", hi.as_ref().map_or("the end".into(), |k| key_text(layout, k))),
        Bounds::Keys(keys) => {
            let shown = keys.iter().take(SHOWN_MAX).map(|k| key_text(layout, k));
            let more = keys.len().saturating_sub(SHOWN_MAX);
            item.list("keys", shown.chain((more > 0).then(|| format!("{more} more"))))
        }
    };
    mfp_details(item, mfp)
}

/// A whole key by its values where they can be read back, anything else by its bytes.
fn key_text(layout: &Arrangement, key: &Row) -> String {
    let fixed = layout.key_types.iter().map(|t| t.key_width().map(|w| w + marker(layout.mode)));
    let whole = fixed.sum::<Option<usize>>() == Some(key.bytes().len());
    if whole && layout.mode == KeyMode::Strict && readable(layout) {
        let mut datums = Vec::new();
        decode_key(layout.mode, &layout.key_types, key.bytes(), &mut datums);
        return tuple(&layout.key_types, &datums);
    }
    let hex: String = key.bytes().iter().map(|b| format!("{b:02x}")).collect();
    format!("\\x{hex}")
}

fn marker(mode: KeyMode) -> usize {
    usize::from(mode == KeyMode::NullSafe)
}

fn readable(layout: &Arrangement) -> bool {
    layout.key_types.iter().all(|t| t.key_is_identity())
}

fn imported(item: Item, id: ArrangementId, layout: &Arrangement, names: Names<'_>) -> Item {
    let item = item.word("", names(id.relation));
    let item = if id.index == id.relation { item } else { item.word("index", names(id.index)) };
    item.list("by", &layout.key)
}

fn mfp_details(item: Item, mfp: &Mfp) -> Item {
    let item = item.some("map", &mfp.expressions);
    let item = item.some("filter", mfp.predicates.iter().map(|(_, p)| p));
    let whole = mfp.projection.len() == mfp.input_arity + mfp.expressions.len()
        && mfp.projection.iter().enumerate().all(|(i, c)| i == *c);
    if whole { item } else { item.list("project", columns(&mfp.projection)) }
}

/// A dataflow as it is shown. A node that has several readers is named where it first comes, and
/// stands by its name after that.
pub fn dataflow(dataflow: &Dataflow, names: Names<'_>) -> Item {
    analyzed(dataflow, names, &|_| None)
}

/// A dataflow as it is shown, with what was seen of each part.
pub fn analyzed(
    dataflow: &Dataflow,
    names: Names<'_>,
    seen: &dyn Fn(Place) -> Option<Seen>,
) -> Item {
    let sink = match &dataflow.sink {
        Sink::Arrange(layout) => arranged(Item::new("Maintain"), layout),
        Sink::Subscribe { .. } => Item::new("Subscribe"),
        Sink::Peek { .. } => Item::new("Return"),
    };
    let sink = Item { seen: seen(Place::Sink), ..sink };
    let mut readers = BTreeMap::new();
    for node in &dataflow.nodes {
        inputs(node).into_iter().for_each(|i| *readers.entry(i).or_insert(0) += 1);
    }
    let mut shown =
        Shown { dataflow, names, seen, within: None, readers, aliases: BTreeMap::new() };
    match dataflow.nodes.len() {
        0 => sink,
        n => sink.input(shown.node(n - 1)),
    }
}

struct Shown<'a> {
    dataflow: &'a Dataflow,
    names: Names<'a>,
    seen: &'a dyn Fn(Place) -> Option<Seen>,
    /// The loop whose nodes these are.
    within: Option<NodeId>,
    readers: BTreeMap<NodeId, usize>,
    /// The names given to nodes with several readers.
    aliases: BTreeMap<NodeId, String>,
}

impl Shown<'_> {
    fn node(&mut self, id: NodeId) -> Item {
        if let Some(name) = self.aliases.get(&id) {
            return Item::new("Shared").word("", name);
        }
        grow(|| {
            let node = &self.dataflow.nodes[id];
            let mut item = self.own(id, node);
            item.seen = (self.seen)(match self.within {
                None => Place::Node(id),
                Some(within) => Place::Inside(within, id),
            });
            if self.readers.get(&id).is_some_and(|n| *n > 1) {
                let name = format!("s{}", self.aliases.len());
                item = item.word("as", &name);
                self.aliases.insert(id, name);
            }
            for input in inputs(node) {
                let input = self.node(input);
                item = item.input(input);
            }
            item
        })
    }

    /// A loop, with the value of each variable as an input; what it enters comes behind.
    fn of_loop(
        &self,
        id: NodeId,
        nodes: &[Node],
        values: &[NodeId],
        limit: Option<&RoundLimit>,
    ) -> Item {
        let inner = Dataflow { nodes: nodes.to_vec(), ..self.dataflow.clone() };
        let (mut readers, aliases) = (BTreeMap::new(), BTreeMap::new());
        for input in nodes.iter().flat_map(inputs).chain(values.iter().copied()) {
            *readers.entry(input).or_insert(0) += 1;
        }
        let (names, seen) = (self.names, self.seen);
        let mut shown = Shown { dataflow: &inner, names, seen, within: Some(id), readers, aliases };
        let mut item = rounds(Item::new("Loop"), limit);
        for value in values {
            item = item.input(shown.node(*value));
        }
        item
    }

    fn own(&self, id: NodeId, node: &Node) -> Item {
        match node {
            Node::Constant { rows } => constant(rows, None),
            Node::Import { import } => {
                let import = &self.dataflow.imports[*import];
                imported(Item::new("Import"), import.id, &import.layout, self.names)
            }
            Node::Mfp { mfp, .. } if mfp.is_identity() => Item::new("Read"),
            Node::Mfp { mfp, .. } => mfp_details(Item::new("Mfp"), mfp),
            Node::Temporal { predicates, .. } => Item::new("Temporal").list("filter", predicates),
            Node::FlatMap { func, args, .. } => flat_map(func, args),
            Node::Arrange { layout, .. } => arranged(Item::new("Arrange"), layout),
            Node::Join { mfp, .. } => mfp_details(Item::new("Join"), mfp),
            Node::HalfJoin { lookup, mfp } => mfp_details(looked_up("HalfJoin", lookup), mfp),
            Node::Fewest { lookup, option } => looked_up("Fewest", lookup).word("option", option),
            Node::Reduce { key, aggregates, .. } if aggregates.is_empty() => {
                Item::new("Distinct").list("", key)
            }
            Node::Reduce { key, aggregates, .. } => {
                let item = Item::new("Reduce").some("key", key);
                item.list("aggregates", aggregates)
            }
            Node::TopK { group_key, order, limit, offset, ties, rank, .. } => {
                top_k(group_key, order, *limit, *offset).flag("ties", *ties).flag("rank", *rank)
            }
            Node::Window { partition, order, calls, .. } => window(partition, order, calls),
            Node::Loop { nodes, values, limit, .. } => {
                self.of_loop(id, nodes, values, limit.as_ref())
            }
            Node::Leave { variable, .. } => Item::new("Leave").word("", format!("v{variable}")),
            Node::Entered { input } => Item::new("Enter").word("", format!("e{input}")),
            Node::Variable { variable } => Item::new("Get").word("", format!("v{variable}")),
            Node::Negate { .. } => Item::new("Negate"),
            Node::Threshold { .. } => Item::new("Threshold"),
            Node::Union { .. } => Item::new("Union"),
        }
    }
}

fn looked_up(name: &'static str, lookup: &Lookup) -> Item {
    let item = Item::new(name).list("by", &lookup.layout.key);
    item.flag("before", lookup.before)
}

fn arranged(item: Item, layout: &Arrangement) -> Item {
    let item = item.list("by", &layout.key);
    let item = item.flag("null_safe", layout.mode == KeyMode::NullSafe);
    let in_key = |s: &Source| matches!(s, Source::Key(_));
    if layout.columns.iter().all(in_key) {
        item
    } else {
        item.list("value", columns(&layout.value))
    }
}

/// The nodes that a node reads, in order.
pub fn inputs(node: &Node) -> Vec<NodeId> {
    match node {
        Node::Constant { .. }
        | Node::Import { .. }
        | Node::Entered { .. }
        | Node::Variable { .. } => Vec::new(),
        Node::Leave { of, .. } => vec![*of],
        Node::Loop { inputs, .. } => inputs.clone(),
        Node::Mfp { input, .. }
        | Node::Temporal { input, .. }
        | Node::FlatMap { input, .. }
        | Node::Arrange { input, .. }
        | Node::Reduce { input, .. }
        | Node::TopK { input, .. }
        | Node::Window { input, .. }
        | Node::Negate { input }
        | Node::Threshold { input, .. } => vec![*input],
        Node::Join { left, right, .. } => vec![*left, *right],
        Node::HalfJoin { lookup, .. } | Node::Fewest { lookup, .. } => {
            vec![lookup.input, lookup.right]
        }
        Node::Union { inputs } => inputs.clone(),
    }
}

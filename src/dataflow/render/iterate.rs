//! Recursion: a loop in a scope of its own, whose time counts the rounds.
//!
//! A variable is fed back what its value was a round before. Differential computes with
//! differences in both times: when a table changes, each round changes only by what that makes of
//! it, whichever round it first matters in. What is fed back is consolidated, since rows that
//! cancel each other out would else go round for ever; a reduction's rows are so already.
//!
//! What is arranged outside is read there. Inside, rows travel whole; groups are reduced by an
//! operator for any time ([`reduce`]), with the logic that the operators outside use
//! ([`GroupLogic`]), compiled once. Rules derive sets, so DISTINCT of whole rows is what nearly
//! every loop does: where equal rows have equal bytes the row itself is the key, and nothing is
//! decoded. A limit of rounds takes out what comes after it, which says whether the loop would have
//! gone on.
//!
//! A change of one row often makes rows in each of many rounds, one or two in each. What counts
//! then is how many operators there are on the way, not how many rows.

use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate;
use differential_dataflow::operators::iterate::Variable;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::vec::Filter;
use timely::order::Product;

use super::build::Walk;
use super::flat_map::{Expansion, flat_map};
use super::group::Answer;
use super::mfp::{join_logic, row_logic};
use super::partition::Windowed;
use super::read_back::read_back;
use super::reader::RowReader;
use super::reduce::Reduction;
use super::regroup::Regroup;
use super::rows::{RowSink, Shaper, arranged_rows, reshape, whole_rows};
use super::threshold::{by_whole_row, is_identity, positive_rows};
use super::topk::TopK;
use super::transform::transform;
use super::union::union;
use super::window::{GroupLogic, window};
use crate::dataflow::arrangement::{
    EnteredArranged, Round, RowArranged, RowRef, RowUpdate, Rows, RowsByKey, arrange_rows,
    arrange_whole, enter,
};
use crate::dataflow::channel::Local;
use crate::dataflow::emit::{JoinLogic, RowLogic};
use crate::dataflow::join::join_traces;
use crate::dataflow::observe::Places;
use crate::dataflow::operator::OperatorBuilder;
use crate::dataflow::pressure::Pressure;
use crate::dataflow::reduce_operator::reduce;
use crate::dataflow::replay::Reducer;
use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::plan::observed::Place;
use crate::plan::physical::{Arrangement, Node, NodeId};
use crate::plan::relation::RoundLimit;
use crate::repr::settings::FormatSettings;
use crate::repr::{Row, ScalarType, Timestamp};

/// Where the value of a variable is fed back.
type Feed<'i> = Variable<'i, Round, Vec<RowUpdate<Round>>>;

/// What begins the value of a group's answer, where that may be an error.
const ROW: u8 = 0;
const ERROR: u8 = 1;

/// A loop as it is planned.
pub struct Loop<'p> {
    /// Its nodes.
    pub nodes: &'p [Node],
    /// The value of each variable.
    pub values: &'p [NodeId],
    /// Its limit.
    pub limit: Option<RoundLimit>,
}

/// Renders a loop over collections of whole rows; returns what each variable becomes, errors,
/// and which operators stand for which node inside.
pub(super) fn iterate<'s>(
    walk: &Walk<'s, '_>,
    id: NodeId,
    inputs: Vec<Input<'s, '_>>,
    plan: &Loop<'_>,
) -> (Vec<RowsByKey<'s>>, Vec<Rows<'s>>, Places) {
    let outer = walk.scope;
    let (settings, as_of) = (&walk.plan.settings, walk.plan.as_of);
    let mut places = Places::new();
    let (values, mut errors, cut) = outer.scoped(&format!("Loop {id}"), |scope| {
        let inputs = inputs.into_iter().map(|input| input.enter(scope)).collect();
        let mut inside = Inside::new(scope, settings, as_of, inputs, plan.values.len());
        for (at, node) in plan.nodes.iter().enumerate() {
            let first = scope.worker().peek_identifier();
            let rendered = inside.node(node);
            inside.done.push(rendered);
            places.push((first..scope.worker().peek_identifier(), Place::Inside(id, at)));
        }
        let (values, cut) = inside.close(plan);
        let values: Vec<_> = values.into_iter().map(|value| value.leave(outer)).collect();
        let errors: Vec<_> = inside.errors.into_iter().map(|error| error.leave(outer)).collect();
        let cut: Vec<_> = cut.into_iter().map(|cut| cut.leave(outer)).collect();
        (values, errors, cut)
    });
    if let Some(limit @ RoundLimit { fails: true, .. }) = &plan.limit {
        for rows in cut {
            errors.extend(unfinished(rows, limit));
        }
    }
    (values, errors, places)
}

/// The error of a loop that does not end within so many rounds.
pub fn endless(limit: &RoundLimit) -> EvalError {
    let RoundLimit { rounds, of, .. } = limit;
    let what = of.as_deref().unwrap_or("the recursion");
    EvalError {
        hint: Some("Raise the setting recursion_limit if the recursion does end.".into()),
        ..EvalError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("{what} does not end within {rounds} rounds"),
        )
    }
}

/// An error where a loop that was cut off would have gone on.
fn unfinished<'s>(rows: RowsByKey<'s>, limit: &RoundLimit) -> Option<Rows<'s>> {
    let error = endless(limit);
    let arranged = arrange_whole(rows, "Arrange unfinished");
    let logic: GroupLogic = Box::new(move |_, rows, answer| {
        if rows.iter().any(|(_, count)| *count != 0) {
            answer.add(1, |emit| emit.err(&error));
        }
    });
    window(arranged, "Unfinished", None, logic, true).1
}

/// What is brought into a loop.
pub enum Input<'s, 'p> {
    /// Whole rows.
    Rows(RowsByKey<'s>),
    /// An arrangement.
    Arranged(RowArranged<'s>, &'p Arrangement),
}

impl<'s, 'p> Input<'s, 'p> {
    fn enter<'i>(self, scope: Scope<'i, Round>) -> Data<'i, 'p> {
        match self {
            Input::Rows(rows) => Data::Rows(rows.enter(scope)),
            Input::Arranged(arranged, layout) => Data::Entered(enter(arranged, scope), layout),
        }
    }
}

/// What a node inside became.
#[derive(Clone)]
enum Data<'i, 'p> {
    Rows(RowsByKey<'i, Round>),
    Arranged(RowArranged<'i, Round>, &'p Arrangement),
    /// An arrangement outside.
    Entered(EnteredArranged<'i>, &'p Arrangement),
}

/// The logic of a join whose sides have changed places.
fn turned(mut logic: JoinLogic) -> JoinLogic {
    Box::new(move |key, left, right, emit| logic(key, right, left, emit))
}

/// The state of the walk inside.
struct Inside<'i, 'p> {
    scope: Scope<'i, Round>,
    settings: &'p FormatSettings,
    as_of: Timestamp,
    inputs: Vec<Data<'i, 'p>>,
    variables: Vec<RowsByKey<'i, Round>>,
    feeds: Vec<Feed<'i>>,
    done: Vec<Data<'i, 'p>>,
    errors: Vec<Rows<'i, Round>>,
}

impl<'i, 'p> Inside<'i, 'p> {
    fn new(
        scope: Scope<'i, Round>,
        settings: &'p FormatSettings,
        as_of: Timestamp,
        inputs: Vec<Data<'i, 'p>>,
        variables: usize,
    ) -> Inside<'i, 'p> {
        let made = (0..variables).map(|_| Variable::new(scope, Product::new(0, 1)));
        let (feeds, variables) = made.unzip();
        let (done, errors) = (Vec::new(), Vec::new());
        Inside { scope, settings, as_of, inputs, variables, feeds, done, errors }
    }

    fn node(&mut self, node: &'p Node) -> Data<'i, 'p> {
        let rows = match node {
            Node::Entered { input } => return self.inputs[*input].clone(),
            Node::Variable { variable } => self.variables[*variable].clone(),
            Node::Mfp { input, types, mfp } => {
                let reader = RowReader::whole(types);
                let logic = row_logic(reader, mfp, self.settings, whole_rows());
                self.each(*input, "Mfp", logic, mfp.is_fallible())
            }
            Node::FlatMap { input, types, func, args } => {
                let fallible = func.is_fallible() || args.iter().any(Expr::is_fallible);
                let expansion = Expansion::new(func, args, types, self.settings, whole_rows());
                let pressure = Pressure::default();
                let rows = self.rows(*input);
                let (rows, errs) = flat_map(rows, "FlatMap", expansion, pressure, fallible);
                self.errors.extend(errs);
                rows
            }
            Node::Arrange { input, layout } => {
                let fallible = layout.key.iter().any(Expr::is_fallible);
                let shaper = (arranged_rows(layout), fallible);
                return Data::Arranged(self.arranged(*input, &layout.types, shaper), layout);
            }
            Node::Join { left, right, mfp } => self.join(*left, *right, mfp),
            Node::Reduce { input, key, key_types, aggregates, types } => {
                let group = Regroup {
                    key: key.clone(),
                    key_types: key_types.clone(),
                    aggregates: aggregates.clone(),
                    types: types.clone(),
                };
                self.reduce(*input, group)
            }
            Node::TopK { input, types, group_key, order, limit, offset, ties, rank } => {
                let top = TopK {
                    types: types.clone(),
                    group_key: group_key.clone(),
                    order: order.clone(),
                    limit: *limit,
                    offset: *offset,
                    ties: *ties,
                    rank: *rank,
                };
                self.grouped(*input, types, (top.shaper(), false), (top.logic(self.sink()), false))
            }
            Node::Window { input, types, partition, order, calls } => {
                let windowed = Windowed::new(types, partition, order, calls);
                let logic = windowed.logic(self.sink(), self.settings);
                let logic = (logic, windowed.is_fallible());
                self.grouped(*input, types, (windowed.shaper(), false), logic)
            }
            Node::Threshold { input, types } => {
                let logic = (positive_rows(types, self.sink()), false);
                self.grouped(*input, types, (by_whole_row(types), false), logic)
            }
            Node::Negate { input } => self.rows(*input).negate(),
            Node::Union { inputs } => {
                let inputs = inputs.iter().map(|input| self.rows(*input)).collect();
                union(self.scope, inputs)
            }
            Node::Constant { .. }
            | Node::Import { .. }
            | Node::Temporal { .. }
            | Node::HalfJoin { .. }
            | Node::Fewest { .. }
            | Node::Loop { .. }
            | Node::Leave { .. } => unreachable!("a loop holds none of these"),
        };
        Data::Rows(rows)
    }

    fn join(&mut self, left: NodeId, right: NodeId, mfp: &Mfp) -> RowsByKey<'i, Round> {
        let (of_left, of_right) = (self.layout(left), self.layout(right));
        let logic = join_logic(
            (RowReader::arranged(of_left), of_left.types.len()),
            RowReader::arranged(of_right),
            mfp,
            self.settings,
            whole_rows(),
        );
        let (as_of, fallible) = (Product::new(self.as_of, 0), mfp.is_fallible());
        let (rows, errs) = match (self.done[left].clone(), self.done[right].clone()) {
            // The engine's join is compiled for what is arranged inside, on the left.
            (Data::Entered(left, _), Data::Arranged(right, _)) => {
                join_traces(right, left, "Join", as_of, turned(logic), fallible)
            }
            (left, Data::Entered(right, _)) => {
                let left = self.arranged_inside(left);
                join_traces(left, right, "Join", as_of, logic, fallible)
            }
            (left, right) => {
                let (left, right) = (self.arranged_inside(left), self.arranged_inside(right));
                join_traces(left, right, "Join", as_of, logic, fallible)
            }
        };
        self.errors.extend(errs);
        rows
    }

    /// A reduction by the logic that it has outside, if that needs its rows alone.
    fn reduce(&mut self, input: NodeId, group: Regroup) -> RowsByKey<'i, Round> {
        let Regroup { key, key_types, aggregates, types } = &group;
        if aggregates.is_empty() && is_whole_row(key, types) {
            return self.distinct(input);
        }
        let reduction = Reduction::new(key, key_types, aggregates, types);
        let types = types.clone();
        match reduction.whole_logic(self.settings, self.sink()) {
            Some(logic) => self.grouped(input, &types, reduction.shaper(), logic),
            None => {
                let shaper = group.shaper();
                let logic = (group.logic(self.settings.clone()), true);
                self.grouped(input, &types, shaper, logic)
            }
        }
    }

    fn sink(&self) -> RowSink {
        RowSink::new(self.settings, whole_rows())
    }

    fn rows(&self, node: NodeId) -> RowsByKey<'i, Round> {
        match &self.done[node] {
            Data::Rows(rows) => rows.clone(),
            Data::Arranged(..) | Data::Entered(..) => {
                unreachable!("only joins read arrangements")
            }
        }
    }

    fn layout(&self, node: NodeId) -> &'p Arrangement {
        match &self.done[node] {
            Data::Arranged(_, layout) | Data::Entered(_, layout) => layout,
            Data::Rows(_) => unreachable!("a plan joins arrangements only"),
        }
    }

    /// An arrangement of its own, also of what is arranged outside.
    fn arranged_inside(&self, data: Data<'i, 'p>) -> RowArranged<'i, Round> {
        match data {
            Data::Arranged(arranged, _) => arranged,
            Data::Entered(arranged, _) => {
                let as_of = Product::new(self.as_of, 0);
                let rows = read_back(arranged, "Read entered", as_of, |key, value| {
                    (Row::new(key.0), Row::new(value.0))
                });
                arrange_rows(rows, "Arrange entered")
            }
            Data::Rows(_) => unreachable!("a plan joins arrangements only"),
        }
    }

    /// Applies a logic to each row.
    fn each(
        &mut self,
        input: NodeId,
        name: &str,
        logic: RowLogic,
        fallible: bool,
    ) -> RowsByKey<'i, Round> {
        let (rows, errs) = transform(self.rows(input), name, logic, fallible);
        self.errors.extend(errs);
        rows
    }

    fn arranged(
        &mut self,
        input: NodeId,
        types: &[ScalarType],
        (shaper, fallible): (Shaper, bool),
    ) -> RowArranged<'i, Round> {
        let logic = reshape(RowReader::whole(types), self.settings.clone(), shaper);
        arrange_rows(self.each(input, "Shape", logic, fallible), "Arrange")
    }

    /// Each row once, where equal rows have equal bytes.
    fn distinct(&mut self, input: NodeId) -> RowsByKey<'i, Round> {
        let there: Reducer = Box::new(|_, rows, out| {
            if rows.iter().any(|(_, count)| *count > 0) {
                out.push((Row::EMPTY, 1));
            }
        });
        let arranged = arrange_whole(self.rows(input), "Arrange");
        reduce(arranged, "Distinct", there, |row, _| (Row::EMPTY, Row::new(row.0)))
    }

    /// Groups rows as the shaper keys them, and answers for each group by a logic, which can fail
    /// or not.
    fn grouped(
        &mut self,
        input: NodeId,
        types: &[ScalarType],
        shaper: (Shaper, bool),
        (mut logic, fallible): (GroupLogic, bool),
    ) -> RowsByKey<'i, Round> {
        let arranged = self.arranged(input, types, shaper);
        let mut answer = Answer::default();
        if !fallible {
            let reducer: Reducer = Box::new(move |key, rows, out| {
                answer.clear();
                logic(key, rows, &mut answer);
                out.extend(answer.take().0.map(|((_, row), count)| (row, count)));
                consolidate(out);
            });
            return reduce(arranged, "Group", reducer, |_, row| (Row::EMPTY, row.clone()));
        }
        let reducer: Reducer = Box::new(move |key, rows, out| {
            answer.clear();
            logic(key, rows, &mut answer);
            let tagged = |tag: u8, row: &Row| Row::new(&[&[tag], row.bytes()].concat());
            let (rows, errors) = answer.take();
            out.extend(rows.map(|((_, row), count)| (tagged(ROW, &row), count)));
            out.extend(errors.map(|(error, count)| (tagged(ERROR, &error), count)));
            consolidate(out);
        });
        let rows = reduce(arranged, "Group", reducer, |_, value| (Row::EMPTY, value.clone()));
        let untag: RowLogic = Box::new(|_, value, emit| match value.split_first() {
            Some((&ROW, row)) => emit.ok(Row::EMPTY, Row::new(row)),
            Some((_, error)) => emit.raw_error(Row::new(error)),
            None => {}
        });
        let (rows, errs) = transform(rows, "Answers", untag, true);
        self.errors.extend(errs);
        rows
    }

    /// Feeds the values back. Returns them, and what the limit leaves out of each.
    fn close(&mut self, plan: &Loop<'_>) -> (Vec<RowsByKey<'i, Round>>, Vec<RowsByKey<'i, Round>>) {
        let (mut values, mut cut) = (Vec::new(), Vec::new());
        for (feed, value) in std::mem::take(&mut self.feeds).into_iter().zip(plan.values) {
            let whole = match plan.nodes[*value] {
                // What a reduction says is consolidated.
                Node::Reduce { .. }
                | Node::TopK { .. }
                | Node::Window { .. }
                | Node::Threshold { .. } => self.rows(*value),
                _ => {
                    let whole = arrange_whole(self.rows(*value), "Consolidate");
                    let least = Product::default();
                    let row = |row: RowRef<'_>, _: RowRef<'_>| (Row::EMPTY, Row::new(row.0));
                    read_back(whole, "Consolidated", least, row)
                }
            };
            let value = match &plan.limit {
                None => whole,
                Some(RoundLimit { rounds, fails, .. }) => {
                    let (before, beyond) = limited(whole, *rounds, *fails);
                    cut.extend(beyond);
                    before
                }
            };
            feed.set(value.clone());
            values.push(value);
        }
        (values, cut)
    }
}

/// Whether this key is all columns in their order, and equal rows have equal bytes.
fn is_whole_row(key: &[Expr], types: &[ScalarType]) -> bool {
    let all = key.iter().enumerate().all(|(at, expr)| *expr == Expr::Column(at));
    all && key.len() == types.len() && is_identity(types)
}

/// What comes before a round, and, if that is `told`, what comes in it or after it.
fn limited<'i>(
    rows: RowsByKey<'i, Round>,
    round: u64,
    told: bool,
) -> (RowsByKey<'i, Round>, Option<RowsByKey<'i, Round>>) {
    if !told {
        let before = rows.inner.filter(move |(_, time, _)| time.inner < round);
        return (before.as_collection(), None);
    }
    let mut builder = OperatorBuilder::new("Limit".to_owned(), rows.inner.scope());
    let mut input = builder.new_input(rows.inner, Local);
    builder.ignore_progress_of(0);
    let (before, before_stream) = builder.new_output();
    let (beyond, beyond_stream) = builder.new_output();
    let mut before = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(before);
    let mut beyond = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(beyond);
    builder.build(move |_capabilities| {
        move |_frontiers| {
            let (mut before, mut beyond) = (before.activate(), beyond.activate());
            input.for_each(|capability, updates| {
                if updates.iter().any(|(_, time, _)| time.inner >= round) {
                    let late = updates.extract_if(.., |(_, time, _)| time.inner >= round);
                    let mut late: Vec<RowUpdate<Round>> = late.collect();
                    let held = capability.retain_stamp(1);
                    beyond.session(&held).give_container(&mut late);
                }
                before.session(&capability).give_container(updates);
            });
        }
    });
    (before_stream.as_collection(), Some(beyond_stream.as_collection()))
}

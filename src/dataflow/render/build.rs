//! The walk over a plan: one timely dataflow of one [`Dataflow`].
//!
//! Nodes are rendered in order, each from what its inputs became. A node is either rows under way
//! or an arrangement, and beside it goes the set of places where errors can come from; only the
//! sink puts those streams together, so that an error is counted once however many ways lead from
//! it to the result.
//!
//! What a row is encoded as is decided by who reads it. Before the walk each node learns whether
//! it has a single consumer that groups or arranges it ([`Walk::shaped_for`]); then it emits
//! rows in that consumer's shape, as its last step, and no operator stands between.

use std::collections::BTreeSet;

use timely::dataflow::Scope;
use timely::worker::Worker;

use super::constant::{constant_error, constant_rows};
use super::flat_map::{Expansion, flat_map};
use super::group::per_key;
use super::iterate::{Input, Loop, iterate};
use super::mfp::{join_logic, row_logic};
use super::moving::Moving;
use super::negate::negate;
use super::partition::Windowed;
use super::reader::RowReader;
use super::reduce::Reduction;
use super::rows::{RowSink, Shaper, arranged_rows, reshape, whole_rows};
use super::temporal::{TimedFilter, timed_filter};
use super::threshold::{by_whole_row, positive_rows};
use super::topk::TopK;
use super::transform::transform;
use super::window::{window, window_with_ties};
use super::{sink, union};
use crate::dataflow::arrangement::{RowArranged, Rows, RowsByKey, arrange_rows};
use crate::dataflow::built::{Built, Imports, Notify, Rendering};
use crate::dataflow::emit::{RowLogic, error_row};
use crate::dataflow::import::{Promise, import_until};
use crate::dataflow::join::join_rows;
use crate::dataflow::observe::Places;
use crate::dataflow::pressure::Pressure;
use crate::dataflow::scan::scan;
use crate::dataflow::traces::Traces;
use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::temporal::Temporal;
use crate::plan::observed::Place;
use crate::plan::physical::{Arrangement, Dataflow, Lookup, Node, NodeId, Sink};
use crate::repr::settings::FormatSettings;
use crate::repr::{Diff, Row, ScalarType, Timestamp};

/// Builds a dataflow over the arrangements in `traces`.
///
/// `notify` is called when a reader's sink might have something to take. All workers must build
/// in the same order. The imports must be there: whoever sends the plan has checked that.
pub fn build(worker: &mut Worker, plan: &Dataflow, traces: &mut Traces, notify: Notify) -> Built {
    let name = format!("{}", plan.id);
    worker.dataflow_named(&name, |scope| {
        if let Some(followed) = sink::Followed::of(plan, scope.peers()) {
            return followed.build(scope, traces, notify);
        }
        let (mut walk, imports) = Walk::new(scope, plan, traces);
        for (id, node) in plan.nodes.iter().enumerate() {
            let first = scope.worker().peek_identifier();
            let (data, errors) = walk.node(id, node);
            walk.done.push(Rendered { data, errors });
            walk.places.push((first..scope.worker().peek_identifier(), Place::Node(id)));
        }
        let result = sink::finish(&mut walk, notify);
        Built { imports: Imports(imports), result, places: walk.places }
    })
}

/// How plans become operators.
pub const RENDERING: Rendering = Rendering { build, row_logic: read_arrangement };

/// The logic of a peek of an arrangement.
fn read_arrangement(layout: &Arrangement, mfp: &Mfp, settings: &FormatSettings) -> RowLogic {
    row_logic(RowReader::arranged(layout), mfp, settings, whole_rows())
}

/// A place where errors come from, in [`Walk::sources`].
pub(super) type ErrorSource = usize;

/// What a node became.
struct Rendered<'s, 'p> {
    data: Data<'s, 'p>,
    errors: BTreeSet<ErrorSource>,
}

/// The rows of a node.
#[derive(Clone)]
pub(super) enum Data<'s, 'p> {
    /// Under way, in the shape of that consumer, or as they are.
    Rows(RowsByKey<'s>, Option<NodeId>),
    /// Arranged.
    Arranged(RowArranged<'s>, &'p Arrangement),
    /// What the variables of a loop become.
    Looped(Vec<RowsByKey<'s>>),
}

/// The state of the walk.
pub(super) struct Walk<'s, 'p> {
    pub(super) scope: Scope<'s, Timestamp>,
    pub(super) plan: &'p Dataflow,
    done: Vec<Rendered<'s, 'p>>,
    imported: Vec<(RowArranged<'s>, Option<ErrorSource>)>,
    sources: Vec<Rows<'s>>,
    shaped_for: Vec<Option<NodeId>>,
    /// What waits for the reader of an eager sink.
    pub(super) pressure: Pressure,
    /// Which operators were built for which part of the plan.
    pub(super) places: Places,
}

impl<'s, 'p> Walk<'s, 'p> {
    fn new(
        scope: Scope<'s, Timestamp>,
        plan: &'p Dataflow,
        traces: &mut Traces,
    ) -> (Walk<'s, 'p>, Vec<Vec<Promise>>) {
        let mut walk = Walk {
            scope,
            plan,
            done: Vec::with_capacity(plan.nodes.len()),
            imported: Vec::new(),
            sources: Vec::new(),
            shaped_for: shapes(plan),
            pressure: Pressure::default(),
            places: Vec::new(),
        };
        let until = plan.until();
        let mut promises = Vec::new();
        for (position, from) in plan.imports.iter().enumerate() {
            let first = scope.worker().peek_identifier();
            let maintained =
                traces.made_by(from.id.index).expect("a plan imports what is maintained");
            let name = format!("Import {}", from.id.relation);
            let (arranged, promise) = import_until(&mut maintained.oks, scope, &name, until);
            let mut of_import = vec![promise];
            let errors = maintained.errs.as_mut().and_then(|errs| {
                let name = format!("Import errors of {}", from.id.relation);
                let (errs, promise) = import_until(errs, scope, &name, until);
                of_import.push(promise);
                let as_is: RowLogic = Box::new(|error, _, emit| emit.errs.push(Row::new(error)));
                let (_, errs) = scan(errs, &name, plan.as_of, as_is, true);
                errs.map(|errs| walk.add_source(errs))
            });
            walk.imported.push((arranged, errors));
            let reads =
                |node: &Node| matches!(node, Node::Import { import } if *import == position);
            let reader = plan.nodes.iter().position(reads).map(Place::Node);
            let operators = first..scope.worker().peek_identifier();
            walk.places.extend(reader.map(|place| (operators, place)));
            promises.push(of_import);
        }
        (walk, promises)
    }

    fn add_source(&mut self, errors: Rows<'s>) -> ErrorSource {
        self.sources.push(errors);
        self.sources.len() - 1
    }

    /// Renders a node.
    fn node(&mut self, id: NodeId, node: &'p Node) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let name = |what: &str| format!("{what} {id}");
        match node {
            Node::Constant { rows } => self.constant(rows),
            Node::Import { import } => {
                let (arranged, errors) = &self.imported[*import];
                let data = Data::Arranged(arranged.clone(), &self.plan.imports[*import].layout);
                (data, errors.iter().copied().collect())
            }
            Node::Mfp { input, types, mfp } => {
                let (shaper, fallible) = self.out(id);
                let settings = &self.plan.settings;
                let logic = |reader| row_logic(reader, mfp, settings, shaper);
                let fallible = fallible || mfp.is_fallible();
                self.each_row(*input, types, logic, fallible, id, &name("Mfp"))
            }
            Node::Temporal { input, types, predicates } => {
                self.timed(id, *input, types, predicates)
            }
            Node::FlatMap { input, .. } => self.flat_map(id, *input),
            Node::Arrange { input, layout } => {
                let (rows, errors) = self.shaped(*input, id);
                (Data::Arranged(arrange_rows(rows, &name("Arrange")), layout), errors)
            }
            Node::Join { left, right, mfp } => self.join(id, *left, *right, mfp),
            Node::HalfJoin { lookup, mfp } => self.half_join(id, lookup, mfp),
            Node::Fewest { lookup, option } => self.fewest(id, lookup, *option),
            Node::Reduce { input, .. } => {
                let reduction = self.reduction(id);
                let mut errors = self.done[*input].errors.clone();
                let sink = self.sink(id);
                let rows = reduction.render(self, (*input, id), sink, &mut errors);
                (Data::Rows(rows, self.shaped_for[id]), errors)
            }
            Node::TopK { input, .. } => self.first_rows(id, *input),
            Node::Window { input, .. } => self.windows(id, *input),
            Node::Negate { input } => {
                let (rows, errors) = self.passed_on(*input, id);
                (Data::Rows(negate(rows, "Negate"), self.shaped_for[id]), errors)
            }
            Node::Threshold { input, types } => self.threshold(id, *input, types),
            Node::Loop { inputs, nodes, values, limit } => {
                self.looped(id, inputs, &Loop { nodes, values, limit: limit.clone() })
            }
            Node::Leave { of, variable } => {
                let Data::Looped(values) = &self.done[*of].data else {
                    unreachable!("only loops are left");
                };
                (Data::Rows(values[*variable].clone(), None), self.done[*of].errors.clone())
            }
            Node::Entered { .. } | Node::Variable { .. } => {
                unreachable!("these are inside loops")
            }
            Node::Union { inputs } => {
                let (mut streams, mut errors) = (Vec::new(), BTreeSet::new());
                for input in inputs {
                    let (rows, of_input) = self.passed_on(*input, id);
                    streams.push(rows);
                    errors.extend(of_input);
                }
                (Data::Rows(union::union(self.scope, streams), self.shaped_for[id]), errors)
            }
        }
    }

    fn first_rows(&mut self, id: NodeId, input: NodeId) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let top = self.top_k(id);
        let (rows, mut errors) = self.shaped(input, id);
        let (sink, fallible) = self.sink(id);
        let arranged = arrange_rows(rows, &format!("Arrange for TopK {id}"));
        let (seen, logic) = ((top.first(), top.ties()), top.logic(sink));
        let name = format!("TopK {id}");
        let (rows, errs) = window_with_ties(arranged, &name, seen, logic, fallible);
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    fn windows(&mut self, id: NodeId, input: NodeId) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let windowed = self.windowed(id);
        let (rows, mut errors) = self.shaped(input, id);
        let (sink, fallible) = self.sink(id);
        let arranged = arrange_rows(rows, &format!("Arrange for Window {id}"));
        let fallible = fallible || windowed.is_fallible();
        let (name, settings) = (format!("Window {id}"), &self.plan.settings);
        let (rows, errs) = match Moving::of(&windowed, settings) {
            Some(reach) => {
                let logic = Moving::new(windowed, reach, sink, settings);
                per_key(arranged, &name, logic, fallible)
            }
            None => window(arranged, &name, None, windowed.logic(sink, settings), fallible),
        };
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    fn timed(
        &mut self,
        id: NodeId,
        input: NodeId,
        types: &[ScalarType],
        predicates: &[Expr],
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (shaper, fallible) = self.out(id);
        let fallible = fallible || predicates.iter().any(Expr::is_fallible);
        let settings = &self.plan.settings;
        let filter = Temporal::new(predicates.to_vec(), types, settings)
            .expect("who made the plan has tried it");
        let filter = TimedFilter::new(filter, types, self.plan.until(), settings, shaper);
        let (rows, mut errors) = self.whole(input);
        let (rows, errs) = timed_filter(rows, &format!("Temporal {id}"), filter, fallible);
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    fn flat_map(&mut self, id: NodeId, input: NodeId) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let Node::FlatMap { types, func, args, .. } = &self.plan.nodes[id] else {
            unreachable!("asked for a function");
        };
        let (shaper, fallible) = self.out(id);
        let fallible = fallible || func.is_fallible() || args.iter().any(Expr::is_fallible);
        let expansion = Expansion::new(func, args, types, &self.plan.settings, shaper);
        let (rows, mut errors) = self.whole(input);
        let (name, pressure) = (format!("FlatMap {id}"), self.pressure.clone());
        let (rows, errs) = flat_map(rows, &name, expansion, pressure, fallible);
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    fn threshold(
        &mut self,
        id: NodeId,
        input: NodeId,
        types: &[ScalarType],
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (rows, mut errors) = self.shaped(input, id);
        let (sink, fallible) = self.sink(id);
        let arranged = arrange_rows(rows, &format!("Arrange for Threshold {id}"));
        let logic = positive_rows(types, sink);
        let (rows, errs) = window(arranged, &format!("Threshold {id}"), None, logic, fallible);
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    fn looped(
        &mut self,
        id: NodeId,
        inputs: &[NodeId],
        plan: &Loop<'_>,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (mut entered, mut errors) = (Vec::new(), BTreeSet::new());
        for input in inputs {
            if let Data::Arranged(arranged, layout) = self.done[*input].data.clone() {
                entered.push(Input::Arranged(arranged, layout));
                errors.extend(self.done[*input].errors.iter().copied());
                continue;
            }
            let (rows, of_input) = self.whole(*input);
            entered.push(Input::Rows(rows));
            errors.extend(of_input);
        }
        let (values, errs, places) = iterate(self, id, entered, plan);
        self.places.extend(places);
        errs.into_iter().for_each(|errs| self.note(Some(errs), &mut errors));
        (Data::Looped(values), errors)
    }

    fn constant(
        &mut self,
        rows: &Result<Vec<(Row, Diff)>, EvalError>,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (rows, error) = match rows {
            Ok(rows) => (rows.as_slice(), None),
            Err(error) => (&[][..], Some(error_row(error))),
        };
        let as_of = self.plan.as_of;
        let errors = error.map(|error| {
            let error = constant_error(self.scope, error, as_of);
            self.add_source(error)
        });
        let rows = constant_rows(self.scope, rows, as_of);
        (Data::Rows(rows, None), errors.into_iter().collect())
    }

    fn join(
        &mut self,
        id: NodeId,
        left: NodeId,
        right: NodeId,
        mfp: &Mfp,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (a_rows, a_layout, mut errors) = self.arrangement(left);
        let (b_rows, b_layout, b_errors) = self.arrangement(right);
        errors.extend(b_errors);
        let (shaper, fallible) = self.out(id);
        let logic = join_logic(
            (RowReader::arranged(a_layout), a_layout.types.len()),
            RowReader::arranged(b_layout),
            mfp,
            &self.plan.settings,
            shaper,
        );
        let name = format!("Join {id}");
        let fallible = fallible || mfp.is_fallible();
        let (rows, errs) = join_rows(a_rows, b_rows, &name, self.plan.as_of, logic, fallible);
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for[id]), errors)
    }

    /// A node that is arranged, how, and where its errors come from.
    pub(super) fn arrangement(
        &self,
        id: NodeId,
    ) -> (RowArranged<'s>, &'p Arrangement, BTreeSet<ErrorSource>) {
        let Rendered { data, errors } = &self.done[id];
        let Data::Arranged(arranged, layout) = data else {
            unreachable!("a plan joins arrangements only");
        };
        (arranged.clone(), layout, errors.clone())
    }

    /// The rows that a node became, in the shape that it is to have.
    pub(super) fn rendered(&self, id: NodeId, rows: RowsByKey<'s>) -> Data<'s, 'p> {
        Data::Rows(rows, self.shaped_for[id])
    }

    /// Applies what `logic` makes of a reader to each row of a node; the result is in the shape
    /// that `id` is to have.
    fn each_row(
        &mut self,
        input: NodeId,
        types: &[ScalarType],
        logic: impl FnOnce(RowReader) -> RowLogic,
        fallible: bool,
        id: NodeId,
        name: &str,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (rows, errs) = match self.done[input].data.clone() {
            Data::Rows(rows, _) => transform(rows, name, logic(RowReader::whole(types)), fallible),
            Data::Looped(_) => unreachable!("a loop is left before it is read"),
            Data::Arranged(arranged, layout) => {
                let logic = logic(RowReader::arranged(layout));
                scan(arranged, name, self.plan.as_of, logic, fallible)
            }
        };
        let mut errors = self.done[input].errors.clone();
        self.note(errs, &mut errors);
        (Data::Rows(rows, self.shaped_for.get(id).copied().flatten()), errors)
    }

    /// Takes note of errors, where there can be any.
    pub(super) fn note(&mut self, errs: Option<Rows<'s>>, errors: &mut BTreeSet<ErrorSource>) {
        errors.extend(errs.map(|errs| self.add_source(errs)));
    }

    /// The rows of a node in the shape that `consumer` wants.
    pub(super) fn shaped(
        &mut self,
        input: NodeId,
        consumer: NodeId,
    ) -> (RowsByKey<'s>, BTreeSet<ErrorSource>) {
        if let Data::Rows(rows, shape) = &self.done[input].data
            && *shape == Some(consumer)
        {
            return (rows.clone(), self.done[input].errors.clone());
        }
        let (shaper, fallible) = self.shaper_of(consumer);
        self.shaped_by(input, consumer, shaper, fallible)
    }

    /// The rows of a node as `shaper` makes them, where it reads the columns of `consumer`'s input.
    pub(super) fn shaped_by(
        &mut self,
        input: NodeId,
        consumer: NodeId,
        shaper: Shaper,
        fallible: bool,
    ) -> (RowsByKey<'s>, BTreeSet<ErrorSource>) {
        let types = self.input_types(consumer);
        let settings = self.plan.settings.clone();
        let logic = |reader| reshape(reader, settings, shaper);
        let name = format!("Shape {input} for {consumer}");
        let (data, errors) = self.each_row(input, types, logic, fallible, usize::MAX, &name);
        match data {
            Data::Rows(rows, _) => (rows, errors),
            Data::Arranged(..) | Data::Looped(_) => {
                unreachable!("rows that were read are under way")
            }
        }
    }

    /// The rows of a node, as they are.
    pub(super) fn whole(&mut self, input: NodeId) -> (RowsByKey<'s>, BTreeSet<ErrorSource>) {
        let Rendered { data, errors } = &self.done[input];
        match data.clone() {
            Data::Rows(rows, _) => (rows, errors.clone()),
            Data::Looped(_) => unreachable!("a loop is left before it is read"),
            Data::Arranged(arranged, layout) => {
                let settings = self.plan.settings.clone();
                let logic = reshape(RowReader::arranged(layout), settings, whole_rows());
                let name = format!("Scan {input}");
                (scan(arranged, &name, self.plan.as_of, logic, false).0, errors.clone())
            }
        }
    }

    /// The rows of an input that goes on unchanged in the shape that `id` is to have.
    fn passed_on(&mut self, input: NodeId, id: NodeId) -> (RowsByKey<'s>, BTreeSet<ErrorSource>) {
        match self.shaped_for[id] {
            Some(consumer) => self.shaped(input, consumer),
            None => self.whole(input),
        }
    }

    /// What a node ends with, and whether that can fail.
    pub(super) fn out(&self, id: NodeId) -> (Shaper, bool) {
        match self.shaped_for[id] {
            Some(consumer) => self.shaper_of(consumer),
            None => (whole_rows(), false),
        }
    }

    fn sink(&self, id: NodeId) -> (RowSink, bool) {
        let (shaper, fallible) = self.out(id);
        (RowSink::new(&self.plan.settings, shaper), fallible)
    }

    /// How a consumer wants its rows, and whether making them so can fail.
    fn shaper_of(&self, consumer: NodeId) -> (Shaper, bool) {
        let of_layout = |layout: &Arrangement| {
            (arranged_rows(layout), layout.key.iter().any(Expr::is_fallible))
        };
        match (self.plan.nodes.get(consumer), &self.plan.sink) {
            (Some(Node::Arrange { layout, .. }), _)
            | (Some(Node::HalfJoin { lookup: Lookup { layout, .. }, .. }), _)
            | (Some(Node::Fewest { lookup: Lookup { layout, .. }, .. }), _)
            | (None, Sink::Arrange(layout)) => of_layout(layout),
            (Some(Node::TopK { .. }), _) => (self.top_k(consumer).shaper(), false),
            (Some(Node::Window { .. }), _) => (self.windowed(consumer).shaper(), false),
            (Some(Node::Threshold { types, .. }), _) => (by_whole_row(types), false),
            (Some(Node::Reduce { .. }), _) => self.reduction(consumer).shaper(),
            _ => (whole_rows(), false),
        }
    }

    /// The column types of what a consumer with a shape reads.
    fn input_types(&self, consumer: NodeId) -> &'p [ScalarType] {
        match (self.plan.nodes.get(consumer), &self.plan.sink) {
            (Some(Node::Arrange { layout, .. }), _)
            | (Some(Node::HalfJoin { lookup: Lookup { layout, .. }, .. }), _)
            | (Some(Node::Fewest { lookup: Lookup { layout, .. }, .. }), _)
            | (None, Sink::Arrange(layout)) => &layout.types,
            (Some(Node::TopK { types, .. }), _)
            | (Some(Node::Window { types, .. }), _)
            | (Some(Node::Threshold { types, .. }), _)
            | (Some(Node::Reduce { types, .. }), _) => types,
            _ => &[],
        }
    }

    fn top_k(&self, id: NodeId) -> TopK {
        match &self.plan.nodes[id] {
            Node::TopK { types, group_key, order, limit, offset, ties, rank, .. } => TopK {
                types: types.clone(),
                group_key: group_key.clone(),
                order: order.clone(),
                limit: *limit,
                offset: *offset,
                ties: *ties,
                rank: *rank,
            },
            _ => unreachable!("asked for a top-k"),
        }
    }

    fn windowed(&self, id: NodeId) -> Windowed {
        match &self.plan.nodes[id] {
            Node::Window { types, partition, order, calls, .. } => {
                Windowed::new(types, partition, order, calls)
            }
            _ => unreachable!("asked for windows"),
        }
    }

    fn reduction(&self, id: NodeId) -> Reduction {
        match &self.plan.nodes[id] {
            Node::Reduce { key, key_types, aggregates, types, .. } => {
                Reduction::new(key, key_types, aggregates, types)
            }
            _ => unreachable!("asked for a reduction"),
        }
    }

    /// What the last node became.
    pub(super) fn last(&self) -> (NodeId, &Data<'s, 'p>) {
        let last = self.done.len() - 1;
        (last, &self.done[last].data)
    }

    /// Where the errors of a node come from.
    pub(super) fn errors_of(&self, id: NodeId) -> BTreeSet<ErrorSource> {
        self.done[id].errors.clone()
    }

    /// Whether a node is an arrangement that others maintain.
    pub(super) fn is_import(&self, id: NodeId) -> bool {
        matches!(self.plan.nodes[id], Node::Import { .. })
    }

    /// All errors of those sources; none if there can be none.
    pub(super) fn errors(&self, of: &BTreeSet<ErrorSource>) -> Option<Rows<'s>> {
        let streams: Vec<Rows<'s>> = of.iter().map(|i| self.sources[*i].clone()).collect();
        (!streams.is_empty()).then(|| union::union(self.scope, streams))
    }
}

/// For each node, the single consumer whose shape its rows are to have.
fn shapes(plan: &Dataflow) -> Vec<Option<NodeId>> {
    let count = plan.nodes.len();
    let mut uses = vec![0usize; count];
    plan.nodes.iter().flat_map(inputs).for_each(|input| uses[input] += 1);
    if let Some(last) = uses.last_mut() {
        *last += 1;
    }
    let mut shapes = vec![None; count];
    let want = |input: NodeId, consumer: NodeId, shapes: &mut Vec<Option<NodeId>>| {
        let able = !matches!(
            plan.nodes[input],
            Node::Constant { .. }
                | Node::Import { .. }
                | Node::Arrange { .. }
                | Node::Loop { .. }
                | Node::Leave { .. }
        );
        if able && uses[input] == 1 {
            shapes[input] = Some(consumer);
        }
    };
    if matches!(plan.sink, Sink::Arrange(_)) && count > 0 {
        want(count - 1, count, &mut shapes);
    }
    for (id, node) in plan.nodes.iter().enumerate().rev() {
        match node {
            Node::Arrange { input, .. }
            | Node::TopK { input, .. }
            | Node::Window { input, .. }
            | Node::Threshold { input, .. }
            | Node::HalfJoin { lookup: Lookup { input, .. }, .. }
            | Node::Fewest { lookup: Lookup { input, .. }, .. } => want(*input, id, &mut shapes),
            Node::Reduce { input, types, key, key_types, aggregates } => {
                if Reduction::new(key, key_types, aggregates, types).has_one_shape() {
                    want(*input, id, &mut shapes);
                }
            }
            Node::Negate { .. } | Node::Union { .. } => {
                if let Some(consumer) = shapes[id] {
                    inputs(node).for_each(|input| want(input, consumer, &mut shapes));
                }
            }
            Node::Constant { .. }
            | Node::Import { .. }
            | Node::Mfp { .. }
            | Node::Temporal { .. }
            | Node::FlatMap { .. }
            | Node::Loop { .. }
            | Node::Leave { .. }
            | Node::Entered { .. }
            | Node::Variable { .. }
            | Node::Join { .. } => {}
        }
    }
    shapes
}

/// The nodes that a node reads.
fn inputs(node: &Node) -> impl Iterator<Item = NodeId> {
    let (one, two, many): (Option<NodeId>, Option<NodeId>, &[NodeId]) = match node {
        Node::Constant { .. }
        | Node::Import { .. }
        | Node::Entered { .. }
        | Node::Variable { .. } => (None, None, &[]),
        Node::Leave { of, .. } => (Some(*of), None, &[]),
        Node::Loop { inputs, .. } => (None, None, inputs),
        Node::Mfp { input, .. }
        | Node::Temporal { input, .. }
        | Node::FlatMap { input, .. }
        | Node::Arrange { input, .. }
        | Node::Reduce { input, .. }
        | Node::TopK { input, .. }
        | Node::Window { input, .. }
        | Node::Negate { input }
        | Node::Threshold { input, .. } => (Some(*input), None, &[]),
        Node::Join { left, right, .. } => (Some(*left), Some(*right), &[]),
        Node::HalfJoin { lookup, .. } | Node::Fewest { lookup, .. } => {
            (Some(lookup.input), Some(lookup.right), &[])
        }
        Node::Union { inputs } => (None, None, inputs),
    };
    one.into_iter().chain(two).chain(many.iter().copied())
}

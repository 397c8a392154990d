//! Windows over partitions of many blocks: what is spared was rightly spared, and it is spared.

use std::cell::Cell;
use std::rc::Rc;

use bumpalo::Bump;
use differential_dataflow::trace::Navigable;
use rand::prelude::*;
use timely::dataflow::operators::probe::{Handle, Probe};

use super::super::group::{Old, Output, PerKey, per_key};
use super::super::moving::Moving;
use super::super::partition::Windowed;
use super::super::rows::{RowSink, whole_rows};
use super::harness::{History, check, dataflow, tables};
use crate::dataflow::arrangement::RowBatch;
use crate::dataflow::emit::Emit;
use crate::dataflow::testing::Table;
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Bound, Exclusion, Frame, FrameMode, WindowCall, WindowFunc};
use crate::expr::window::reach::Reach;
use crate::expr::window::testing::{random_call, random_frame};
use crate::plan::physical::Node;
use crate::plan::relation::ColumnOrder;
use crate::repr::numeric::Numeric;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Row, ScalarType};

const INT4_DIV: u32 = 154;

/// A row whose order is `by`.
fn row(by: Option<i32>, value: Option<i32>, text: &str) -> Row {
    let arena = Bump::new();
    let int = |value: Option<i32>| value.map_or(Datum::Null, Datum::Int4);
    let numeric = Datum::Numeric(Numeric::from_i128(1).encode_in(&arena));
    pack(&[int(by), int(value), Datum::Text(text), numeric])
}

fn random_row(rng: &mut StdRng, keys: i32) -> Row {
    let by = rng.random_bool(0.95).then(|| rng.random_range(0..keys));
    // Few zeros, which may be divided by.
    let value = rng.random_bool(0.9).then(|| rng.random_range(-1..90));
    row(by, value, ["a", "b"][rng.random_range(0..2)])
}

/// A partition, and few changes at each time.
fn random_partition(rng: &mut StdRng) -> History {
    let keys = [3, 12, 60][rng.random_range(0..3)];
    let mut live: Vec<Row> = (0..rng.random_range(5..50)).map(|_| random_row(rng, keys)).collect();
    let mut history = vec![live.iter().map(|row| (0, row.clone(), 1)).collect::<Vec<_>>()];
    for _ in 0..10 {
        let mut changes = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            if !live.is_empty() && rng.random_bool(0.5) {
                changes.push((0, live.swap_remove(rng.random_range(0..live.len())), -1));
            } else {
                live.push(random_row(rng, keys));
                changes.extend(live.last().map(|row| (0, row.clone(), 1)));
            }
        }
        history.push(changes);
    }
    history
}

fn call_over(func: AggFunc, arg: Expr, frame: Frame) -> WindowCall {
    let over = WindowFunc::Aggregate(Box::new(Aggregate::of(func, arg)));
    WindowCall { func: over, args: vec![], frame }
}

#[test]
fn what_a_change_does_not_reach_is_what_it_was() {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let mut rng = StdRng::seed_from_u64(7);
    let (mut near, mut seen) = (0, 0);
    for _ in 0..250 {
        let types = tables()[0].types.clone();
        let by = |c, r: &mut StdRng| ColumnOrder {
            column: c,
            descending: r.random(),
            nulls_first: r.random(),
        };
        let order: Vec<ColumnOrder> =
            [0, 1].iter().take(rng.random_range(1..3)).map(|c| by(*c, &mut rng)).collect();
        let calls = (0..rng.random_range(1..4)).map(|_| {
            let (a, b) = (Expr::Column(1), Expr::Column(0));
            let arg = match rng.random_bool(0.1) {
                true => Expr::call_by_oid(INT4_DIV, vec![b, a]),
                false => a,
            };
            let filter = rng.random_bool(0.2).then(|| Expr::Column(0).is_not_null());
            let mut frame = random_frame(&mut rng, order.len(), true);
            if frame.end == Bound::UnboundedFollowing {
                frame.end = Bound::CurrentRow;
            }
            random_call(&mut rng, arg, filter, frame)
        });
        let calls: Vec<WindowCall> = calls.collect();
        let cx = EvalContext { arena: &arena, settings: &settings };
        near += usize::from(Reach::of(&*arena.alloc(calls.clone()), &cx).is_some());
        let nodes = vec![
            Node::Import { import: 0 },
            Node::Window { input: 0, types, partition: vec![], order, calls },
        ];
        seen += check(&dataflow(nodes), &random_partition(&mut rng), 1, None);
    }
    assert!(near > 100, "{near}");
    assert!(seen > 1_500, "{seen}");
}

/// The logic of windows that adds up the rows that it reads.
struct Counted(Moving, Rc<Cell<usize>>);

type Batch = Rc<RowBatch>;

impl PerKey<Batch> for Counted {
    fn treat(
        &mut self,
        fresh: (&Batch, &mut <Batch as Navigable>::Cursor),
        old: &mut Old<Batch>,
        out: &mut Output,
    ) -> usize {
        let work = self.0.treat(fresh, old, out);
        self.1.set(self.1.get() + work);
        work
    }
}

/// How many rows of 3,000 are read when the one in the middle changes its value, and how many when
/// there is one more.
fn rows_read(call: WindowCall) -> (usize, usize) {
    let types = tables()[0].types.clone();
    let order = [ColumnOrder { column: 0, descending: false, nulls_first: false }];
    let settings = FormatSettings::default();
    let windowed = Windowed::new(&types, &[], &order, &[call]);
    let mut shaper = windowed.shaper();
    let mut keyed = |by: i32, value: i32| {
        let arena = Bump::new();
        let row = row(Some(by), Some(value), "");
        let (mut datums, mut emit) = (Vec::new(), Emit::default());
        decode_values(&types, row.bytes(), &mut datums);
        shaper(&datums, &EvalContext { arena: &arena, settings: &settings }, &mut emit);
        emit.oks.pop().unwrap()
    };
    let all: Vec<_> = (0..3_000).map(|by| (keyed(by, by), 1)).collect();
    let update = [(keyed(1_500, 1_500), -1), (keyed(1_500, 7), 1)];
    let insert = [(keyed(2_900, 2), 1)];
    timely::execute_directly(move |worker| {
        let mut table = Table::create(worker);
        let (read, probe) = (Rc::new(Cell::new(0)), Handle::new());
        let reach = Moving::of(&windowed, &settings).expect("it is near-sighted or runs");
        let sink = RowSink::new(&settings, whole_rows());
        let logic = Counted(Moving::new(windowed, reach, sink, &settings), read.clone());
        worker.dataflow(|scope| {
            let (rows, _) = per_key(table.trace.import(scope), "Counted", logic, false);
            rows.inner.probe_with(&probe);
        });
        let mut write = |changes: &[_], time| {
            read.set(0);
            table.write(changes, time);
            while probe.less_equal(&time) {
                worker.step();
            }
            read.get()
        };
        write(&all, 1);
        (write(&update, 2), write(&insert, 3))
    })
}

#[test]
fn rows_that_a_change_does_not_reach_are_not_read() {
    let value = || Expr::Column(1);
    let int = |by| Expr::literal(Datum::Int4(by), ScalarType::Int4);
    let frame = |mode, start, end| Frame { mode, start, end, exclusion: Exclusion::NoOthers };
    let running = || frame(FrameMode::Rows, Bound::UnboundedPreceding, Bound::CurrentRow);
    let near = frame(FrameMode::Range, Bound::Preceding(int(5)), Bound::CurrentRow);
    let of = |func, args| WindowCall { func, args, frame: Frame::default() };
    let int4 = ScalarType::Int4;
    // Near-sighted.
    for call in [
        of(WindowFunc::Lag, vec![value()]),
        call_over(AggFunc::Sum(int4), value(), near),
        of(WindowFunc::LastValue, vec![value()]),
    ] {
        let name = call.to_string();
        let (update, insert) = rows_read(call);
        assert!(update < 60 && insert < 60, "{name}: {update}, {insert}");
    }
    // The count is the same after an update; what is behind a new row is counted anew.
    for call in [of(WindowFunc::RowNumber, vec![]), of(WindowFunc::DenseRank, vec![])] {
        let (update, insert) = rows_read(call);
        assert!(update < 30 && (90..300).contains(&insert), "{update}, {insert}");
    }
    // A greatest value is not moved by lesser ones, a sum is.
    let (update, insert) = rows_read(call_over(AggFunc::Sum(int4), value(), running()));
    assert!((1_400..3_200).contains(&update) && insert < 300, "{update}, {insert}");
    let (update, insert) = rows_read(call_over(AggFunc::Max(int4), value(), running()));
    assert!(update < 60 && insert < 300, "{update}, {insert}");
}

//! The workloads as programs of their own, on differential with typed tuples.
//!
//! Each keeps the arrangements that it needs, by keys of the right type, and no more; that what it
//! reads is a table that others may read as well is not its business.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use differential_dataflow::VecCollection;
use differential_dataflow::input::InputSession;
use differential_dataflow::operators::iterate::Variable;
use timely::dataflow::Scope;
use timely::dataflow::operators::probe::Handle;
use timely::order::Product;
use timely::worker::Worker;

use crate::allocator::{client_cpu_ns, live};
use crate::figures::{Check, Figures, SIZES};
use crate::graphs::{Fact, Workload};

type Time = u32;
type Diff = isize;
type Node = u32;
type Ones<'s> = VecCollection<'s, Time, Node, Diff>;
type Pairs<'s> = VecCollection<'s, Time, (Node, Node), Diff>;
type Triples<'s> = VecCollection<'s, Time, (Node, Node, Node), Diff>;

/// A table, of one, two or three numbers.
enum Input {
    One(InputSession<Time, Node, Diff>),
    Two(InputSession<Time, (Node, Node), Diff>),
    Three(InputSession<Time, (Node, Node, Node), Diff>),
}

impl Input {
    fn new(arity: usize) -> Input {
        match arity {
            1 => Input::One(InputSession::new()),
            2 => Input::Two(InputSession::new()),
            _ => Input::Three(InputSession::new()),
        }
    }

    fn ones<'s>(&mut self, scope: Scope<'s, Time>) -> Ones<'s> {
        let Input::One(input) = self else { panic!("this table has another arity") };
        input.to_collection(scope)
    }

    fn pairs<'s>(&mut self, scope: Scope<'s, Time>) -> Pairs<'s> {
        let Input::Two(input) = self else { panic!("this table has another arity") };
        input.to_collection(scope)
    }

    fn triples<'s>(&mut self, scope: Scope<'s, Time>) -> Triples<'s> {
        let Input::Three(input) = self else { panic!("this table has another arity") };
        input.to_collection(scope)
    }

    fn update(&mut self, [a, b, c]: [u32; 3], diff: Diff) {
        match self {
            Input::One(input) => input.update(a, diff),
            Input::Two(input) => input.update((a, b), diff),
            Input::Three(input) => input.update((a, b, c), diff),
        }
    }

    fn advance(&mut self, to: Time) {
        match self {
            Input::One(input) => (input.advance_to(to), input.flush()),
            Input::Two(input) => (input.advance_to(to), input.flush()),
            Input::Three(input) => (input.advance_to(to), input.flush()),
        };
    }
}

fn closure(edges: Pairs<'_>) -> Pairs<'_> {
    let outer = edges.scope();
    outer.iterative::<u32, _, _>(|inner| {
        let edges = edges.enter(inner);
        let (variable, paths) = Variable::new(inner, Product::new(Default::default(), 1));
        let by_source = edges.clone().arrange_by_key();
        let longer = paths.map(|(x, y)| (y, x)).arrange_by_key();
        let longer = longer.join_core(by_source, |_, x, z| Some((*x, *z)));
        let next = longer.concat(edges).distinct();
        variable.set(next.clone());
        next.leave(outer)
    })
}

fn reach<'s>(edges: Pairs<'s>, roots: Ones<'s>) -> Ones<'s> {
    let outer = edges.scope();
    outer.iterative::<u32, _, _>(|inner| {
        let (edges, roots) = (edges.enter(inner).arrange_by_key(), roots.enter(inner));
        let (variable, reached) = Variable::new(inner, Product::new(Default::default(), 1));
        let further = reached.arrange_by_self().join_core(edges, |_, _, y| Some(*y));
        let next = further.concat(roots).distinct();
        variable.set(next.clone());
        next.leave(outer)
    })
}

fn triangles(edges: Pairs<'_>) -> Triples<'_> {
    let edges = edges.distinct();
    let by_source = edges.clone().arrange_by_key();
    let by_target = edges.clone().map(|(x, y)| (y, x)).arrange_by_key();
    let wedges = by_target.join_core(by_source, |y, x, z| Some(((*z, *x), *y)));
    let closing = edges.arrange_by_self();
    wedges.arrange_by_key().join_core(closing, |(z, x), y, _| Some((*x, *y, *z)))
}

fn generation(parents: Pairs<'_>) -> Pairs<'_> {
    let outer = parents.scope();
    outer.iterative::<u32, _, _>(|inner| {
        let parents = parents.enter(inner).arrange_by_key();
        let base = parents.clone().join_core(parents.clone(), |_, x, y| Some((*x, *y)));
        let (variable, same) = Variable::new(inner, Product::new(Default::default(), 1));
        let half = same.arrange_by_key().join_core(parents.clone(), |_, b, x| Some((*b, *x)));
        let whole = half.arrange_by_key().join_core(parents, |_, x, y| Some((*x, *y)));
        let next = whole.concat(base).distinct();
        variable.set(next.clone());
        next.leave(outer)
    })
}

fn andersen<'s>([new, copy, load, store]: [Pairs<'s>; 4]) -> Pairs<'s> {
    let outer = new.scope();
    outer.iterative::<u32, _, _>(|inner| {
        let turned = |pairs: Pairs<'s>| pairs.enter(inner).map(|(v, w)| (w, v)).arrange_by_key();
        let (copy, load, store) = (turned(copy), turned(load), store.enter(inner).arrange_by_key());
        let (variable, points) = Variable::new(inner, Product::new(Default::default(), 1));
        let points = points.arrange_by_key();
        let copied = points.clone().join_core(copy, |_, o, v| Some((*v, *o)));
        let through = points.clone().join_core(load, |_, p, v| Some((*p, *v))).arrange_by_key();
        let loaded = through.join_core(points.clone(), |_, v, o| Some((*v, *o)));
        let into = points.clone().join_core(store, |_, p, w| Some((*w, *p))).arrange_by_key();
        let stored = into.join_core(points, |_, p, o| Some((*p, *o)));
        let next = copied.concat(loaded).concat(stored).concat(new.enter(inner)).distinct();
        variable.set(next.clone());
        next.leave(outer)
    })
}

fn labels<'s>(call: Triples<'s>, back: Triples<'s>) -> Pairs<'s> {
    let outer = call.scope();
    outer.iterative::<u32, _, _>(|inner| {
        let (call, back) = (call.enter(inner), back.enter(inner));
        let by_end = call.clone().map(|(l, x, a)| ((l, a), x)).arrange_by_key();
        let by_target = call.map(|(l, x, a)| (a, (l, x))).arrange_by_key();
        let by_begin = back.map(|(l, b, y)| ((l, b), y)).arrange_by_key();
        let base = by_end.join_core(by_begin.clone(), |_, x, y| Some((*x, *y)));
        let (variable, same) = Variable::new(inner, Product::new(Default::default(), 1));
        let by_first = same.clone().arrange_by_key();
        let by_second = same.map(|(x, y)| (y, x)).arrange_by_key();
        let half = by_first.clone().join_core(by_target, |_, b, (l, x)| Some(((*l, *b), *x)));
        let around = half.arrange_by_key().join_core(by_begin, |_, x, y| Some((*x, *y)));
        let along = by_second.join_core(by_first, |_, x, z| Some((*x, *z)));
        let next = around.concat(along).concat(base).distinct();
        variable.set(next.clone());
        next.leave(outer)
    })
}

/// A query that is maintained.
struct Program {
    inputs: Vec<Input>,
    probe: Handle<Time>,
    now: Time,
    check: Rc<RefCell<Check>>,
}

impl Program {
    fn new(workload: &Workload, worker: &mut Worker) -> Program {
        let mut inputs: Vec<Input> =
            workload.tables.iter().map(|(_, arity)| Input::new(*arity)).collect();
        let (probe, check) = (Handle::new(), Rc::new(RefCell::new(Check::default())));
        let name = workload.name;
        worker.dataflow(|scope| {
            let checked = Rc::clone(&check);
            let pairs = |pairs: Pairs<'_>| {
                let checked = Rc::clone(&check);
                let add = move |((x, y), _, n): &_| {
                    checked.borrow_mut().add(&[*x, *y], *n as i64);
                };
                pairs.consolidate().inspect(add).probe_with(&probe);
            };
            match (name, &mut inputs[..]) {
                ("closure", [edges]) => pairs(closure(edges.pairs(scope))),
                ("generation", [parents]) => pairs(generation(parents.pairs(scope))),
                ("andersen", [a, b, c, d]) => {
                    pairs(andersen([a, b, c, d].map(|input| input.pairs(scope))));
                }
                ("labels", [call, back]) => {
                    pairs(labels(call.triples(scope), back.triples(scope)));
                }
                ("reach", [edges, roots]) => {
                    let add = move |(x, _, n): &(Node, _, Diff)| {
                        checked.borrow_mut().add(&[*x], *n as i64);
                    };
                    let reached = reach(edges.pairs(scope), roots.ones(scope));
                    reached.consolidate().inspect(add).probe_with(&probe);
                }
                ("triangles", [edges]) => {
                    let add = move |((x, y, z), _, n): &((Node, Node, Node), _, Diff)| {
                        checked.borrow_mut().add(&[*x, *y, *z], *n as i64);
                    };
                    let found = triangles(edges.pairs(scope));
                    found.consolidate().inspect(add).probe_with(&probe);
                }
                (other, _) => panic!("{other} is not written"),
            }
        });
        Program { inputs, probe, now: 0, check }
    }

    /// One transaction; how many microseconds until all that it changes has come out.
    fn commit(&mut self, worker: &mut Worker, facts: &[(Fact, i64)]) -> f64 {
        let start = Instant::now();
        for ((table, numbers), diff) in facts {
            self.inputs[*table].update(*numbers, *diff as Diff);
        }
        self.now += 1;
        for input in &mut self.inputs {
            input.advance(self.now);
        }
        while self.probe.less_than(&self.now) {
            worker.step_or_park(None);
        }
        start.elapsed().as_secs_f64() * 1e6
    }
}

/// Loads and changes.
pub fn measure(workload: &Workload) -> Figures {
    let workload = *workload;
    let measured = timely::execute(timely::Config::process(1), move |worker| {
        let mut figures = Figures::default();
        let facts: Vec<(Fact, i64)> = workload.facts().into_iter().map(|f| (f, 1)).collect();
        let mut query = Program::new(&workload, worker);
        let (before, cpu) = (live(), client_cpu_ns());
        figures.add("load_s", query.commit(worker, &facts) / 1e6);
        figures.add("load_cpu_s", (client_cpu_ns() - cpu) / 1e9);
        figures.add("live_mb", (live() as f64 - before as f64) / (1 << 20) as f64);
        for (size, turns) in SIZES {
            let (mut latencies, cpu) = (Vec::new(), client_cpu_ns());
            for turn in 0..turns {
                let changes = workload.changes(size, turn);
                latencies.push(query.commit(worker, &changes));
                let back: Vec<_> = changes.iter().map(|(fact, diff)| (*fact, -diff)).collect();
                query.commit(worker, &back);
            }
            figures.add_changes(size, latencies, (client_cpu_ns() - cpu) / 1e3);
        }
        figures.add("live_end_mb", (live() as f64 - before as f64) / (1 << 20) as f64);
        figures.add_check(*query.check.borrow());
        figures.0
    });
    let mut workers = measured.expect("one worker can be started").join().into_iter();
    let figures = workers.next().expect("there is one worker").expect("it ends well");
    Figures(figures)
}

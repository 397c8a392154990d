//! Grouping: DISTINCT and aggregates.
//!
//! A [`Reduction`] sorts the aggregates by how they are maintained. What can be added up shares
//! one arrangement with accumulations as differences ([`super::accumulate`]); each different
//! argument has a slot there, used by all sums, means and counts of it. Each extreme has an
//! arrangement sorted by its argument ([`super::extreme`]), and so has each aggregate that looks at
//! all rows in order ([`super::collected`]). Arguments of DISTINCT sums are made distinct first and
//! then added up like the others. Where a key's bytes do not tell what was written (`1.0` and
//! `1.00` are one group), the least that was written is a further part.
//!
//! If only one of these parts is needed its rows are the answer, and the reduction's input can be
//! made in its shape by whatever comes before; otherwise parts are [collated](super::collate).

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::accum::Accum;
use super::accumulate::{AccumLogic, accumulate};
use super::build::{ErrorSource, Walk};
use super::collate::{Finish, collate};
use super::collected::Collected;
use super::extreme::Extreme;
use super::rows::{RowSink, Shaper, evaluate_all};
use super::threshold::is_identity;
use super::union::union;
use super::window::{GroupLogic, window};
use crate::dataflow::arrangement::{RowsByKey, arrange_rows};
use crate::expr::aggregate::sums::{Kind, Part as SumPart, answer, to_int8};
use crate::expr::aggregate::{AggFunc, Aggregate, Method};
use crate::expr::coefficients::{AccumBytes, Place, put};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::plan::physical::NodeId;
use crate::repr::key::{KeyMode, decode_key, encode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{ColumnType, Datum, Row, ScalarType};

/// A reduction, taken apart.
#[derive(Clone)]
pub struct Reduction {
    key: Vec<Expr>,
    key_types: Vec<ScalarType>,
    /// Whether the key's columns can be read from the key.
    identity: bool,
    slots: Vec<Slot>,
    extremes: Vec<Extreme>,
    collected: Vec<Collected>,
    outputs: Vec<Out>,
}

/// Something that is summed.
#[derive(Clone, Debug)]
struct Slot {
    kind: Kind,
    args: Vec<Expr>,
    /// Rows with a NULL among so many first arguments are passed over.
    strict: usize,
    filter: Option<Expr>,
    /// The arguments' types, where equal arguments count once.
    distinct: Option<Vec<ScalarType>>,
}

/// An aggregate of the output.
#[derive(Clone, Copy, Debug)]
enum Out {
    /// The number of rows.
    Rows,
    /// What a slot answers.
    Slot(usize, AggFunc),
    /// An extreme.
    Extreme(usize),
    /// What is computed of all rows.
    Collected(usize),
}

/// What is maintained by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The key as it was written; where the key tells that, only that it is there.
    Key,
    /// All that is added up.
    Sums,
    /// An extreme.
    Extreme(usize),
    /// What is computed of all rows.
    Collected(usize),
}

impl Reduction {
    /// Takes a reduction apart. `types` are those of the input's columns.
    pub fn new(
        key: &[Expr],
        key_types: &[ScalarType],
        aggregates: &[Aggregate],
        types: &[ScalarType],
    ) -> Reduction {
        let mut reduction = Reduction {
            key: key.to_vec(),
            key_types: key_types.to_vec(),
            identity: is_identity(key_types),
            slots: Vec::new(),
            extremes: Vec::new(),
            collected: Vec::new(),
            outputs: Vec::new(),
        };
        // Sums first: a count of the same argument then finds their slot.
        let mut order: Vec<usize> = (0..aggregates.len()).collect();
        order.sort_by_key(|i| aggregates[*i].func.method() == Method::Sum(Kind::Count));
        let mut outputs = vec![Out::Rows; aggregates.len()];
        for i in order {
            outputs[i] = reduction.place(&aggregates[i], types);
        }
        reduction.outputs = outputs;
        reduction
    }

    /// Finds or makes the place of an aggregate.
    fn place(&mut self, aggregate: &Aggregate, types: &[ScalarType]) -> Out {
        let Aggregate { func, args, distinct, filter, .. } = aggregate;
        let kind = match func.method() {
            Method::Sum(kind) => kind,
            Method::Collect => {
                let types = argument_types(aggregate, types);
                let collected = Collected { aggregate: aggregate.clone(), types };
                let at = self.collected.iter().position(|other| *other == collected);
                return Out::Collected(at.unwrap_or_else(|| {
                    self.collected.push(collected);
                    self.collected.len() - 1
                }));
            }
            Method::Extreme { ty, greatest } => {
                let (arg, filter) = (args[0].clone(), filter.clone());
                let extreme = Extreme { arg, ty, filter, greatest };
                let at = self.extremes.iter().position(|other| *other == extreme);
                return Out::Extreme(at.unwrap_or_else(|| {
                    self.extremes.push(extreme);
                    self.extremes.len() - 1
                }));
            }
        };
        if *func == AggFunc::CountStar && filter.is_none() {
            return Out::Rows;
        }
        let fits = |slot: &Slot| {
            (slot.kind == kind || kind == Kind::Count)
                && slot.args == *args
                && slot.filter == *filter
                && slot.distinct.is_some() == *distinct
        };
        let at = self.slots.iter().position(fits);
        let at = at.unwrap_or_else(|| {
            let distinct = distinct.then(|| argument_types(aggregate, types));
            let (args, filter, strict) = (args.clone(), filter.clone(), func.strict_args());
            self.slots.push(Slot { kind, args, strict, filter, distinct });
            self.slots.len() - 1
        });
        Out::Slot(at, *func)
    }

    /// What must be maintained.
    fn parts(&self) -> Vec<Part> {
        let sums = self.outputs.iter().any(|out| matches!(out, Out::Rows | Out::Slot(..)));
        let mut parts = Vec::new();
        if !self.identity || self.outputs.is_empty() {
            parts.push(Part::Key);
        }
        if sums {
            parts.push(Part::Sums);
        }
        parts.extend((0..self.extremes.len()).map(Part::Extreme));
        parts.extend((0..self.collected.len()).map(Part::Collected));
        parts
    }

    /// Whether all is made of one shape of the input.
    pub fn has_one_shape(&self) -> bool {
        self.parts().len() == 1 && self.slots.iter().all(|slot| slot.distinct.is_none())
    }

    /// The input's shape, where there is one, and whether making it can fail.
    pub fn shaper(&self) -> (Shaper, bool) {
        self.part_shaper(self.parts()[0])
    }

    /// Renders the reduction `id` of `input`; its rows end in the shape of `out`.
    pub(super) fn render<'s>(
        &self,
        walk: &mut Walk<'s, '_>,
        (input, id): (NodeId, NodeId),
        (sink, out_fallible): (RowSink, bool),
        errors: &mut BTreeSet<ErrorSource>,
    ) -> RowsByKey<'s> {
        let parts = self.parts();
        let key = self.identity.then(|| self.key_types.clone());
        // What is asked for twice is one part with one datum.
        let is_whole = |part| match part {
            Part::Key | Part::Sums => true,
            Part::Extreme(_) | Part::Collected(_) => self.outputs.len() == 1,
        };
        if let [part] = parts[..]
            && is_whole(part)
        {
            let finish = Finish::Whole { sink, key };
            return self.part(walk, (input, id), part, finish, out_fallible, errors);
        }
        let streams = parts.iter().enumerate().map(|(number, part)| {
            self.part(walk, (input, id), *part, Finish::part(number), false, errors)
        });
        let streams: Vec<_> = streams.collect();
        let rows = arrange_rows(union(walk.scope, streams), &format!("Arrange parts {id}"));
        let types: Vec<_> = parts.iter().map(|part| self.part_types(*part)).collect();
        let logic = collate(types, self.columns(&parts), key, sink);
        let (rows, errs) = window(rows, &format!("Collate {id}"), None, logic, out_fallible);
        walk.note(errs, errors);
        rows
    }

    /// The logic of the only part, over all rows of a group, and whether it can fail; none where
    /// there are several parts, or sums.
    pub fn whole_logic(
        &self,
        settings: &FormatSettings,
        sink: RowSink,
    ) -> Option<(GroupLogic, bool)> {
        let key = self.identity.then(|| self.key_types.clone());
        let finish = Finish::Whole { sink, key };
        match (&self.parts()[..], self.outputs.len()) {
            ([Part::Key], _) => Some((self.key_logic(finish), false)),
            ([Part::Extreme(at)], 1) => {
                Some((extreme_logic(self.extremes[*at].clone(), finish), false))
            }
            ([Part::Collected(at)], 1) => {
                Some((self.collected[*at].clone().logic(settings.clone(), finish), true))
            }
            _ => None,
        }
    }

    /// Renders one part.
    fn part<'s>(
        &self,
        walk: &mut Walk<'s, '_>,
        (input, id): (NodeId, NodeId),
        part: Part,
        finish: Finish,
        fallible: bool,
        errors: &mut BTreeSet<ErrorSource>,
    ) -> RowsByKey<'s> {
        let (rows, of_input) = if self.has_one_shape() {
            walk.shaped(input, id)
        } else {
            let (shaper, fallible) = self.part_shaper(part);
            walk.shaped_by(input, id, shaper, fallible)
        };
        errors.extend(of_input);
        let (name, arrange) = (format!("Reduce {id}"), format!("Arrange for Reduce {id}"));
        // Sums can overflow, and what is computed of all rows can fail.
        let fallible = fallible || matches!(part, Part::Sums | Part::Collected(_));
        let (rows, errs) = match part {
            Part::Key => {
                let rows = arrange_rows(rows, &arrange);
                window(rows, &name, Some(1), self.key_logic(finish), fallible)
            }
            Part::Extreme(at) => {
                let rows = arrange_rows(rows, &arrange);
                let logic = extreme_logic(self.extremes[at].clone(), finish);
                window(rows, &name, Some(1), logic, fallible)
            }
            Part::Collected(at) => {
                let rows = arrange_rows(rows, &arrange);
                let logic = self.collected[at].clone().logic(walk.plan.settings.clone(), finish);
                window(rows, &name, None, logic, fallible)
            }
            Part::Sums => {
                let mut streams = vec![rows];
                for slot in (0..self.slots.len()).filter(|i| self.slots[*i].distinct.is_some()) {
                    streams.push(self.distinct_slot(walk, (input, id), slot, errors));
                }
                let rows = union(walk.scope, streams);
                accumulate(rows, &name, self.sum_logic(finish), fallible)
            }
        };
        walk.note(errs, errors);
        rows
    }

    /// What the distinct arguments of a slot contribute.
    fn distinct_slot<'s>(
        &self,
        walk: &mut Walk<'s, '_>,
        (input, id): (NodeId, NodeId),
        slot: usize,
        errors: &mut BTreeSet<ErrorSource>,
    ) -> RowsByKey<'s> {
        let (shaper, fallible) = self.distinct_shaper(slot);
        let (rows, of_input) = walk.shaped_by(input, id, shaper, fallible);
        errors.extend(of_input);
        let rows = arrange_rows(rows, &format!("Arrange distinct {id}"));
        window(rows, &format!("Distinct {id}"), Some(1), self.distinct_logic(slot), false).0
    }

    /// The types of the datums that a part answers with.
    fn part_types(&self, part: Part) -> Vec<ScalarType> {
        match part {
            Part::Key if self.identity => Vec::new(),
            Part::Key => self.key_types.clone(),
            Part::Extreme(at) => vec![self.extremes[at].ty],
            Part::Collected(at) => {
                vec![self.collected[at].aggregate.func.output_type().scalar]
            }
            Part::Sums => {
                let sums = self.outputs.iter().filter_map(|out| match out {
                    Out::Rows => Some(ScalarType::Int8),
                    Out::Slot(_, func) => Some(func.output_type().scalar),
                    Out::Extreme(_) | Out::Collected(_) => None,
                });
                sums.collect()
            }
        }
    }

    /// Where the columns of the answer are in the datums of all parts; the key's columns are
    /// among them unless they are read from the key.
    fn columns(&self, parts: &[Part]) -> Vec<usize> {
        let starts = parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += self.part_types(*part).len();
            Some((*part, start))
        });
        let starts: Vec<(Part, usize)> = starts.collect();
        let start =
            |part: Part| starts.iter().find(|(p, _)| *p == part).map_or(0, |(_, start)| *start);
        let mut columns = Vec::new();
        if !self.identity {
            columns.extend(0..self.key_types.len());
        }
        let mut next_sum = start(Part::Sums);
        for out in &self.outputs {
            match out {
                Out::Rows | Out::Slot(..) => {
                    columns.push(next_sum);
                    next_sum += 1;
                }
                Out::Extreme(at) => columns.push(start(Part::Extreme(*at))),
                Out::Collected(at) => columns.push(start(Part::Collected(*at))),
            }
        }
        columns
    }

    fn part_shaper(&self, part: Part) -> (Shaper, bool) {
        let key_fallible = self.key.iter().any(Expr::is_fallible);
        match part {
            Part::Key => (self.key_shaper(), key_fallible),
            Part::Sums => {
                let mut slots = self.slots.iter().filter(|slot| slot.distinct.is_none());
                (self.sum_shaper(), key_fallible || slots.any(Slot::is_fallible))
            }
            Part::Extreme(at) => {
                let extreme = self.extremes[at].clone();
                let fallible = key_fallible || extreme.is_fallible();
                (self.shaper_with(move |datums, cx, out| extreme.put(datums, cx, out)), fallible)
            }
            Part::Collected(at) => {
                let collected = self.collected[at].clone();
                let fallible = key_fallible || collected.aggregate.is_fallible();
                (self.shaper_with(move |datums, cx, out| collected.put(datums, cx, out)), fallible)
            }
        }
    }

    /// Keys rows by group; `put` appends the value.
    fn shaper_with(
        &self,
        put: impl for<'a> Fn(&[Datum<'a>], &EvalContext<'a>, &mut Vec<u8>) -> Result<(), EvalError>
        + 'static,
    ) -> Shaper {
        let (exprs, types) = (self.key.clone(), self.key_types.clone());
        let mut scratch = DatumVec::new();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        Box::new(move |datums, cx, emit| {
            key.clear();
            value.clear();
            let mut parts = scratch.borrow();
            let made = evaluate_all(&exprs, datums, cx, &mut parts).and_then(|()| {
                encode_key(KeyMode::NullSafe, &types, &parts, &mut key);
                put(datums, cx, &mut value)
            });
            match made {
                Ok(()) => emit.ok(Row::new(&key), Row::new(&value)),
                Err(error) => emit.err(&error),
            }
        })
    }

    /// The value is the key as it was written, where the key does not tell.
    fn key_shaper(&self) -> Shaper {
        let (identity, exprs) = (self.identity, self.key.clone());
        self.shaper_with(move |datums, cx, out| {
            if !identity {
                let mut written = Vec::new();
                evaluate_all(&exprs, datums, cx, &mut written)?;
                encode_values(&written, out);
            }
            Ok(())
        })
    }

    fn key_logic(&self, mut finish: Finish) -> GroupLogic {
        let (identity, types) = (self.identity, self.key_types.clone());
        Box::new(move |key, rows, answer| {
            if let Some((written, _)) = rows.iter().find(|(_, count)| *count > 0) {
                finish.put(key, answer, |_, datums| {
                    if !identity {
                        decode_values(&types, written.0, datums);
                    }
                    Ok(())
                });
            }
        })
    }

    /// The value is what the row contributes.
    fn sum_shaper(&self) -> Shaper {
        let slots = self.slots.clone();
        self.shaper_with(move |datums, cx, out| {
            let mut bytes = AccumBytes::new();
            put(&mut bytes, Place::ROWS, 1);
            let mut args = SmallVec::new();
            for (i, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.distinct.is_none()) {
                if slot.arguments(datums, cx, &mut args)? {
                    slot.contribute(i, &args, &mut bytes);
                }
            }
            out.extend_from_slice(&bytes);
            Ok(())
        })
    }

    fn sum_logic(&self, mut finish: Finish) -> AccumLogic {
        let (outputs, slots) = (self.outputs.clone(), self.slots.clone());
        Box::new(move |key, accum: &Accum, to| {
            let mut places = accum.places();
            let Some(rows) = places.next().filter(|(place, _)| *place == Place::ROWS) else {
                return;
            };
            let Some(rows) = Some(rows.1).filter(|count| *count > 0) else { return };
            let (slots_of, parts): (SmallVec<[u32; 12]>, SmallVec<[SumPart; 12]>) =
                places.map(|(place, n)| (place.slot, (place.part, n))).unzip();
            finish.put(key, to, |arena, datums| {
                for out in &outputs {
                    match *out {
                        Out::Rows => datums.push(to_int8(rows)?),
                        Out::Slot(at, func) => {
                            let start = slots_of.partition_point(|slot| (*slot as usize) < at);
                            let end = slots_of.partition_point(|slot| (*slot as usize) <= at);
                            let kind = slots[at].kind;
                            datums.push(answer(func, kind, &parts[start..end], arena)?);
                        }
                        Out::Extreme(_) | Out::Collected(_) => {}
                    }
                }
                Ok(())
            });
        })
    }

    /// Keys rows by group and argument. The value says how long the group's key is, and what was
    /// written of the argument where its key does not tell.
    fn distinct_shaper(&self, at: usize) -> (Shaper, bool) {
        let (slot, exprs, types) =
            (self.slots[at].clone(), self.key.clone(), self.key_types.clone());
        let fallible = slot.is_fallible() || exprs.iter().any(Expr::is_fallible);
        let of_args = slot.distinct.clone().expect("asked for a distinct slot");
        let identity = is_identity(&of_args);
        let mut scratch = DatumVec::new();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let shaper: Shaper = Box::new(move |datums, cx, emit| {
            let mut parts = scratch.borrow();
            let mut args = SmallVec::new();
            match evaluate_all(&exprs, datums, cx, &mut parts)
                .and_then(|()| slot.arguments(datums, cx, &mut args))
            {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return emit.err(&error),
            }
            key.clear();
            encode_key(KeyMode::NullSafe, &types, &parts, &mut key);
            value.clear();
            value.extend_from_slice(&(key.len() as u32).to_le_bytes());
            encode_key(KeyMode::NullSafe, &of_args, &args, &mut key);
            if !identity {
                encode_values(&args, &mut value);
            }
            emit.ok(Row::new(&key), Row::new(&value));
        });
        (shaper, fallible)
    }

    fn distinct_logic(&self, at: usize) -> GroupLogic {
        let slot = self.slots[at].clone();
        let types = slot.distinct.clone().expect("asked for a distinct slot");
        let identity = is_identity(&types);
        let mut scratch = DatumVec::new();
        Box::new(move |key, rows, answer| {
            let Some((value, _)) = rows.iter().find(|(_, count)| *count > 0) else { return };
            let (length, written) =
                value.0.split_first_chunk::<4>().expect("a value begins with a length");
            let (group, args) = key.split_at(u32::from_le_bytes(*length) as usize);
            let mut datums = scratch.borrow();
            if identity {
                decode_key(KeyMode::NullSafe, &types, args, &mut datums);
            } else {
                decode_values(&types, written, &mut datums);
            }
            let mut bytes = AccumBytes::new();
            slot.contribute(at, &datums, &mut bytes);
            answer.add(1, |emit| emit.ok(Row::new(group), Row::new(&bytes)));
        })
    }
}

impl Slot {
    /// Puts the arguments of a row in place of those before; answers whether it takes part.
    #[inline]
    fn arguments<'a>(
        &'a self,
        datums: &[Datum<'a>],
        cx: &EvalContext<'a>,
        args: &mut SmallVec<[Datum<'a>; 2]>,
    ) -> Result<bool, EvalError> {
        if let Some(filter) = &self.filter
            && filter.eval(datums, cx)? != Datum::Bool(true)
        {
            return Ok(false);
        }
        args.clear();
        for arg in &self.args {
            args.push(arg.eval(datums, cx)?);
        }
        Ok(!args[..self.strict].iter().any(Datum::is_null))
    }

    /// Appends what a row with these arguments contributes.
    #[inline]
    fn contribute(&self, at: usize, args: &[Datum<'_>], out: &mut AccumBytes) {
        let slot = at as u32;
        self.kind.contribute(args, |part, coefficient| {
            put(out, Place { slot, part }, coefficient);
        });
    }

    fn is_fallible(&self) -> bool {
        self.args.iter().chain(&self.filter).any(Expr::is_fallible)
    }
}

/// The answer of an extreme is its first value.
fn extreme_logic(extreme: Extreme, mut finish: Finish) -> GroupLogic {
    Box::new(move |key, rows, answer| {
        if let Some((value, _)) = rows.iter().find(|(_, count)| *count > 0) {
            finish.put(key, answer, |arena, datums| {
                extreme.get(value.0, arena, datums);
                Ok(())
            });
        }
    })
}

/// The types of the arguments over an input of those types.
fn argument_types(aggregate: &Aggregate, types: &[ScalarType]) -> Vec<ScalarType> {
    let columns: Vec<ColumnType> = types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
    aggregate.arg_types(&columns)
}

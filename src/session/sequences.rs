//! Functions of sequences, which only the session can evaluate: see
//! [`crate::expr::functions::sequence`].
//!
//! The rows of a query are read as far down as nothing calls such a function; what stands above
//! (mapping, filters, the branches of a VALUES) is evaluated here, row by row. In anything else
//! (a join above a call, an aggregate of one) a call is refused. `currval` and `lastval` do not
//! change while nothing else is called: they become constants, so that a lookup by them stays one.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bumpalo::Bump;

use crate::catalog::item::{ItemKind, Sequence};
use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::expr::functions::sequence::{
    SequenceCall, SessionAnswer, certain_calls, not_here, sequence_calls,
};
use crate::expr::scalar::Expr;
use crate::plan::relation::{ColumnOrder, Relation};
use crate::plan::statement::ColumnSource;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, GlobalId, Row, ScalarType};
use crate::session::execute::nanos_of;
use crate::session::rows::sorted;
use crate::session::session::Session;

/// How many values are fetched at once.
const STOCK_MAX: u64 = 4096;

/// What is evaluated for each row, from the innermost on.
enum Step {
    Map(Vec<Expr>),
    Filter(Vec<Expr>),
    Project(Vec<usize>),
}

/// What a relation calls.
pub(super) struct Calls {
    /// Some function of a sequence.
    pub(super) any: bool,
    /// One that changes a sequence.
    changing: bool,
}

/// Looks for calls in all of a relation.
pub(super) fn calls_of(relation: &Relation) -> Calls {
    let mut calls = Calls { any: false, changing: false };
    relation.visit(&mut |node| {
        for expr in node.own_exprs() {
            let (any, changing) = sequence_calls(expr);
            calls.any |= any;
            calls.changing |= changing;
        }
    });
    calls
}

/// Takes off what has to be evaluated here; what is left calls nothing. Error 0A000 where a call
/// stands below something else.
fn split(relation: Relation) -> Result<(Relation, Vec<Step>)> {
    if !calls_of(&relation).any {
        return Ok((relation, Vec::new()));
    }
    let (input, step) = match relation {
        Relation::Map { input, exprs } => (input, Step::Map(exprs)),
        Relation::Filter { input, predicates } => (input, Step::Filter(predicates)),
        Relation::Project { input, outputs } => (input, Step::Project(outputs)),
        Relation::Let { id, value, body } if !calls_of(&value).any => {
            let (body, steps) = split(*body)?;
            return Ok((Relation::Let { id, value, body: Box::new(body) }, steps));
        }
        _ => return Err(not_here().into()),
    };
    let (base, mut steps) = split(*input)?;
    steps.push(step);
    Ok((base, steps))
}

/// Which of the columns that the steps answer with depend on a call; none where a filter does.
fn called_columns(steps: &[Step], arity: usize) -> Option<Vec<bool>> {
    let mut called = vec![false; arity];
    let depends = |expr: &Expr, called: &[bool]| {
        sequence_calls(expr).0 || expr.columns().iter().any(|column| called[*column])
    };
    for step in steps {
        match step {
            Step::Map(exprs) => {
                for expr in exprs {
                    called.push(depends(expr, &called));
                }
            }
            Step::Filter(predicates) => {
                if predicates.iter().any(|predicate| depends(predicate, &called)) {
                    return None;
                }
            }
            Step::Project(outputs) => called = outputs.iter().map(|c| called[*c]).collect(),
        }
    }
    Some(called)
}

/// The row that the steps make of one; none where a filter drops it. Expressions that call are
/// NULL where they are `postponed`.
fn evaluate(
    steps: &[Step],
    types: &[ScalarType],
    row: &Row,
    postponed: bool,
    cx: &EvalContext<'_>,
) -> Result<Option<Row>> {
    let mut datums = Vec::with_capacity(types.len());
    decode_values(types, row.bytes(), &mut datums);
    for step in steps {
        match step {
            Step::Map(exprs) => {
                for expr in exprs {
                    let skipped = postponed && sequence_calls(expr).0;
                    let datum = if skipped { Datum::Null } else { expr.eval(&datums, cx)? };
                    datums.push(datum);
                }
            }
            Step::Filter(predicates) => {
                for predicate in predicates {
                    if predicate.eval(&datums, cx)? != Datum::Bool(true) {
                        return Ok(None);
                    }
                }
            }
            Step::Project(outputs) => datums = outputs.iter().map(|c| datums[*c]).collect(),
        }
    }
    Ok(Some(pack(&datums)))
}

impl Session {
    /// Puts constants in the places of `currval` and `lastval`, where a statement calls no other
    /// function of sequences. Says whether calls are left, which [`Self::computed`] evaluates.
    pub(super) fn settle_calls(&mut self, relation: &mut Relation) -> Result<bool> {
        let calls = calls_of(relation);
        if !calls.any || calls.changing {
            return Ok(calls.any);
        }
        self.begin_calls()?;
        let arena = Bump::new();
        let settings = self.variables.format().clone();
        let cx = EvalContext { arena: &arena, settings: &settings };
        let sequences = &mut self.sequences;
        relation.visit_exprs_mut(&mut |expr| {
            expr.visit_mut(&mut |part| {
                let is_call = matches!(part, Expr::Call { .. }) && sequence_calls(part).0;
                // Arguments are settled first: the call that is left is one of sequences itself.
                if is_call {
                    *part = match sequences.evaluate(|| part.eval(&[], &cx)) {
                        Ok(datum) => Expr::literal(datum, ScalarType::Int8),
                        Err(error) => Expr::Raise(error, ScalarType::Int8.into()),
                    };
                }
            });
        });
        Ok(false)
    }

    fn begin_calls(&mut self) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        self.sequences.begin_statement(|sequence| catalog.get(sequence).is_some());
        Ok(())
    }

    /// The rows of a relation that calls functions of sequences, at most `limit` where they are to
    /// come in no order; and whether they are in the order that is wanted.
    ///
    /// As in PostgreSQL, values are taken in the order of the result, unless the order depends on
    /// them.
    pub(super) async fn computed(
        &mut self,
        relation: Relation,
        order: &[ColumnOrder],
        limit: Option<u64>,
    ) -> Result<(Vec<Row>, bool)> {
        self.begin_calls()?;
        if let Relation::Union { inputs } = relation {
            let mut all = Vec::new();
            for input in inputs {
                let left = limit.map(|limit| limit.saturating_sub(all.len() as u64));
                all.extend(Box::pin(self.computed(input, &[], left)).await?.0);
            }
            return Ok((all, order.is_empty()));
        }
        let (base, steps) = split(relation)?;
        let types = base.typ().scalars();
        let mut stream = self.read_relation(base, None).await?;
        let mut rows = Vec::new();
        while let Some(more) = self.cancel.or(stream.next()).await? {
            for (row, count) in more {
                rows.extend(std::iter::repeat_n(row, count.max(0) as usize));
            }
        }
        let is_settled = |called: &[bool]| order.iter().all(|by| !called[by.column]);
        let in_order = order.is_empty()
            || called_columns(&steps, types.len()).is_some_and(|called| is_settled(&called));
        if !order.is_empty() && in_order {
            rows = self.put_in_order(rows, &steps, &types, order)?;
        }
        let limit = limit.filter(|_| in_order).unwrap_or(u64::MAX);
        Ok((self.evaluate_all(rows, &steps, &types, limit).await?, in_order))
    }

    /// Rows by the order of what the steps make of them.
    fn put_in_order(
        &self,
        rows: Vec<Row>,
        steps: &[Step],
        types: &[ScalarType],
        order: &[ColumnOrder],
    ) -> Result<Vec<Row>> {
        let settings = self.variables.format();
        let mut arena = Bump::new();
        let mut keyed = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            arena.reset();
            let cx = EvalContext { arena: &arena, settings };
            if let Some(key) = evaluate(steps, types, row, true, &cx)? {
                keyed.push((key, at as i64));
            }
        }
        let types = output_types(steps, types);
        Ok(sorted(keyed, &types, order)
            .into_iter()
            .map(|(_, at)| rows[at as usize].clone())
            .collect())
    }

    async fn evaluate_all(
        &mut self,
        rows: Vec<Row>,
        steps: &[Step],
        types: &[ScalarType],
        limit: u64,
    ) -> Result<Vec<Row>> {
        let mut certain = Vec::new();
        for step in steps {
            match step {
                Step::Map(exprs) => exprs.iter().for_each(|expr| certain_calls(expr, &mut certain)),
                // What it drops is not evaluated further.
                Step::Filter(_) => break,
                Step::Project(_) => {}
            }
        }
        let settings = self.variables.format().clone();
        let mut done = Vec::with_capacity(rows.len());
        let mut stocked = 0;
        for (at, row) in rows.iter().enumerate() {
            self.cancel.check()?;
            let left = limit - done.len() as u64;
            if left == 0 {
                break;
            }
            if at == stocked {
                let ahead = left.min(STOCK_MAX).min((rows.len() - at) as u64);
                stocked += ahead as usize;
                self.fetch_ahead(&certain, ahead).await?;
            }
            let made = self
                .with_sequences(|| {
                    let arena = Bump::new();
                    let cx = EvalContext { arena: &arena, settings: &settings };
                    evaluate(steps, types, row, false, &cx)
                })
                .await?;
            done.extend(made);
        }
        Ok(done)
    }

    /// Fetches values that so many rows will ask for.
    async fn fetch_ahead(&mut self, certain: &[GlobalId], rows: u64) -> Result<()> {
        if rows < 2 {
            return Ok(());
        }
        let mut sequences = certain.to_vec();
        sequences.sort_unstable();
        for same in sequences.chunk_by(|a, b| a == b) {
            let values = self.fetch_values(same[0], rows * same.len() as u64).await?;
            self.sequences.stock(same[0], values);
        }
        Ok(())
    }

    /// Evaluates what may call functions of sequences, once for one row.
    pub(super) async fn with_sequences<T>(
        &mut self,
        mut evaluate: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        self.sequences.begin();
        loop {
            let result = self.sequences.evaluate(&mut evaluate);
            let Some(call) = self.sequences.take_wanted() else { return result };
            let answer = self.fetch_answer(&call).await?;
            self.sequences.give(call, answer);
        }
    }

    async fn fetch_answer(&mut self, call: &SequenceCall) -> Result<SessionAnswer> {
        let value = match call {
            SequenceCall::Next(sequence) => {
                let values = self.fetch_values(*sequence, 1).await?;
                values
                    .first()
                    .copied()
                    .ok_or_else(|| Error::internal("a sequence without a value"))?
            }
            SequenceCall::Set { sequence, value, is_called } => {
                self.check_writable("setval()")?;
                let (name, definition) = self.definition_of(*sequence)?;
                let (min, max) = (definition.min, definition.max);
                if !(min..=max).contains(value) {
                    return Err(Error::new(
                        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                        format!(
                            "setval: value {value} is out of bounds for sequence \"{name}\" \
                             ({min}..{max})"
                        ),
                    ));
                }
                let set = self.engine.client.set_value(*sequence, *value, *is_called);
                self.cancel.or(set).await?;
                *value
            }
            SequenceCall::Current(..) | SequenceCall::Last => {
                return Err(Error::internal("what the session knows is not asked for"));
            }
            other => return self.own_answer(other).await,
        };
        Ok(SessionAnswer::Value(value))
    }

    /// What the functions answer that have nothing to do with sequences.
    async fn own_answer(&mut self, call: &SequenceCall) -> Result<SessionAnswer> {
        let micros = match call {
            SequenceCall::Configure { name, value, local } => {
                let changed = self.variables.set(name, value.as_deref(), *local)?;
                self.reports.extend(changed);
                return Ok(SessionAnswer::Text(Some(self.variables.get(name)?.into())));
            }
            SequenceCall::Setting { name, missing_ok } => {
                self.learn_interval();
                return match self.variables.get(name) {
                    Err(error) if *missing_ok && error.code == SqlState::UNDEFINED_OBJECT => {
                        Ok(SessionAnswer::Text(None))
                    }
                    value => Ok(SessionAnswer::Text(Some(value?.into()))),
                };
            }
            SequenceCall::Sleep { micros } => *micros,
            SequenceCall::SleepUntil { until } => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let until = nanos_of(*until).map_or(u64::MAX, |nanos| nanos / 1000);
                until.saturating_sub(now.as_micros() as u64)
            }
            _ => return Err(Error::internal("a call that the session does not know")),
        };
        let waited = async {
            tokio::time::sleep(Duration::from_micros(micros)).await;
            Ok(())
        };
        self.cancel.or(waited).await?;
        Ok(SessionAnswer::Text(Some("".into())))
    }

    fn definition_of(&self, sequence: GlobalId) -> Result<(String, Sequence)> {
        let item = self.transaction()?.catalog.expect(sequence)?;
        match &item.kind {
            ItemKind::Sequence(definition) => Ok((item.name.clone(), definition.clone())),
            _ => Err(Error::internal(format!("\"{}\" is not a sequence", item.name))),
        }
    }

    /// The next values of a sequence, which are spent by this.
    pub(super) async fn fetch_values(
        &mut self,
        sequence: GlobalId,
        count: u64,
    ) -> Result<Vec<i64>> {
        self.check_writable("nextval()")?;
        let (_, definition) = self.definition_of(sequence)?;
        let request = self.engine.client.next_values(sequence, definition, count);
        self.cancel.or(request).await
    }

    /// The values of the columns' defaults for so many rows, in the order in which rows and their
    /// columns take them.
    pub(super) async fn default_values(
        &mut self,
        columns: &[ColumnSource],
        rows: u64,
    ) -> Result<HashMap<GlobalId, std::vec::IntoIter<i64>>> {
        let mut taken = HashMap::new();
        let mut used = columns.iter().filter_map(|source| match source {
            ColumnSource::Sequence(id) if rows > 0 => Some(*id),
            _ => None,
        });
        for sequence in used.clone() {
            if taken.contains_key(&sequence) {
                continue;
            }
            let times = used.clone().filter(|id| *id == sequence).count() as u64;
            let values = self.fetch_values(sequence, rows * times).await?;
            if let Some(last) = values.last() {
                self.sequences.given(sequence, *last);
            }
            taken.insert(sequence, values.into_iter());
        }
        if let Some(last) = used.next_back() {
            self.sequences.last_given(last);
        }
        Ok(taken)
    }
}

/// The types of what the steps answer with.
fn output_types(steps: &[Step], types: &[ScalarType]) -> Vec<ScalarType> {
    let mut types = types.to_vec();
    for step in steps {
        match step {
            Step::Map(exprs) => {
                for expr in exprs {
                    let columns: Vec<_> =
                        types.iter().map(|t| crate::repr::ColumnType::nullable(*t)).collect();
                    types.push(expr.typ(&columns).scalar);
                }
            }
            Step::Filter(_) => {}
            Step::Project(outputs) => types = outputs.iter().map(|c| types[*c]).collect(),
        }
    }
    types
}

//! SUBSCRIBE: a stream of changes as rows of a result.
//!
//! Columns: `weir_timestamp`, with PROGRESS `weir_progressed`, `weir_diff`, and the relation's own.
//! The subscription stands outside the transaction's snapshot and buffers. What has come is kept
//! here until it is sent, so that a cancelled FETCH loses nothing; credit is given back only for
//! what was sent.

use std::collections::VecDeque;
use std::time::Duration;

use bumpalo::Bump;

use crate::catalog::objects::Catalog;
use crate::coord::request::{ChangeEvent, ChangeStream, SharedRequest, SubscribeRequest};
use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::optimizer::physical::{Want, table_layout};
use crate::plan::physical::{Dataflow, Sink};
use crate::plan::statement::{Seeded, Subscribe};
use crate::repr::value::{decode_values, pack};
use crate::repr::{
    ColumnDesc, ColumnType, Datum, Diff, GlobalId, RelationDesc, Row, ScalarType, Timestamp,
};
use crate::session::frontend::{CancelToken, Format, Frontend};
use crate::session::read::{plan_maintained, plan_seeded, without_indexes};
use crate::session::session::{Outcome, Session, fields};

/// A subscription on its way to the client.
pub(super) struct Watch {
    stream: ChangeStream,
    desc: RelationDesc,
    /// The relation's own columns.
    types: Vec<ScalarType>,
    progress: bool,
    /// Rows of the result that were not sent, and what each took of the credit.
    waiting: VecDeque<(Row, u64)>,
    /// All up to here has come.
    complete: Timestamp,
    ended: bool,
}

/// The columns of a subscription's result.
pub(super) fn describe(subscribe: &Subscribe) -> RelationDesc {
    let column = |name: &str, scalar, nullable| ColumnDesc {
        name: name.into(),
        ty: ColumnType { scalar, typmod: -1, nullable },
    };
    let mut columns = vec![column("weir_timestamp", ScalarType::Int8, false)];
    if subscribe.progress {
        columns.push(column("weir_progressed", ScalarType::Bool, false));
    }
    columns.push(column("weir_diff", ScalarType::Int8, subscribe.progress));
    columns.extend(subscribe.desc.columns.iter().cloned().map(|mut column| {
        column.ty.nullable |= subscribe.progress;
        column
    }));
    RelationDesc { columns, keys: vec![] }
}

impl Session {
    pub(super) async fn subscribe(&mut self, subscribe: Subscribe) -> Result<Outcome> {
        let transaction = self.transaction()?;
        if !transaction.is_empty() {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "SUBSCRIBE cannot run in a transaction that has written",
            )
            .with_hint("Commit first: a subscription shows committed changes only."));
        }
        let mut catalog = transaction.catalog.clone();
        let time = |expr: &Option<_>| expr.as_ref().map(|expr| self.time_of(expr)).transpose();
        let (as_of, up_to) = (time(&subscribe.as_of)?, time(&subscribe.up_to)?);
        if as_of.is_some() {
            catalog = without_indexes(&catalog)?;
        }
        let desc = describe(&subscribe);
        let types = subscribe.desc.scalars();
        let config = self.optimizer();
        let relation = subscribe.relation;
        let seeded = subscribe.seeded.filter(|_| as_of.is_none() && up_to.is_none());
        let seeded = seeded.map(|seeded| self.seeded(&catalog, *seeded)).transpose()?.flatten();
        let (mut plan, shared) = match seeded {
            Some((plan, shared)) => (plan, Some(shared)),
            None => {
                let want = Want::Subscribe;
                (plan_maintained(&self.engine, &catalog, relation, &config, want)?, None)
            }
        };
        let buffer_limit = self.variables.subscribe_buffer_limit();
        plan.sink = Sink::Subscribe { up_to, snapshot: subscribe.snapshot, buffer_limit };
        let request = SubscribeRequest { dataflow: plan, as_of, shared };
        let stream = self.cancel.or(self.engine.client.subscribe(request)).await?;
        let transaction = self.transaction_mut()?;
        transaction.watches = true;
        transaction.release_snapshot();
        Ok(Outcome::Changes(Box::new(Watch {
            stream,
            desc,
            types,
            progress: subscribe.progress,
            waiting: VecDeque::new(),
            complete: 0,
            ended: false,
        })))
    }

    /// The plan of a query with its constants as rows, and those; none where there is nothing to
    /// be found for them, or an error.
    fn seeded(
        &self,
        catalog: &Catalog,
        seeded: Seeded,
    ) -> Result<Option<(Dataflow, SharedRequest)>> {
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: self.variables.format() };
        let values = seeded.constants.iter().map(|expr| expr.eval(&[], &cx).ok());
        let Some(values) = values.collect::<Option<Vec<_>>>() else { return Ok(None) };
        if values.iter().any(Datum::is_null) {
            return Ok(None);
        }
        let mut columns = vec![ColumnType::not_null(ScalarType::Int8)];
        columns.extend(seeded.types.iter().map(|ty| ColumnType::nullable(*ty)));
        let layout = table_layout(&columns, Some(&[0]));
        let config = self.optimizer();
        let plan = plan_seeded(&self.engine, catalog, seeded.relation, &layout, &config)?;
        let reads = plan.imports.iter().any(|import| import.id.relation == GlobalId::SEEDS);
        let request = SharedRequest { layout, constants: pack(&values), types: seeded.columns };
        Ok(reads.then_some((plan, request)))
    }

    /// Sends changes as rows, until the end, a limit (0: none) or a cancel.
    pub(super) async fn send_changes<F: Frontend>(
        &mut self,
        watch: &mut Watch,
        formats: &[Format],
        max_rows: u64,
        out: &mut F,
    ) -> Result<bool> {
        let fields = fields(&watch.desc, formats);
        let settings = self.variables.format().clone();
        let types = watch.desc.scalars();
        let mut sent = 0;
        loop {
            while let Some(row) = watch.pop() {
                let mut datums = Vec::with_capacity(types.len());
                decode_values(&types, row.bytes(), &mut datums);
                out.data_row(&datums, &fields, &settings);
                sent += 1;
                if sent == max_rows {
                    out.portal_suspended();
                    return Ok(false);
                }
                out.ready().await?;
            }
            if watch.ended {
                out.command_complete(&format!("SUBSCRIBE {sent}"));
                return Ok(true);
            }
            out.flush().await?;
            watch.more(&self.cancel).await?;
        }
    }
}

impl Watch {
    /// The columns of its rows.
    pub(super) fn desc(&self) -> &RelationDesc {
        &self.desc
    }

    /// The next row that has come, if one has.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let (row, taken) = self.waiting.pop_front()?;
        if taken > 0 {
            self.stream.consumed(taken);
        }
        Some(row)
    }

    /// Whether nothing will come any more.
    pub(super) fn is_ended(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }

    /// Waits for the next event and takes it in. Cancel-safe.
    pub(super) async fn more(&mut self, cancel: &CancelToken) -> Result<()> {
        let event = cancel.or(self.stream.next()).await?;
        self.take(event);
        Ok(())
    }

    /// Waits until up to `wanted` rows (none: any number) are there: at least one, unless the
    /// time runs out; with a time of zero, all that is complete by now.
    pub(super) async fn fill(
        &mut self,
        wanted: Option<u64>,
        timeout_ms: Option<u64>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let enough =
            |watch: &Watch| watch.ended || wanted.is_some_and(|n| watch.waiting.len() as u64 >= n);
        let by = cancel.or(self.stream.advance()).await?;
        if self.waiting.is_empty() && timeout_ms != Some(0) {
            match timeout_ms {
                None => self.first(cancel).await?,
                Some(ms) => {
                    let first = self.first(cancel);
                    match tokio::time::timeout(Duration::from_millis(ms), first).await {
                        Ok(result) => result?,
                        Err(_) => return Ok(()),
                    }
                }
            }
        }
        while !enough(self) && self.complete < by {
            self.more(cancel).await?;
        }
        while !enough(self)
            && let Some(event) = self.stream.try_next()
        {
            self.take(event?);
        }
        Ok(())
    }

    /// Waits for a first row, or the end.
    async fn first(&mut self, cancel: &CancelToken) -> Result<()> {
        while self.waiting.is_empty() && !self.ended {
            self.more(cancel).await?;
        }
        Ok(())
    }

    fn take(&mut self, event: ChangeEvent) {
        match event {
            ChangeEvent::Changes(changes) => {
                for (time, row, diff) in changes {
                    let taken = row.bytes().len().max(1) as u64;
                    let row = self.change_row(time, &row, diff);
                    self.waiting.push_back((row, taken));
                }
            }
            ChangeEvent::Progress(time) => {
                self.complete = time;
                if self.progress {
                    let mut datums = vec![Datum::Int8(time as i64), Datum::Bool(true)];
                    datums.resize(self.desc.arity(), Datum::Null);
                    self.waiting.push_back((pack(&datums), 0));
                }
            }
            ChangeEvent::End => self.ended = true,
        }
    }

    fn change_row(&self, time: Timestamp, row: &Row, diff: Diff) -> Row {
        let mut datums = Vec::with_capacity(self.desc.arity());
        datums.push(Datum::Int8(time as i64));
        if self.progress {
            datums.push(Datum::Bool(false));
        }
        datums.push(Datum::Int8(diff));
        decode_values(&self.types, row.bytes(), &mut datums);
        pack(&datums)
    }
}

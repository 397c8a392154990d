//! Read-your-writes: a relation as an open transaction sees it.
//!
//! A table that the transaction has written is its content at the snapshot and the buffered
//! changes; one that it has made is the changes alone. A maintained view above such a table, or
//! one that the transaction has made, is computed from its query. Everything else is read as it
//! is.

use crate::catalog::item::ItemKind;
use crate::error::{Error, Result};
use crate::plan::relation::{Id, Relation};
use crate::repr::value::pack;
use crate::repr::{Diff, GlobalId, Row};
use crate::session::binding;
use crate::session::engine::Engine;
use crate::session::layout::RowDecoder;
use crate::session::system::feeds;
use crate::session::transaction::Transaction;

/// Replaces what the transaction sees differently.
pub(super) fn apply(
    relation: &mut Relation,
    transaction: &Transaction,
    engine: &Engine,
) -> Result<()> {
    if transaction.work.ddl.is_empty() && transaction.work.buffers.is_empty() {
        return Ok(());
    }
    let mut result = Ok(());
    relation.visit_mut_post(&mut |node| {
        if let (Relation::Get { id: Id::Global(id), .. }, Ok(())) = (&*node, &result) {
            match replacement(*id, node, transaction, engine) {
                Ok(Some(new)) => *node = new,
                Ok(None) => {}
                Err(error) => result = Err(error),
            }
        }
    });
    result
}

fn replacement(
    id: GlobalId,
    get: &Relation,
    transaction: &Transaction,
    engine: &Engine,
) -> Result<Option<Relation>> {
    let item = transaction.catalog.expect(id)?;
    match &item.kind {
        ItemKind::Table(_) => {
            let made = transaction.made(id);
            let seen = transaction.seen(id);
            let changes = match transaction.work.buffers.get(&id) {
                Some(buffer) if !buffer.updates[..seen].is_empty() => {
                    full_rows(transaction, engine, id, &buffer.updates[..seen])?
                }
                _ if made => Vec::new(),
                _ => return Ok(None),
            };
            let mut ty = get.typ();
            ty.keys.clear();
            let changes = Relation::Constant { rows: Ok(changes), ty };
            Ok(Some(if made {
                changes
            } else {
                Relation::Union { inputs: vec![get.clone(), changes] }
            }))
        }
        ItemKind::System(_) => {
            let updates = feeds::changes_of(engine, id, &transaction.base, &transaction.catalog)?;
            if updates.is_empty() {
                return Ok(None);
            }
            let changes = full_rows(transaction, engine, id, &updates)?;
            let mut ty = get.typ();
            ty.keys.clear();
            let changes = Relation::Constant { rows: Ok(changes), ty };
            Ok(Some(Relation::Union { inputs: vec![get.clone(), changes] }))
        }
        ItemKind::View(view) if is_affected(transaction, id) => {
            let (mut query, _) =
                binding::stored_query(&transaction.catalog, &view.text, &view.settings)?;
            renumber(&mut query, id);
            apply(&mut query, transaction, engine)?;
            Ok(Some(query))
        }
        ItemKind::View(_) => Ok(None),
        _ => Err(Error::internal(format!("{} is not a relation", item.name))),
    }
}

/// Keeps the local names of an inlined query apart from those around it.
fn renumber(query: &mut Relation, id: GlobalId) {
    let shift = |local: u64| local | (id.0 << 24);
    query.visit_mut_post(&mut |node| match node {
        Relation::Let { id, .. } => *id = shift(*id),
        Relation::LetRec { bindings, .. } => {
            bindings.iter_mut().for_each(|binding| binding.id = shift(binding.id));
        }
        Relation::Get { id: Id::Local(local), .. } => *local = shift(*local),
        _ => {}
    });
}

/// Whether a relation may look different to the transaction than to others.
pub(super) fn is_affected(transaction: &Transaction, id: GlobalId) -> bool {
    if transaction.made(id) || transaction.work.buffers.contains_key(&id) {
        return true;
    }
    let defines = !transaction.work.ddl.is_empty();
    transaction.catalog.get(id).is_some_and(|item| {
        item.is_system() && defines
            || item.depends_on().iter().any(|on| is_affected(transaction, *on))
    })
}

/// The whole rows of changes in a table's layout.
pub(super) fn full_rows(
    transaction: &Transaction,
    engine: &Engine,
    table: GlobalId,
    updates: &[(Row, Row, Diff)],
) -> Result<Vec<(Row, Diff)>> {
    let layout = engine.layout(&transaction.catalog, table)?;
    let decoder = RowDecoder::new(&layout);
    let whole = |(key, value, diff): &(Row, Row, Diff)| (pack(&decoder.decode(key, value)), *diff);
    Ok(updates.iter().map(whole).collect())
}

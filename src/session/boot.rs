//! Boot: from a data directory to a server that answers.
//!
//! Plans are never stored. The text of each maintained object is planned again, by the same
//! pipeline as when it was made, in the order of creation. A text that no longer plans marks its
//! object broken, with all that reads it, and so does a dataflow that crashed the server twice; the
//! server still starts.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::objects::{Catalog, Change};
use crate::coord::coordinator::Coordinator;
use crate::coord::opening::Opening;
use crate::coord::request::{Commit, DdlChange};
use crate::error::{Error, Result};
use crate::optimizer::physical::Want;
use crate::plan::physical::{Dataflow, Sink};
use crate::plan::relation::{Relation, RelationType};
use crate::repr::GlobalId;
use crate::session::binding;
use crate::session::engine::Engine;
use crate::session::read::{default_config, plan_maintained, without_indexes};
use crate::session::system::feeds;
use crate::session::system_settings::restore;

pub use crate::coord::opening::EngineConfig;

/// Opens a data directory. The coordinator has to be run; the engine is for sessions.
///
/// Errors: those of opening the log (55006 locked, 22023 a newer format, XX001 damaged).
pub fn open(config: &EngineConfig) -> Result<(Coordinator, Engine)> {
    let mut opening = Opening::open(config)?;
    let catalog = opening.catalog();
    let engine = Engine::new(opening.client(), config);
    restore(&engine, opening.kept_settings());
    opening.introspect(!engine.introspection.borrow().is_zero());
    for item in catalog.items() {
        if !matches!(item.kind, ItemKind::Table(_)) {
            continue;
        }
        if opening.is_at_fault(item.id) {
            opening.suspend_object(item.id, &item.name);
        } else {
            opening.create_table(item.id, (*engine.layout(&catalog, item.id)?).clone());
        }
    }
    opening.load()?;
    for item in feeds::fed() {
        let layout = (*engine.layout(&catalog, item.id)?).clone();
        let rows = feeds::first_rows(&engine, &catalog, item)?;
        opening.create_system(item.id, layout, rows);
    }
    let indexes = install_maintained(&mut opening, &engine, &catalog)?;
    engine.leave_out(indexes);
    if !catalog.has_schema("public") {
        let id = opening.first_id();
        opening.commit(first_commit(id, &engine, &catalog)?)?;
    }
    Ok((opening.start(), engine))
}

/// Builds what is maintained, in the order of creation. What is broken is left out, with all that
/// depends on it, also by views that are not maintained. Returns the indexes that are left out:
/// nothing depends on an index.
fn install_maintained(
    opening: &mut Opening,
    engine: &Engine,
    catalog: &Catalog,
) -> Result<BTreeSet<GlobalId>> {
    // A plan finds the indexes that are built before it, not those that will be.
    let mut built = without_indexes(catalog)?;
    let mut left_out = BTreeSet::new();
    for item in catalog.items() {
        let is_index = matches!(item.kind, ItemKind::Index(_));
        if let Some(on) = item.depends_on().into_iter().find(|on| opening.is_broken(*on)) {
            opening.break_dependent(item.id, &item.name, on);
        } else if !item.is_maintained() || matches!(item.kind, ItemKind::Table(_)) {
            continue;
        } else if opening.is_at_fault(item.id) {
            opening.suspend_object(item.id, &item.name);
        } else {
            match plan_item(engine, catalog, &built, item) {
                Ok(plan) => opening.install(item.id, plan),
                Err(reason) => opening.break_unplanned(item.id, &item.name, &reason),
            }
        }
        if is_index && opening.is_broken(item.id) {
            left_out.insert(item.id);
        } else if is_index {
            let change = Change { id: item.id, item: Some(item.clone()) };
            built = Arc::new(built.with(&[change])?);
        }
    }
    Ok(left_out)
}

/// What a new data directory has: the schema `public`.
fn first_commit(id: GlobalId, engine: &Engine, catalog: &Catalog) -> Result<Commit> {
    let name = "public".to_owned();
    let item = Item { id, schema: name.clone(), name, kind: ItemKind::Schema };
    let change = Change { id, item: Some(Arc::new(item)) };
    let system = feeds::changes(engine, catalog, &catalog.with(std::slice::from_ref(&change))?)?;
    Ok(Commit {
        system,
        ddl: vec![DdlChange { change, install: None }],
        catalog_version: catalog.version(),
        ..Commit::default()
    })
}

/// The plan of a maintained view or an index, from its text, over what is built.
fn plan_item(engine: &Engine, catalog: &Catalog, built: &Catalog, item: &Item) -> Result<Dataflow> {
    let (relation, settings) = match &item.kind {
        ItemKind::View(view) => {
            let (relation, _) = binding::stored_query(catalog, &view.text, &view.settings)?;
            (relation, &view.settings)
        }
        ItemKind::Index(index) => {
            let on = catalog.expect(index.on)?;
            let desc = on.desc().ok_or_else(|| Error::internal("an index on no relation"))?;
            let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
            (Relation::global(index.on, ty), &index.settings)
        }
        _ => return Err(Error::internal(format!("{} is not maintained", item.name))),
    };
    let layout = engine.layout(catalog, item.id)?;
    let mut plan =
        plan_maintained(engine, built, relation, &default_config(settings), Want::Maintain)?;
    plan.sink = Sink::Arrange((*layout).clone());
    Ok(plan)
}

//! What all sessions of a server share: the line to the coordinator, and the layouts of
//! arrangements, which follow from the catalog and never change for an id.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::catalog::item::{Index, Item, ItemKind, RowSource};
use crate::catalog::objects::Catalog;
use crate::coord::request::Client;
use crate::error::{Error, Result};
use crate::optimizer::physical::{index_layout, table_layout, view_layout};
use crate::plan::physical::{Arrangement, ArrangementId};
use crate::repr::{Datum, Diff, GlobalId, Row};
use crate::session::binding;
use crate::session::boot::EngineConfig;
use crate::session::introspection::activity::Activity;
use crate::session::introspection::profiling::Profiling;
use crate::session::introspection::tracer::Listeners;
use crate::session::layout::RowEncoder;
use crate::session::system::feeds;
use crate::session::system_settings::flags;
use crate::session::variables::value::Value;

/// The part of a server that its sessions share.
#[derive(Clone)]
pub struct Engine {
    /// The line to the coordinator.
    pub(super) client: Client,
    layouts: Arc<RwLock<HashMap<GlobalId, Arc<Arrangement>>>>,
    /// Indexes that are not there to be read, because they are broken.
    left_out: Arc<OnceLock<BTreeSet<GlobalId>>>,
    /// Constant system relations whose rows are there.
    provided: Arc<Mutex<BTreeSet<GlobalId>>>,
    /// The flags that the server was started with, as settings.
    pub(super) flags: Arc<Vec<(&'static str, Value)>>,
    /// How often the engine looks at itself; zero: not.
    pub(super) introspection: Arc<watch::Sender<Duration>>,
    /// How often it did at the start.
    pub(super) introspection_at_start: Duration,
    /// Who wants events.
    pub(super) listeners: Arc<watch::Sender<Listeners>>,
    /// How workers are profiled.
    pub(super) profiling: Arc<watch::Sender<Profiling>>,
    /// What sessions are doing.
    pub(super) activity: Arc<Activity>,
}

impl Engine {
    /// The shared part around a client.
    pub(super) fn new(client: Client, config: &EngineConfig) -> Engine {
        let introspection = Duration::from_millis(config.introspection_ms);
        Engine {
            flags: Arc::new(flags(config)),
            client,
            layouts: Arc::default(),
            left_out: Arc::default(),
            provided: Arc::default(),
            introspection: Arc::new(watch::Sender::new(introspection)),
            introspection_at_start: introspection,
            listeners: Arc::default(),
            profiling: Arc::new(watch::Sender::new(Profiling::at_start())),
            activity: Arc::default(),
        }
    }

    /// Has these indexes never read: the relations that they are on are there without them.
    pub(super) fn leave_out(&self, indexes: BTreeSet<GlobalId>) {
        let _ = self.left_out.set(indexes);
    }

    /// Ends the engine cleanly.
    pub async fn stop(&self) {
        self.client.stop().await;
    }

    /// The layout of the arrangement that an object keeps.
    pub(super) fn layout(&self, catalog: &Catalog, id: GlobalId) -> Result<Arc<Arrangement>> {
        let known = self.layouts.read().map(|layouts| layouts.get(&id).cloned());
        if let Ok(Some(layout)) = known {
            return Ok(layout);
        }
        let layout = Arc::new(make_layout(catalog, id)?);
        if let Ok(mut layouts) = self.layouts.write() {
            layouts.insert(id, layout.clone());
        }
        Ok(layout)
    }

    /// Rows of a system relation in its layout, for [`Client::feed`]: each the datums of all
    /// columns, and how often it comes (or goes, where that is negative).
    pub fn system_rows(
        &self,
        relation: GlobalId,
        rows: &[(Vec<Datum<'_>>, Diff)],
    ) -> Result<Vec<(Row, Row, Diff)>> {
        let layout = self.layout(&Catalog::default(), relation)?;
        let mut encoder = RowEncoder::new(&layout);
        let encoded = rows
            .iter()
            .map(|(datums, diff)| encoder.encode(datums).map(|(key, value)| (key, value, *diff)));
        encoded.collect()
    }

    /// Has the rows of a constant system relation be there before they are read.
    fn provide(&self, catalog: &Catalog, relation: GlobalId) -> Result<()> {
        let Some(item) = catalog.get(relation).filter(|item| is_constant(item)) else {
            return Ok(());
        };
        let known = self.provided.lock();
        let mut known = known.map_err(|_| Error::internal("providing rows has failed before"))?;
        if known.insert(relation) {
            let layout = (*self.layout(catalog, relation)?).clone();
            let rows = feeds::first_rows(self, catalog, item)?;
            self.client.provide(relation, layout, rows);
        }
        Ok(())
    }

    /// The arrangements of a relation: its own first, then those of its indexes.
    pub(super) fn arrangements(
        &self,
        catalog: &Catalog,
        relation: GlobalId,
    ) -> Result<Vec<(ArrangementId, Arrangement)>> {
        let own = self.layout(catalog, relation)?;
        self.provide(catalog, relation)?;
        let mut found = vec![(ArrangementId { relation, index: relation }, (*own).clone())];
        for item in catalog.dependents(relation) {
            let is_left_out = self.left_out.get().is_some_and(|ids| ids.contains(&item.id));
            if matches!(item.kind, ItemKind::Index(_)) && !is_left_out {
                let layout = self.layout(catalog, item.id)?;
                let id = ArrangementId { relation, index: item.id };
                found.push((id, (*layout).clone()));
            }
        }
        Ok(found)
    }
}

fn is_constant(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::System(system) if system.source == RowSource::Constant)
}

fn make_layout(catalog: &Catalog, id: GlobalId) -> Result<Arrangement> {
    let item = catalog.expect(id)?;
    match &item.kind {
        ItemKind::Table(table) => {
            let key = table.primary_key.as_ref().map(|key| key.columns.as_slice());
            Ok(table_layout(&table.desc.types(), key))
        }
        ItemKind::View(view) => Ok(view_layout(&view.desc.types(), &view.desc.keys)),
        ItemKind::System(system) => Ok(table_layout(&system.desc.types(), Some(&system.key))),
        ItemKind::Index(index) => index_key(catalog, index),
        ItemKind::Schema | ItemKind::Sequence(_) | ItemKind::Type(_) | ItemKind::Constraint(_) => {
            Err(Error::internal(format!("{} keeps no rows", item.name)))
        }
    }
}

fn index_key(catalog: &Catalog, index: &Index) -> Result<Arrangement> {
    let on = catalog.expect(index.on)?;
    let desc = on.desc().ok_or_else(|| Error::internal("an index on what has no columns"))?;
    let mut key = Vec::with_capacity(index.key.len());
    for text in &index.key {
        key.push(binding::stored_scalar(catalog, text, desc, &index.settings)?);
    }
    Ok(index_layout(&desc.types(), &key))
}

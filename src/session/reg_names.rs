//! What the oids of a result name: a `regclass` is sent to the client as the name of its relation.
//!
//! Inside a query such a value is an oid; only its text form needs the catalog, that of the
//! transaction.

use std::sync::Arc;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::objects::{Catalog, SYSTEM_SCHEMAS};
use crate::catalog::system::oids::{OWNER, oid, schema_oid, table_of_key};
use crate::expr::functions::catalog_names::{format_type, proc_name, procedure_name};
use crate::repr::{Datum, GlobalId, ScalarType};
use crate::session::frontend::{Field, Format};
use crate::session::session::Session;
use crate::session::system::names::quoted;

/// The names that a transaction sees.
pub(super) struct RegNames {
    catalog: Arc<Catalog>,
    path: Vec<String>,
    user: String,
}

impl RegNames {
    /// Those for a result, where it has columns that need them.
    pub(super) fn of(session: &Session, fields: &[Field]) -> Option<RegNames> {
        let needs = |f: &Field| f.ty.scalar.is_reg() && f.format == Format::Text;
        if !fields.iter().any(needs) {
            return None;
        }
        let transaction = session.transaction.as_ref()?;
        Some(RegNames {
            catalog: transaction.catalog.clone(),
            path: session.search_path(),
            user: session.user.clone(),
        })
    }

    /// The text of a value; none where it is not such an oid.
    pub(super) fn spell(&self, datum: Datum<'_>, field: &Field) -> Option<String> {
        let Datum::Oid(number) = datum else { return None };
        if number == 0 || field.format == Format::Binary {
            return None;
        }
        match field.ty.scalar {
            ScalarType::RegClass => self.relation(number),
            ScalarType::RegType => Some(format_type(number, -1)).filter(|name| name != "???"),
            ScalarType::RegProc => Some(proc_name(number)),
            ScalarType::RegProcedure => Some(procedure_name(number)),
            ScalarType::RegNamespace => self.schema(number).map(|name| quoted(&name)),
            ScalarType::RegRole => (number == OWNER).then(|| quoted(&self.user)),
            _ => None,
        }
    }

    fn relation(&self, number: u32) -> Option<String> {
        let item = self.catalog.get(GlobalId(number.into()));
        if let Some(item) = item.filter(|item| !matches!(item.kind, ItemKind::Schema)) {
            return Some(self.spelled(item, &item.name));
        }
        let table = self.catalog.get(table_of_key(number)?)?;
        match &table.kind {
            ItemKind::Table(inner) => {
                inner.primary_key.as_ref().map(|key| self.spelled(table, &key.name))
            }
            _ => None,
        }
    }

    fn spelled(&self, item: &Item, name: &str) -> String {
        let first = self
            .path
            .iter()
            .find(|schema| **schema == item.schema || self.catalog.by_name(schema, name).is_some());
        match first == Some(&item.schema) {
            true => quoted(name),
            false => format!("{}.{}", quoted(&item.schema), quoted(name)),
        }
    }

    fn schema(&self, number: u32) -> Option<String> {
        let mut system = SYSTEM_SCHEMAS.iter();
        if let Some(name) = system.find(|name| schema_oid(&self.catalog, name) == Some(number)) {
            return Some((*name).to_owned());
        }
        let item = self.catalog.get(GlobalId(number.into()))?;
        matches!(item.kind, ItemKind::Schema).then(|| oid(item.id)).map(|_| item.name.clone())
    }
}

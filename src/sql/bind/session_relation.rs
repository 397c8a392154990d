//! System relations that each session sees in its own way: the database and the role are called as
//! the client called them, and settings are the session's.
//!
//! They are constants of the statement, as `current_user` is, so nothing maintained reads them.

use crate::catalog::item::Item;
use crate::catalog::system::named;
use crate::catalog::system::oids::{DATABASE, OWNER};
use crate::error::{Error, Result};
use crate::repr::value::pack;
use crate::repr::{Datum, RelationDesc, Row};
use crate::sql::bind::context::Binder;
use crate::sql::bind::relation::Plan;

/// All settings: name, kind, access, whether it is reported, default, description.
const SETTINGS: &str = include_str!("../../session/variables/settings.tsv");

/// UTF8, in PostgreSQL's numbering of encodings.
const UTF8: i32 = 6;
/// The tablespace `pg_default`.
const PG_DEFAULT: u32 = 1663;

impl Binder<'_, '_> {
    /// The rows of such a relation. Errors: 0A000 in a maintained query.
    pub fn session_relation(&mut self, item: &Item, desc: &RelationDesc) -> Result<Plan> {
        self.refuse_maintained(
            &format!("{}, which each session sees in its own way,", item.name),
            "Read it in the query that reads the view.",
        )?;
        let rows = match item.name.as_str() {
            "pg_database" => vec![self.database(desc)?],
            "pg_authid" => vec![self.role(desc)?],
            "pg_settings" => self.settings(desc)?,
            name => return Err(Error::internal(format!("{name} has no rows of a session"))),
        };
        Ok(Plan::constant(rows, desc.types()))
    }

    fn database(&self, desc: &RelationDesc) -> Result<Row> {
        let row = named::row(
            desc,
            &[
                ("oid", Datum::Oid(DATABASE)),
                ("datname", Datum::Text(self.cx.database)),
                ("datdba", Datum::Oid(OWNER)),
                ("encoding", Datum::Int4(UTF8)),
                ("datlocprovider", Datum::Text("c")),
                ("datallowconn", Datum::Bool(true)),
                ("datconnlimit", Datum::Int4(-1)),
                ("dattablespace", Datum::Oid(PG_DEFAULT)),
                ("datcollate", Datum::Text("C")),
                ("datctype", Datum::Text("C.UTF-8")),
            ],
        )?;
        Ok(pack(&row))
    }

    /// On loopback everyone is trusted, under any name.
    fn role(&self, desc: &RelationDesc) -> Result<Row> {
        let row = named::row(
            desc,
            &[
                ("oid", Datum::Oid(OWNER)),
                ("rolname", Datum::Text(self.cx.current_user)),
                ("rolsuper", Datum::Bool(true)),
                ("rolinherit", Datum::Bool(true)),
                ("rolcreaterole", Datum::Bool(true)),
                ("rolcreatedb", Datum::Bool(true)),
                ("rolcanlogin", Datum::Bool(true)),
                ("rolreplication", Datum::Bool(true)),
                ("rolbypassrls", Datum::Bool(true)),
                ("rolconnlimit", Datum::Int4(-1)),
            ],
        )?;
        Ok(pack(&row))
    }

    fn settings(&self, desc: &RelationDesc) -> Result<Vec<Row>> {
        let mut rows = vec![];
        for line in SETTINGS.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[name, kind, access, _, default, description, ..] = fields.as_slice() else {
                continue;
            };
            let value = (self.cx.variables)(&name.to_ascii_lowercase());
            let words: Vec<&str> = kind.split(' ').collect();
            let word = |at: usize| words.get(at).map_or(Datum::Null, |word| Datum::Text(word));
            let (ty, is_number) = match words[0] {
                "int" => ("integer", true),
                "real" => ("real", true),
                "bool" => ("bool", false),
                "enum" => ("enum", false),
                _ => ("string", false),
            };
            let unit = match word(1) {
                Datum::Text(unit) if words[0] == "int" && unit != "-" => Datum::Text(unit),
                _ => Datum::Null,
            };
            let in_units = match (&value, unit) {
                (Some(value), Datum::Text(unit)) => Some(in_units(value, unit)),
                _ => value.clone(),
            };
            let setting = in_units.as_deref().map_or(Datum::Null, Datum::Text);
            let bounds = if words[0] == "real" { [word(1), word(2)] } else { [word(2), word(3)] };
            let [min, max] = if is_number { bounds } else { [Datum::Null; 2] };
            let context = match access {
                "user" => "user",
                "internal" => "internal",
                _ => "postmaster",
            };
            let source = match access {
                _ if in_units.as_deref() == Some(default) => "default",
                "user" => "session",
                "server" if name.starts_with("introspection_") => "configuration file",
                "server" => "command line",
                _ => "default",
            };
            let row = named::row(
                desc,
                &[
                    ("name", Datum::Text(name)),
                    ("setting", setting),
                    ("unit", unit),
                    ("category", Datum::Text("Weir")),
                    ("short_desc", Datum::Text(description)),
                    ("context", Datum::Text(context)),
                    ("vartype", Datum::Text(ty)),
                    ("source", Datum::Text(source)),
                    ("min_val", min),
                    ("max_val", max),
                    ("boot_val", Datum::Text(default)),
                    ("reset_val", Datum::Text(default)),
                    ("pending_restart", Datum::Bool(false)),
                ],
            )?;
            rows.push(pack(&row));
        }
        Ok(rows)
    }
}

/// A value that is spelled with the unit that fits it best, as a number of another unit.
fn in_units(value: &str, unit: &str) -> String {
    let split = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, spelled) = value.split_at(split);
    let size = |unit: &str| match unit {
        "B" => Some(1),
        "kB" => Some(1 << 10),
        "8kB" => Some(8 << 10),
        "MB" => Some(1 << 20),
        "GB" => Some(1 << 30),
        "TB" => Some(1_i64 << 40),
        "us" => Some(1),
        "ms" => Some(1_000),
        "s" => Some(1_000_000),
        "min" => Some(60_000_000),
        "h" => Some(3_600_000_000),
        "d" => Some(86_400_000_000),
        _ => None,
    };
    match (number.parse::<i64>(), size(spelled), size(unit)) {
        (Ok(number), Some(from), Some(to)) => (number.saturating_mul(from) / to).to_string(),
        _ => value.to_owned(),
    }
}

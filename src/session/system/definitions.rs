//! What objects are made of: `pg_attrdef`, `pg_index`, `pg_constraint`, `pg_rewrite`, `pg_depend`,
//! and the texts of definitions.

use bumpalo::Bump;

use crate::catalog::item::{Action, ColumnDefault, Constraint, Item, ItemKind, Reference, Rule};
use crate::catalog::system::oids::{key_oid, oid, part_oid};
use crate::error::Result;
use crate::repr::{Datum, GlobalId, RelationDesc, ScalarType};
use crate::session::system::feeds::Objects;
use crate::session::system::functions::{array, vector};
use crate::session::system::names::{self, qualified, quoted};
use crate::session::system::objects::{namespace, primary_key};
use crate::session::system::rows::Rows;
use crate::session::system::types::storage;

/// The oids of relations that dependencies name.
const PG_CLASS: u32 = 1259;
const PG_ATTRDEF: u32 = 2604;
const PG_TYPE: u32 = 1247;
const PG_CONSTRAINT: u32 = 2606;
const PG_REWRITE: u32 = 2618;

/// The text of a default, as `pg_get_expr` answers it.
fn default_text(objects: &Objects<'_>, default: &ColumnDefault, ty: ScalarType) -> Option<String> {
    match ColumnDefault::split(Some(default)).1? {
        ColumnDefault::Domain { .. } | ColumnDefault::Attribute(_) | ColumnDefault::Kept { .. } => {
            None
        }
        ColumnDefault::Expression(text) if is_string(text) => {
            Some(format!("{text}::{}", ty.display_name()))
        }
        ColumnDefault::Expression(text) => Some(text.clone()),
        ColumnDefault::Sequence { identity: true, .. } => None,
        ColumnDefault::Sequence { id, .. } => {
            let sequence = objects.get(*id)?;
            let name = match sequence.schema.as_str() {
                "public" => quoted(&sequence.name),
                schema => qualified(schema, &sequence.name),
            };
            Some(format!("nextval('{}'::regclass)", name.replace('\'', "''")))
        }
    }
}

/// Whether a text is one literal of a string.
fn is_string(text: &str) -> bool {
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace("''", "").contains('\''))
}

/// `pg_attrdef`.
pub(super) fn defaults(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let ItemKind::Table(table) = &item.kind else { return Ok(()) };
    for (at, default) in table.defaults.iter().enumerate() {
        let ty = table.desc.columns[at].ty.scalar;
        let text = default.as_ref().and_then(|default| default_text(objects, default, ty));
        let Some(text) = text else { continue };
        rows.add(&[
            ("oid", Datum::Oid(part_oid(item.id, at))),
            ("adrelid", Datum::Oid(oid(item.id))),
            ("adnum", Datum::Int2(at as i16 + 1)),
            ("adbin", Datum::Text(&text)),
        ])?;
    }
    Ok(())
}

/// `pg_index`.
pub(super) fn indexes(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    if let Some((columns, _)) = primary_key(item) {
        let columns: Vec<i16> = columns.iter().map(|at| *at as i16 + 1).collect();
        add_index(key_oid(item.id), item, (&columns, true), None, rows)?;
    }
    let ItemKind::Index(index) = &item.kind else { return Ok(()) };
    let Some(on) = objects.get(index.on) else { return Ok(()) };
    let Some(desc) = on.desc() else { return Ok(()) };
    let columns = names::key_columns(index, desc);
    let exprs = columns.iter().zip(&index.key).filter(|(column, _)| **column == 0);
    let exprs: Vec<&str> = exprs.map(|(_, text)| text.as_str()).collect();
    let exprs = (!exprs.is_empty()).then(|| exprs.join(", "));
    let unique = objects.catalog.unique_by(item.id).is_some();
    add_index(oid(item.id), on, (&columns, unique), exprs.as_deref(), rows)
}

fn add_index(
    index: u32,
    on: &Item,
    (columns, is_unique): (&[i16], bool),
    exprs: Option<&str>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let arena = Bump::new();
    let is_primary = exprs.is_none() && index == key_oid(on.id);
    let count = columns.len() as i16;
    let collation = |column: &i16| match (*column, on.desc()) {
        (1.., Some(desc)) => storage(desc.columns[*column as usize - 1].ty.scalar).collation,
        _ => 0,
    };
    let numbers = columns.iter().map(|column| Datum::Int2(*column));
    let collations = columns.iter().map(|column| Datum::Oid(collation(column)));
    rows.add(&[
        ("indexrelid", Datum::Oid(index)),
        ("indrelid", Datum::Oid(oid(on.id))),
        ("indnatts", Datum::Int2(count)),
        ("indnkeyatts", Datum::Int2(count)),
        ("indisunique", Datum::Bool(is_unique)),
        ("indisprimary", Datum::Bool(is_primary)),
        ("indimmediate", Datum::Bool(true)),
        ("indisvalid", Datum::Bool(true)),
        ("indisready", Datum::Bool(true)),
        ("indislive", Datum::Bool(true)),
        ("indkey", vector(ScalarType::Int2, numbers, &arena)),
        ("indcollation", vector(ScalarType::Oid, collations, &arena)),
        ("indclass", vector(ScalarType::Oid, columns.iter().map(|_| Datum::Oid(0)), &arena)),
        ("indoption", vector(ScalarType::Int2, columns.iter().map(|_| Datum::Int2(0)), &arena)),
        ("indexprs", exprs.map_or(Datum::Null, Datum::Text)),
    ])
}

/// `pg_constraint`.
pub(super) fn constraints(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    if let ItemKind::Constraint(constraint) = &item.kind {
        return add_rule(objects, item, constraint, rows);
    }
    let Some((columns, name)) = primary_key(item) else { return Ok(()) };
    let arena = Bump::new();
    let numbers = columns.iter().map(|at| Datum::Int2(*at as i16 + 1));
    rows.add(&[
        ("oid", Datum::Oid(key_oid(item.id))),
        ("conname", Datum::Text(name)),
        ("connamespace", Datum::Oid(namespace(objects, &item.schema))),
        ("contype", Datum::Text("p")),
        ("convalidated", Datum::Bool(true)),
        ("conrelid", Datum::Oid(oid(item.id))),
        ("conindid", Datum::Oid(key_oid(item.id))),
        ("confupdtype", Datum::Text(" ")),
        ("confdeltype", Datum::Text(" ")),
        ("confmatchtype", Datum::Text(" ")),
        ("conislocal", Datum::Bool(true)),
        ("connoinherit", Datum::Bool(true)),
        ("conkey", array(ScalarType::Int2, numbers, &arena)),
    ])
}

/// `pg_constraint` of CHECK and UNIQUE.
fn add_rule(
    objects: &Objects<'_>,
    item: &Item,
    constraint: &Constraint,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let Some(on) = objects.get(constraint.on) else { return Ok(()) };
    let Some(desc) = on.desc() else { return Ok(()) };
    let arena = Bump::new();
    let (kind, index, columns, text) = match &constraint.rule {
        Rule::Unique { declared: false, .. } => return Ok(()),
        Rule::Unique { index, .. } => ("u", oid(*index), unique_columns(objects, *index), None),
        Rule::Check(text) => ("c", 0, named_columns(text, desc), Some(text.as_str())),
        Rule::Reference(of) => return add_reference(objects, (item, on), of, rows),
    };
    let numbers = columns.iter().map(|column| Datum::Int2(*column));
    rows.add(&[
        ("oid", Datum::Oid(oid(item.id))),
        ("conname", Datum::Text(&item.name)),
        ("connamespace", Datum::Oid(namespace(objects, &item.schema))),
        ("contype", Datum::Text(kind)),
        ("convalidated", Datum::Bool(true)),
        ("conrelid", Datum::Oid(oid(on.id))),
        ("conindid", Datum::Oid(index)),
        ("confupdtype", Datum::Text(" ")),
        ("confdeltype", Datum::Text(" ")),
        ("confmatchtype", Datum::Text(" ")),
        ("conislocal", Datum::Bool(true)),
        ("connoinherit", Datum::Bool(kind == "u")),
        ("conkey", array(ScalarType::Int2, numbers, &arena)),
        ("conbin", text.map_or(Datum::Null, Datum::Text)),
    ])
}

/// `pg_constraint` of a foreign key.
fn add_reference(
    objects: &Objects<'_>,
    (item, on): (&Item, &Item),
    of: &Reference,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let arena = Bump::new();
    let Some(parent) = objects.get(of.parent) else { return Ok(()) };
    let numbers = |table: &Item, names: &[String]| {
        let desc = table.desc();
        let place = |name: &String| {
            let at = desc.and_then(|desc| desc.columns.iter().position(|of| of.name == *name));
            at.map_or(0, |at| at as i16 + 1)
        };
        names.iter().map(place).collect::<Vec<i16>>()
    };
    let own = numbers(on, &of.columns).into_iter().map(Datum::Int2);
    let to: Vec<i16> = numbers(parent, &of.to);
    let is_primary = primary_key(parent).is_some_and(|(key, _)| {
        key.len() == to.len() && key.iter().all(|at| to.contains(&(*at as i16 + 1)))
    });
    let unique = objects.catalog.constraints(parent.id).find_map(|(_, rule)| match rule.rule {
        Rule::Unique { index, .. } if unique_columns(objects, index) == to => Some(oid(index)),
        _ => None,
    });
    let index = if is_primary { key_oid(parent.id) } else { unique.unwrap_or(0) };
    rows.add(&[
        ("oid", Datum::Oid(oid(item.id))),
        ("conname", Datum::Text(&item.name)),
        ("connamespace", Datum::Oid(namespace(objects, &item.schema))),
        ("contype", Datum::Text("f")),
        ("condeferrable", Datum::Bool(of.deferrable)),
        ("condeferred", Datum::Bool(of.deferred)),
        ("convalidated", Datum::Bool(true)),
        ("conrelid", Datum::Oid(oid(on.id))),
        ("conindid", Datum::Oid(index)),
        ("confrelid", Datum::Oid(oid(parent.id))),
        ("confupdtype", Datum::Text(action(of.on_update).0)),
        ("confdeltype", Datum::Text(action(of.on_delete).0)),
        ("confmatchtype", Datum::Text("s")),
        ("conislocal", Datum::Bool(true)),
        ("connoinherit", Datum::Bool(true)),
        ("conkey", array(ScalarType::Int2, own, &arena)),
        ("confkey", array(ScalarType::Int2, to.iter().map(|at| Datum::Int2(*at)), &arena)),
    ])
}

/// The letter of an action, and its words where they are not left out.
fn action(action: Action) -> (&'static str, Option<&'static str>) {
    match action {
        Action::Nothing => ("a", None),
        Action::Restrict => ("r", Some("RESTRICT")),
        Action::Cascade => ("c", Some("CASCADE")),
        Action::SetNull => ("n", Some("SET NULL")),
    }
}

/// A foreign key as its definition spells it.
fn reference_text(objects: &Objects<'_>, of: &Reference) -> String {
    let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>();
    let parent =
        objects.get(of.parent).map_or_else(String::new, |parent| match parent.schema.as_str() {
            "public" => quoted(&parent.name),
            schema => qualified(schema, &parent.name),
        });
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {parent}({})",
        list(&of.columns).join(", "),
        list(&of.to).join(", ")
    );
    for (event, done) in [("UPDATE", of.on_update), ("DELETE", of.on_delete)] {
        if let Some(words) = action(done).1 {
            text.push_str(&format!(" ON {event} {words}"));
        }
    }
    if of.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if of.deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    text
}

/// The columns of a unique index, by their numbers from 1.
fn unique_columns(objects: &Objects<'_>, index: GlobalId) -> Vec<i16> {
    let Some(ItemKind::Index(index)) = objects.get(index).map(|item| &item.kind) else {
        return vec![];
    };
    let on = objects.get(index.on).and_then(|on| on.desc());
    on.map_or_else(Vec::new, |desc| names::key_columns(index, desc))
}

/// The columns that a condition's text names, by their numbers from 1.
fn named_columns(text: &str, desc: &RelationDesc) -> Vec<i16> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let outside_strings: String = text.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = outside_strings.split(|c| !is_word(c)).collect();
    let numbered = desc.columns.iter().zip(1..);
    let named = numbered.filter(|(column, _)| {
        let quoted = format!("\"{}\"", column.name.replace('"', "\"\""));
        words.iter().any(|word| word.eq_ignore_ascii_case(&column.name))
            || outside_strings.contains(&quoted)
    });
    named.map(|(_, number)| number).collect()
}

/// `pg_rewrite`: a view's query is its rule `_RETURN`.
pub(super) fn rules(_: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let ItemKind::View(view) = &item.kind else { return Ok(()) };
    rows.add(&[
        ("oid", Datum::Oid(part_oid(item.id, 0))),
        ("rulename", Datum::Text("_RETURN")),
        ("ev_class", Datum::Oid(oid(item.id))),
        ("ev_type", Datum::Text("1")),
        ("ev_enabled", Datum::Text("O")),
        ("is_instead", Datum::Bool(true)),
        ("ev_qual", Datum::Text("<>")),
        ("ev_action", Datum::Text(&view.text)),
    ])
}

/// `pg_depend`: what views read, what columns own, what a primary key is of.
pub(super) fn dependencies(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let mut add = |from: (u32, u32, i32), to: (u32, u32, i32), kind: &str| {
        rows.add(&[
            ("classid", Datum::Oid(from.0)),
            ("objid", Datum::Oid(from.1)),
            ("objsubid", Datum::Int4(from.2)),
            ("refclassid", Datum::Oid(to.0)),
            ("refobjid", Datum::Oid(to.1)),
            ("refobjsubid", Datum::Int4(to.2)),
            ("deptype", Datum::Text(kind)),
        ])
    };
    let own = oid(item.id);
    match &item.kind {
        ItemKind::View(view) => {
            let rule = part_oid(item.id, 0);
            add((PG_REWRITE, rule, 0), (PG_CLASS, own, 0), "i")?;
            for on in &view.depends_on {
                let is_type = |on: &Item| matches!(on.kind, ItemKind::Type(_));
                let class =
                    if objects.get(*on).is_some_and(|on| is_type(on)) { PG_TYPE } else { PG_CLASS };
                add((PG_REWRITE, rule, 0), (class, oid(*on), 0), "n")?;
            }
        }
        ItemKind::Index(index) => match objects.catalog.unique_by(item.id) {
            Some((of, true)) => add((PG_CLASS, own, 0), (PG_CONSTRAINT, oid(of.id), 0), "i")?,
            _ => add((PG_CLASS, own, 0), (PG_CLASS, oid(index.on), 0), "a")?,
        },
        ItemKind::Constraint(Constraint { rule: Rule::Unique { declared: false, .. }, .. }) => {}
        ItemKind::Constraint(Constraint { on, .. }) => {
            add((PG_CONSTRAINT, own, 0), (PG_CLASS, oid(*on), 0), "a")?;
        }
        ItemKind::Sequence(sequence) => {
            let Some((table, column)) = sequence.owned_by else { return Ok(()) };
            let kind = if has_identity(objects, table, column) { "i" } else { "a" };
            add((PG_CLASS, own, 0), (PG_CLASS, oid(table), column as i32 + 1), kind)?;
        }
        ItemKind::Table(table) => {
            for (at, default) in table.defaults.iter().enumerate() {
                let part = (PG_ATTRDEF, part_oid(item.id, at), 0);
                match ColumnDefault::split(default.as_ref()).1 {
                    Some(
                        ColumnDefault::Sequence { identity: true, .. }
                        | ColumnDefault::Domain { .. }
                        | ColumnDefault::Attribute(_)
                        | ColumnDefault::Kept { .. },
                    )
                    | None => continue,
                    Some(ColumnDefault::Sequence { id, .. }) => {
                        add(part, (PG_CLASS, oid(*id), 0), "n")?;
                    }
                    Some(ColumnDefault::Expression(_)) => {}
                }
                add(part, (PG_CLASS, own, at as i32 + 1), "a")?;
            }
            let Some((columns, _)) = primary_key(item) else { return Ok(()) };
            let key = key_oid(item.id);
            add((PG_CLASS, key, 0), (PG_CONSTRAINT, key, 0), "i")?;
            for column in columns {
                add((PG_CONSTRAINT, key, 0), (PG_CLASS, own, *column as i32 + 1), "a")?;
            }
        }
        ItemKind::Schema | ItemKind::System(_) | ItemKind::Type(_) => {}
    }
    Ok(())
}

/// Whether a column of a table is an identity column.
fn has_identity(objects: &Objects<'_>, table: GlobalId, column: usize) -> bool {
    objects.get(table).is_some_and(|owner| match &owner.kind {
        ItemKind::Table(owner) => matches!(
            owner.defaults.get(column),
            Some(Some(ColumnDefault::Sequence { identity: true, .. }))
        ),
        _ => false,
    })
}

/// `weir_definitions`: the texts that `pg_get_indexdef` and its kin answer.
pub(super) fn definitions(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let mut add = |class: u32, object: u32, column: i16, text: &str| {
        rows.add(&[
            ("class", Datum::Oid(class)),
            ("object", Datum::Oid(object)),
            ("part", Datum::Int2(column)),
            ("definition", Datum::Text(text)),
        ])
    };
    let create = |what: &str, name: &str, on: &Item, keys: &[String]| {
        let on = qualified(&on.schema, &on.name);
        format!("CREATE {what} {} ON {on} USING btree ({})", quoted(name), keys.join(", "))
    };
    match &item.kind {
        ItemKind::View(view) => add(PG_CLASS, oid(item.id), 0, &view.text),
        ItemKind::Index(index) => {
            let Some(on) = objects.get(index.on) else { return Ok(()) };
            let Some(desc) = on.desc() else { return Ok(()) };
            let keys = names::key_texts(index, desc);
            let unique = objects.catalog.unique_by(item.id).is_some();
            let what = if unique { "UNIQUE INDEX" } else { "INDEX" };
            add(PG_CLASS, oid(item.id), 0, &create(what, &item.name, on, &keys))?;
            for (at, key) in keys.iter().enumerate() {
                add(PG_CLASS, oid(item.id), at as i16 + 1, key)?;
            }
            Ok(())
        }
        ItemKind::Constraint(constraint) => {
            let text = match &constraint.rule {
                Rule::Check(text) => format!("CHECK (({text}))"),
                Rule::Reference(of) => reference_text(objects, of),
                Rule::Unique { index, .. } => {
                    let index = objects.get(*index).map(|index| &index.kind);
                    let on = objects.get(constraint.on).and_then(|on| on.desc());
                    let (Some(ItemKind::Index(index)), Some(desc)) = (index, on) else {
                        return Ok(());
                    };
                    format!("UNIQUE ({})", names::key_texts(index, desc).join(", "))
                }
            };
            add(PG_CONSTRAINT, oid(item.id), 0, &text)
        }
        ItemKind::Table(table) => {
            let Some((columns, name)) = primary_key(item) else { return Ok(()) };
            let columns = columns.iter().map(|at| quoted(&table.desc.columns[*at].name));
            let keys: Vec<_> = columns.collect();
            let key = key_oid(item.id);
            add(PG_CLASS, key, 0, &create("UNIQUE INDEX", name, item, &keys))?;
            for (at, key_text) in keys.iter().enumerate() {
                add(PG_CLASS, key, at as i16 + 1, key_text)?;
            }
            add(PG_CONSTRAINT, key, 0, &format!("PRIMARY KEY ({})", keys.join(", ")))
        }
        _ => Ok(()),
    }
}

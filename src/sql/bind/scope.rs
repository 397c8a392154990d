//! Which names of columns are visible, and what they stand for.
//!
//! A scope goes with one relation: its entries are positions of that relation's columns. The
//! columns that `*` and unqualified names see are listed apart from those of the tables, because
//! `USING` merges two columns into one for the former while `t.x` still finds either.

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::ColumnOrder;
use crate::repr::{ColumnType, Datum, GlobalId, ScalarType};
use crate::sql::bind::relation::Typed;

/// A column with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// Its position in the relation.
    pub index: usize,
    /// The table it belongs to, by position in the scope; none for a merged column.
    pub table: Option<usize>,
}

/// A table, or what stands for one in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its alias or name.
    pub name: String,
    /// Its schema, where it has no alias.
    pub schema: Option<String>,
    /// The name that an alias hides.
    pub hidden: Option<String>,
    /// The catalog's object, where its rows are all of that object's.
    pub id: Option<GlobalId>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Positions of the columns that identify a row, where all rows of an object are there.
    pub primary_key: Option<Vec<usize>>,
    /// Whether its name means its one column: a function of one value.
    pub is_scalar: bool,
    /// Whether an outer join may leave its rows out.
    pub absent: Absent,
}

/// Whether an outer join may leave a table's rows out, and how that is told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Absent {
    /// It never does.
    #[default]
    Never,
    /// Where this column is NULL, which is of this type.
    WhereNull(usize, ColumnType),
    /// By no column.
    Unknown,
}

/// The names that an expression may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// The tables.
    pub tables: Vec<Table>,
    /// What `*` and unqualified names see, in order.
    pub visible: Vec<Column>,
    /// The order in which the rows come, where they are those of one subquery that has one: a
    /// relation has none, but aggregates that depend on an order take this one for theirs.
    pub order: Vec<ColumnOrder>,
}

impl Table {
    /// What a query, or anything else that is no object of the catalog, has as its columns.
    pub fn derived(name: impl Into<String>, columns: Vec<Column>) -> Table {
        Table {
            name: name.into(),
            schema: None,
            hidden: None,
            id: None,
            columns,
            primary_key: None,
            is_scalar: false,
            absent: Absent::Never,
        }
    }

    /// A column that every table has beside its own: `tableoid`.
    fn system_column(&self, name: &str) -> Option<Typed> {
        if name != "tableoid" {
            return None;
        }
        let oid = Typed::literal(Datum::Oid(self.id?.0 as u32), ScalarType::Oid);
        match self.absent {
            Absent::Never => Some(oid),
            Absent::WhereNull(column, ty) => {
                let there = Typed::column(column, ty).expr.is_not_null();
                let ty = ColumnType::nullable(ScalarType::Oid);
                let (branches, otherwise) = (vec![(there, oid.expr)], Box::new(Expr::null(ty)));
                Some(Typed { expr: Expr::Case { branches, otherwise }, ty })
            }
            Absent::Unknown => None,
        }
    }
}

impl Scope {
    /// The scope of one table whose columns are those of a relation.
    pub fn of_table(mut table: Table) -> Scope {
        for column in &mut table.columns {
            column.table = Some(0);
        }
        Scope { visible: table.columns.clone(), tables: vec![table], order: vec![] }
    }

    /// This scope and that of a relation whose columns come after `offset` others.
    ///
    /// Errors: 42712 where a table's name is there twice.
    pub fn join(mut self, right: Scope, offset: usize) -> Result<Scope> {
        self.order.clear();
        let base = self.tables.len();
        let moved = |mut column: Column| {
            column.index += offset;
            column.table = column.table.map(|table| table + base);
            column
        };
        for mut table in right.tables {
            let twice = self.tables.iter().any(|other| {
                other.name == table.name
                    && (other.schema.is_none()
                        || table.schema.is_none()
                        || other.schema == table.schema)
            });
            if twice {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", table.name),
                ));
            }
            table.columns = table.columns.into_iter().map(moved).collect();
            if let Some(key) = &mut table.primary_key {
                key.iter_mut().for_each(|column| *column += offset);
            }
            if let Absent::WhereNull(column, _) = &mut table.absent {
                *column += offset;
            }
            self.tables.push(table);
        }
        self.visible.extend(right.visible.into_iter().map(moved));
        Ok(self)
    }

    /// Marks the columns from `from` to `to` as nullable: an outer join may leave them out.
    pub fn make_nullable(&mut self, from: usize, to: usize) {
        for table in &mut self.tables {
            let within = |column: &&Column| (from..to).contains(&column.index);
            if table.absent == Absent::Never && table.columns.iter().any(|c| within(&c)) {
                let known = table.columns.iter().find(|column| !column.ty.nullable);
                table.absent = known.map_or(Absent::Unknown, |column| {
                    Absent::WhereNull(column.index, ColumnType { nullable: true, ..column.ty })
                });
            }
        }
        let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns);
        for column in columns.chain(&mut self.visible) {
            if (from..to).contains(&column.index) {
                column.ty.nullable = true;
            }
        }
        // With NULLs filled in, the key no longer tells rows apart.
        for table in &mut self.tables {
            if table.primary_key.iter().flatten().any(|column| (from..to).contains(column)) {
                table.primary_key = None;
            }
        }
    }

    /// The columns of that name that an unqualified name may mean.
    pub fn named<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s Column> {
        let name = name.to_owned();
        self.visible.iter().filter(move |column| column.name == name)
    }

    /// The column that an unqualified name means, if any.
    ///
    /// Errors: 42702 where there is more than one.
    pub fn find(&self, name: &str) -> Result<Option<Typed>> {
        let mut found = self.named(name);
        let Some(first) = found.next() else {
            let system = match self.tables.as_slice() {
                [one] => one.system_column(name),
                _ => None,
            };
            return Ok(system);
        };
        if found.next().is_some() {
            return Err(ambiguous(name));
        }
        Ok(Some(Typed::column(first.index, first.ty)))
    }

    /// The table of that name, with or without its schema.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| {
            table.name == name && (schema.is_none() || table.schema.as_deref() == schema)
        })
    }

    /// The column that a qualified name means.
    ///
    /// Errors: 42P01 without such a table, 42703 without such a column, 42702.
    pub fn find_qualified(&self, schema: Option<&str>, table: &str, name: &str) -> Result<Typed> {
        let Some(found) = self.table(schema, table) else {
            return Err(self.missing_table(schema, table));
        };
        let mut columns = found.columns.iter().filter(|column| column.name == name);
        let Some(column) = columns.next() else {
            if let Some(system) = found.system_column(name) {
                return Ok(system);
            }
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column {table}.{name} does not exist"),
            ));
        };
        if columns.next().is_some() {
            return Err(ambiguous(name));
        }
        Ok(Typed::column(column.index, column.ty))
    }

    /// The error of a table that is not in FROM.
    pub fn missing_table(&self, schema: Option<&str>, name: &str) -> Error {
        let hidden = self.tables.iter().find(|table| table.hidden.as_deref() == Some(name));
        if let (None, Some(table)) = (schema, hidden) {
            return Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{name}\""),
            )
            .with_hint(format!(
                "Perhaps you meant to reference the table alias \"{}\".",
                table.name
            ));
        }
        Error::new(
            SqlState::UNDEFINED_TABLE,
            format!("missing FROM-clause entry for table \"{name}\""),
        )
    }

    /// The error of an unqualified name that is not there.
    pub fn missing_column(&self, name: &str) -> Error {
        let error =
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"));
        match self.closest(name) {
            Some(closest) => {
                error.with_hint(format!("Perhaps you meant to reference the column \"{closest}\"."))
            }
            None => error,
        }
    }

    /// The column whose name is nearest, where one is near enough: PostgreSQL's bound is three
    /// edits and no more than half the letters.
    fn closest(&self, name: &str) -> Option<String> {
        let bound = 3.min(name.chars().count() / 2);
        let columns = self.tables.iter().flat_map(|table| {
            table.columns.iter().map(move |column| {
                let distance = edit_distance(name, &column.name);
                (distance, format!("{}.{}", table.name, column.name))
            })
        });
        columns.filter(|(d, _)| *d <= bound).min_by_key(|(d, _)| *d).map(|(_, name)| name)
    }

    /// The name of a column, for messages about it.
    pub fn describe(&self, index: usize) -> String {
        for table in &self.tables {
            if let Some(column) = table.columns.iter().find(|column| column.index == index) {
                return format!("{}.{}", table.name, column.name);
            }
        }
        let merged = self.visible.iter().find(|column| column.index == index);
        merged.map_or_else(|| format!("#{index}"), |column| column.name.clone())
    }
}

fn ambiguous(name: &str) -> Error {
    Error::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
}

/// Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

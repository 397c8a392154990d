//! CREATE TABLE, SCHEMA, SEQUENCE, INDEX; DROP.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::objects::SYSTEM_SCHEMAS;
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::statement::{
    CreateIndex, CreateTable, Drop, NewColumn, NewSequence, SequenceOptions, Statement, TraceSource,
};
use crate::repr::{ColumnDesc, ColumnType, RelationDesc, ScalarType};
use crate::sql::bind::comparable;
use crate::sql::bind::constraint::{self, WrittenRule};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::{finished, scope_of};
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::user_type::Named;
use crate::sql::bind::{name, record, types};
use crate::sql::datalog::facts::required;

/// What a column's and a table's constraints come to.
#[derive(Default)]
pub(super) struct Constraints {
    pub(super) primary_key: Option<(Vec<String>, Option<String>)>,
    pub(super) rules: Vec<WrittenRule>,
}

impl Binder<'_, '_> {
    /// Where a new object goes. Errors: 3F000, 42501.
    pub fn new_name(&self, object: &ast::ObjectName) -> Result<(String, String)> {
        let position = self.position(object.span());
        let qualified = self.qualified(object)?;
        let schema = match qualified.schema {
            Some(schema) => schema,
            None => self
                .cx
                .search_path
                .iter()
                .find(|s| !SYSTEM_SCHEMAS.contains(&s.as_str()) && self.cx.catalog.has_schema(s))
                .cloned()
                .ok_or_else(|| {
                    Error::new(
                        SqlState::INVALID_SCHEMA_NAME,
                        "no schema has been selected to create in",
                    )
                    .at(position)
                })?,
        };
        if !self.cx.catalog.has_schema(&schema) {
            return Err(Error::new(
                SqlState::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            )
            .at(position));
        }
        if SYSTEM_SCHEMAS.contains(&schema.as_str()) {
            return Err(Error::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to create \"{schema}.{}\"", qualified.name),
            ));
        }
        Ok((schema, qualified.name))
    }

    /// CREATE TABLE.
    pub fn create_table(
        &mut self,
        create: &ast::CreateTable,
        retain_ms: Option<u64>,
    ) -> Result<Statement> {
        refuse_table_options(create)?;
        let (schema, table) = self.new_name(&create.name)?;
        let mut constraints = Constraints::default();
        let mut columns = vec![];
        for column in &create.columns {
            let column = self.new_column(&table, column, &mut constraints)?;
            if columns.iter().any(|c: &NewColumn| c.name == column.name) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", column.name),
                ));
            }
            columns.push(column);
        }
        for constraint in &create.constraints {
            if let Some(rule) = constraint::table_rule(constraint)? {
                constraints.rules.push(rule);
                continue;
            }
            let ast::TableConstraint::PrimaryKey(key) = constraint else {
                return Err(Error::unsupported(
                    format!("table constraint {constraint}"),
                    "An exclusion constraint is not there.",
                ));
            };
            let names = key.columns.iter().map(|c| key_column(&c.column.expr));
            let named = key.name.as_ref().map(name::ident);
            constraints.add_key(&table, names.collect::<Result<_>>()?, named)?;
        }
        let source = match &create.query {
            None => None,
            Some(query) => {
                let query = self.query(query, false)?;
                let select = finished(query, None);
                columns = table_as(&create.columns, &select.desc)?;
                Some(Box::new(select))
            }
        };
        let written = std::mem::take(&mut constraints.rules);
        let primary_key = constraints.resolve(&table, &mut columns)?;
        let described = columns.iter().map(|c| ColumnDesc { name: c.name.clone(), ty: c.ty });
        let described = RelationDesc { columns: described.collect(), keys: vec![] };
        let taken: Vec<String> = primary_key.iter().map(|(_, name)| name.clone()).collect();
        let key = primary_key.as_ref().map(|(columns, _)| columns.as_slice());
        let rules = self.new_rules((&schema, &table), written, (&described, key), &taken)?;
        Ok(Statement::CreateTable(CreateTable {
            schema,
            name: table,
            columns,
            primary_key,
            rules,
            if_not_exists: create.if_not_exists,
            retain_ms,
            source,
        }))
    }

    pub(super) fn new_column(
        &mut self,
        table: &str,
        column: &ast::ColumnDef,
        constraints: &mut Constraints,
    ) -> Result<NewColumn> {
        let column_name = name::ident(&column.name);
        let serial = serial_type(&column.data_type);
        let Named { mut ty, domain } = match serial {
            Some(scalar) => Named { ty: ColumnType::not_null(scalar), domain: None },
            None => self
                .named_type(&column.data_type)
                .map_err(|e| e.at(self.position(column.name.span)))?,
        };
        let options = SequenceOptions::of_type(ty.scalar);
        let mut sequence = serial.map(|_| NewSequence { always: false, identity: false, options });
        let (mut default, mut values_of, mut null) = (None, None, Vec::new());
        for option in &column.options {
            if let Some(rule) = constraint::column_rule(option, &column_name)? {
                constraints.rules.push(rule);
                continue;
            }
            match &option.option {
                ast::ColumnOption::Null => null.push(true),
                ast::ColumnOption::NotNull => null.push(false),
                ast::ColumnOption::Default(expr)
                    if is_counter(ty.scalar) && self.default_sequence(expr)?.is_some() =>
                {
                    values_of = self.default_sequence(expr)?;
                }
                ast::ColumnOption::Default(expr) => {
                    default = Some(self.stored_default(expr, &column_name, ty)?);
                }
                ast::ColumnOption::PrimaryKey(_) => {
                    let named = option.name.as_ref().map(name::ident);
                    constraints.add_key(table, vec![column_name.clone()], named)?;
                }
                ast::ColumnOption::Generated {
                    generated_as:
                        generated @ (ast::GeneratedAs::Always | ast::GeneratedAs::ByDefault),
                    sequence_options,
                    generation_expr: None,
                    ..
                } => {
                    let given = sequence_options.as_deref().unwrap_or_default();
                    let always = matches!(generated, ast::GeneratedAs::Always);
                    sequence = Some(self.identity(ty.scalar, always, given)?);
                    ty.nullable = false;
                }
                other => {
                    return Err(Error::unsupported(
                        format!("column constraint {other}"),
                        "PRIMARY KEY, UNIQUE, CHECK, NOT NULL, DEFAULT, GENERATED … AS IDENTITY \
                         and serial are there.",
                    ));
                }
            }
        }
        check_null(&null, &mut ty, &column_name, table)?;
        if (default.is_some() || values_of.is_some()) && sequence.is_some() {
            return Err(two_defaults(serial.is_some(), &column_name, table));
        }
        Ok(NewColumn { name: column_name, ty, default, sequence, values_of, domain })
    }

    /// The text of a default.
    pub(super) fn stored_default(
        &mut self,
        expr: &ast::Expr,
        column: &str,
        ty: ColumnType,
    ) -> Result<String> {
        let text = expr.to_string();
        self.stored_expression = true;
        let bound = self.default_expr(&text, column, ty);
        self.stored_expression = false;
        bound.map_err(|e| e.at(self.expr_position(expr)))?;
        Ok(text)
    }

    /// The sequence of an identity column.
    fn identity(
        &self,
        scalar: ScalarType,
        always: bool,
        given: &[ast::SequenceOptions],
    ) -> Result<NewSequence> {
        if !is_counter(scalar) {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "identity column type must be smallint, integer, or bigint",
            ));
        }
        let options = self.sequence_options(scalar, given)?;
        Ok(NewSequence { always, identity: true, options })
    }

    /// CREATE SCHEMA.
    pub fn create_schema(
        &self,
        schema: &ast::SchemaName,
        if_not_exists: bool,
    ) -> Result<Statement> {
        let ast::SchemaName::Simple(object) = schema else {
            return Err(Error::unsupported(
                "CREATE SCHEMA … AUTHORIZATION",
                "Create the schema without an owner.",
            ));
        };
        let qualified = self.qualified(object)?;
        if qualified.name.starts_with("pg_") {
            return Err(Error::new(
                SqlState::RESERVED_NAME,
                format!("unacceptable schema name \"{}\"", qualified.name),
            )
            .with_detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        Ok(Statement::CreateSchema { name: qualified.name, if_not_exists })
    }

    /// CREATE SOURCE … FROM TRACE FILE.
    pub(super) fn create_trace_source(
        &self,
        name: &ast::ObjectName,
        path: &str,
        snapshot: &Option<String>,
    ) -> Result<Statement> {
        let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return Err(Error::unsupported(
                "a source within a schema",
                "A source is a schema: CREATE SOURCE name FROM TRACE FILE '…'.",
            ));
        };
        let (name, path, snapshot) = (name::ident(ident), path.to_owned(), snapshot.clone());
        Ok(Statement::CreateTraceSource(TraceSource { name, path, snapshot }))
    }

    /// CREATE SEQUENCE.
    pub fn create_sequence(
        &self,
        object: &ast::ObjectName,
        options: &[ast::SequenceOptions],
        if_not_exists: bool,
    ) -> Result<Statement> {
        let (schema, sequence) = self.new_name(object)?;
        let options = self.sequence_options(ScalarType::Int8, options)?;
        Ok(Statement::CreateSequence { schema, name: sequence, options, if_not_exists })
    }

    fn sequence_options(
        &self,
        scalar: ScalarType,
        given: &[ast::SequenceOptions],
    ) -> Result<SequenceOptions> {
        let mut scalar = scalar;
        let (mut increment, mut start, mut min, mut max, mut cycle) = (1, None, None, None, false);
        for option in given {
            match option {
                ast::SequenceOptions::DataType(ty) => scalar = types::column_type(ty)?.scalar,
                ast::SequenceOptions::IncrementBy(expr, _) => increment = integer(expr)?,
                ast::SequenceOptions::StartWith(expr, _) => start = Some(integer(expr)?),
                ast::SequenceOptions::MinValue(expr) => {
                    min = expr.as_ref().map(integer).transpose()?;
                }
                ast::SequenceOptions::MaxValue(expr) => {
                    max = expr.as_ref().map(integer).transpose()?;
                }
                ast::SequenceOptions::Cycle(value) => cycle = *value,
                ast::SequenceOptions::Cache(_) | ast::SequenceOptions::OwnedBy(None) => {}
                ast::SequenceOptions::OwnedBy(Some(_)) => {
                    return Err(Error::unsupported(
                        "OWNED BY",
                        "A serial or identity column owns its sequence.",
                    ));
                }
            }
        }
        let whole = SequenceOptions::of_type(scalar);
        let fault = |text: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, text));
        if increment == 0 {
            return fault("INCREMENT must not be zero".into());
        }
        let up = increment > 0;
        let lowest = if scalar == ScalarType::Int8 { i64::MIN } else { -whole.max - 1 };
        let min = min.unwrap_or(if up { 1 } else { lowest });
        let max = max.unwrap_or(if up { whole.max } else { -1 });
        if min >= max {
            return fault(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
        }
        let start = start.unwrap_or(if up { min } else { max });
        if start < min {
            return fault(format!("START value ({start}) cannot be less than MINVALUE ({min})"));
        }
        if start > max {
            return fault(format!("START value ({start}) cannot be greater than MAXVALUE ({max})"));
        }
        Ok(SequenceOptions { start, increment, min, max, cycle })
    }

    /// CREATE INDEX.
    pub fn create_index(&mut self, create: &ast::CreateIndex) -> Result<Statement> {
        if create.predicate.is_some() || !create.include.is_empty() {
            return Err(Error::unsupported(
                "a partial or covering index",
                "Index the whole relation: an index of Weir holds all columns.",
            ));
        }
        let item = self.relation(&create.table_name)?;
        if item.is_system() {
            return Err(system_catalog(&item.name));
        }
        if !item.is_maintained() {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot create index on relation \"{}\"", item.name),
            )
            .with_detail("This operation is not supported for views.")
            .with_hint("Create a materialized view, and index that."));
        }
        let desc = item.desc().ok_or_else(|| Error::internal("a relation without columns"))?;
        let scope = scope_of(desc);
        let (mut key, mut key_text, mut names) = (vec![], vec![], vec![]);
        self.maintained = true;
        for column in &create.columns {
            let expr = &column.column.expr;
            let position = self.expr_position(expr);
            let mut cx = ExprContext::plain(&scope, Clause::Index);
            self.stored_expression = true;
            let typed = self.typed_expr(expr, &mut cx);
            self.stored_expression = false;
            let typed = typed?;
            comparable::indexed([typed.ty.scalar]).map_err(|e| e.at(position))?;
            if typed.expr.is_volatile() || typed.expr.reads_clock() {
                return Err(Error::new(
                    SqlState::INVALID_OBJECT_DEFINITION,
                    "functions in index expression must be marked IMMUTABLE",
                )
                .at(position));
            }
            names.push(match expr {
                ast::Expr::Identifier(ident) => name::ident(ident),
                _ => "expr".to_owned(),
            });
            key.push(typed.expr);
            key_text.push(expr.to_string());
        }
        self.maintained = false;
        let index = match &create.name {
            Some(object) => self.qualified(object)?.name,
            None => {
                let base = format!("{}_{}_idx", item.name, names.join("_"));
                self.free_name(&item.schema, &base)
            }
        };
        let plain = key.iter().all(|expr| matches!(expr, Expr::Column(_)));
        let unique = create.unique.then_some(names);
        if let Some(columns) = &unique {
            refuse_unique_facts(&item)?;
            refuse_unique(plain && matches!(item.kind, ItemKind::Table(_)))?;
            self.check_key(columns, desc)?;
        }
        Ok(Statement::CreateIndex(CreateIndex {
            name: index,
            on: item.id,
            key,
            key_text,
            unique,
            if_not_exists: create.if_not_exists,
        }))
    }

    fn free_name(&self, schema: &str, base: &str) -> String {
        let is_free = |name: &String| self.cx.catalog.by_name(schema, name).is_none();
        let numbered = (1..).map(|n| format!("{base}{n}"));
        std::iter::once(base.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// DROP.
    pub fn drop(
        &self,
        kind: ast::ObjectType,
        if_exists: bool,
        names: &[ast::ObjectName],
        cascade: bool,
    ) -> Result<Statement> {
        let (word, tag) = match kind {
            ast::ObjectType::Table => ("table", "DROP TABLE"),
            ast::ObjectType::View => ("view", "DROP VIEW"),
            ast::ObjectType::MaterializedView => ("materialized view", "DROP MATERIALIZED VIEW"),
            ast::ObjectType::Index => ("index", "DROP INDEX"),
            ast::ObjectType::Schema => ("schema", "DROP SCHEMA"),
            ast::ObjectType::Sequence => ("sequence", "DROP SEQUENCE"),
            other => {
                return Err(Error::unsupported(
                    format!("DROP {other}"),
                    "There are tables, views, materialized views, indexes, schemas, sequences.",
                ));
            }
        };
        if word == "view"
            && let Some(rules) = self.dropped_rules(names)
        {
            return Ok(Statement::DropRules { names: rules });
        }
        let (mut objects, mut notices) = (vec![], vec![]);
        for object in names {
            let position = self.position(object.span());
            let qualified = self.qualified(object)?;
            let found = match word {
                "schema" => self.cx.catalog.by_name("", &qualified.name),
                _ => self.find_object(&qualified),
            };
            match found {
                Some(item) if item.is_system() => return Err(system_catalog(&item.name)),
                Some(item) if item.kept_by().is_some() => {
                    let by = item.kept_by().and_then(|by| self.cx.catalog.get(by));
                    return Err(required(by, item, word));
                }
                Some(item) if item.kind_name() == word => objects.push(item.id),
                Some(item) => {
                    let article = if word.starts_with('i') { "an" } else { "a" };
                    let right = item.kind_name();
                    return Err(Error::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not {article} {word}", item.name),
                    )
                    .with_hint(format!(
                        "Use DROP {} to remove {} {right}.",
                        right.to_ascii_uppercase(),
                        if right.starts_with(['i', 'a']) { "an" } else { "a" }
                    )));
                }
                None if if_exists => {
                    notices.push(format!("{word} \"{qualified}\" does not exist, skipping"));
                }
                None => {
                    let code = match word {
                        "schema" => SqlState::INVALID_SCHEMA_NAME,
                        "index" => SqlState::UNDEFINED_OBJECT,
                        _ => SqlState::UNDEFINED_TABLE,
                    };
                    let text = format!("{word} \"{qualified}\" does not exist");
                    return Err(Error::new(code, text).at(position));
                }
            }
        }
        Ok(Statement::Drop(Drop { objects, cascade, tag, notices }))
    }
}

/// The refusal to define anything about a system relation.
pub(super) fn system_catalog(name: &str) -> Error {
    let message = format!("permission denied: \"{name}\" is a system catalog");
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

impl Constraints {
    pub(super) fn add_key(
        &mut self,
        table: &str,
        columns: Vec<String>,
        named: Option<String>,
    ) -> Result<()> {
        if self.primary_key.is_some() {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{table}\" are not allowed"),
            ));
        }
        self.primary_key = Some((columns, named));
        Ok(())
    }

    /// The positions of the primary key's columns, which become NOT NULL.
    fn resolve(
        self,
        table: &str,
        columns: &mut [NewColumn],
    ) -> Result<Option<(Vec<usize>, String)>> {
        let Some((names, named)) = self.primary_key else { return Ok(None) };
        let mut key = vec![];
        for column in names {
            let Some(at) = columns.iter().position(|c| c.name == column) else {
                return Err(Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{column}\" named in key does not exist"),
                ));
            };
            if key.contains(&at) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{column}\" appears twice in primary key constraint"),
                ));
            }
            comparable::indexed([columns[at].ty.scalar])?;
            if columns[at].ty.scalar == ScalarType::Jsonb {
                return Err(Error::unsupported(
                    "a primary key of type jsonb",
                    "Take a column of another type as the key.",
                ));
            }
            columns[at].ty.nullable = false;
            key.push(at);
        }
        Ok(Some((key, named.unwrap_or_else(|| format!("{table}_pkey")))))
    }
}

impl SequenceOptions {
    /// A sequence of all positive values of a type.
    fn of_type(scalar: ScalarType) -> SequenceOptions {
        let max = match scalar {
            ScalarType::Int2 => i64::from(i16::MAX),
            ScalarType::Int4 => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        SequenceOptions { start: 1, increment: 1, min: 1, max, cycle: false }
    }
}

/// Refuses a unique index but over columns of a table.
fn refuse_unique_facts(item: &Item) -> Result<()> {
    match item.attribute().is_some() || item.kept_by().is_some() {
        false => Ok(()),
        true => Err(Error::unsupported(
            format!("a unique index on \"{}\", which holds facts", item.name),
            "CREATE ATTRIBUTE … UNIQUE declares it.",
        )),
    }
}

fn refuse_unique(possible: bool) -> Result<()> {
    match possible {
        true => Ok(()),
        false => Err(Error::unsupported(
            "a unique index of expressions, or of a view,",
            "A table's columns can be unique together.",
        )),
    }
}

fn two_defaults(serial: bool, column: &str, table: &str) -> Error {
    let what = if serial { "multiple default values" } else { "both default and identity" };
    let message = format!("{what} specified for column \"{column}\" of table \"{table}\"");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// NULL and NOT NULL, as they were written.
fn check_null(null: &[bool], ty: &mut ColumnType, column: &str, table: &str) -> Result<()> {
    let (Some(nullable), not) = (null.first(), null.contains(&false)) else { return Ok(()) };
    if null.contains(&true) && (not || !ty.nullable) {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!(
                "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \
                 \"{table}\""
            ),
        ));
    }
    ty.nullable &= nullable;
    Ok(())
}

fn serial_type(ty: &ast::DataType) -> Option<ScalarType> {
    match ty.to_string().to_ascii_lowercase().as_str() {
        "smallserial" | "serial2" => Some(ScalarType::Int2),
        "serial" | "serial4" => Some(ScalarType::Int4),
        "bigserial" | "serial8" => Some(ScalarType::Int8),
        _ => None,
    }
}

/// Whether values of a sequence may be of this type.
pub(super) fn is_counter(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8)
}

fn integer(expr: &ast::Expr) -> Result<i64> {
    expr.to_string().replace(' ', "").parse().map_err(|_| {
        Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{expr}\""))
    })
}

pub(super) fn key_column(expr: &ast::Expr) -> Result<String> {
    match expr {
        ast::Expr::Identifier(ident) => Ok(name::ident(ident)),
        other => {
            Err(Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{other}\"")))
        }
    }
}

/// The columns of CREATE TABLE … AS: the query's, under the names that are given.
fn table_as(given: &[ast::ColumnDef], desc: &RelationDesc) -> Result<Vec<NewColumn>> {
    record::refuse_anonymous(desc)?;
    if given.len() > desc.arity() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let columns = desc.columns.iter().enumerate().map(|(at, column)| NewColumn {
        name: given.get(at).map_or_else(|| column.name.clone(), |c| name::ident(&c.name)),
        ty: ColumnType { nullable: true, ..column.ty },
        default: None,
        sequence: None,
        values_of: None,
        domain: None,
    });
    Ok(columns.collect())
}

fn refuse_table_options(create: &ast::CreateTable) -> Result<()> {
    let refused = [
        (create.temporary, "CREATE TEMPORARY TABLE", "Create a table, and drop it."),
        (create.like.is_some(), "CREATE TABLE … LIKE", "Name the columns."),
        (create.inherits.is_some(), "INHERITS", "Name all columns."),
        (create.partition_by.is_some(), "PARTITION BY", "A table is not partitioned by hand."),
        (create.partition_of.is_some(), "PARTITION OF", "A table is not partitioned by hand."),
    ];
    match refused.into_iter().find(|(is, _, _)| *is) {
        Some((_, what, hint)) => Err(Error::unsupported(what, hint)),
        None => Ok(()),
    }
}

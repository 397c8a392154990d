//! Rows as values: `ROW(…)` and `(a, b)`, references to whole rows, and what takes them apart.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::func::{Eval, Func};
use crate::expr::functions::records::RecordFunction;
use crate::expr::polymorphic::record_function;
use crate::expr::scalar::Expr;
use crate::repr::{
    ColumnDesc, ColumnType, RecordName, RecordShape, RecordType, RelationDesc, ScalarType,
};
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::name;
use crate::sql::bind::operator;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::{Absent, Table};
use crate::sql::parse::rewrite::ALL_FIELDS;

/// The columns that a record has at most: those of a relation.
const FIELDS_MAX: usize = 1664;

/// What stands in a row that is written out.
pub enum Item<'a> {
    /// A value.
    Value(&'a ast::Expr),
    /// All columns of a table.
    Star(&'a ast::ObjectName),
}

/// What is in the parentheses of `ROW(…)` or of `(a, b)`; none for any other expression.
pub fn items(expr: &ast::Expr) -> Option<Vec<Item<'_>>> {
    match expr {
        ast::Expr::Tuple(values) => Some(values.iter().map(Item::Value).collect()),
        ast::Expr::Function(function) => {
            let [ast::ObjectNamePart::Identifier(ident)] = &function.name.0[..] else {
                return None;
            };
            if ident.quote_style.is_some() || !ident.value.eq_ignore_ascii_case("row") {
                return None;
            }
            let ast::FunctionArguments::List(list) = &function.args else { return None };
            list.args.iter().map(argument).collect()
        }
        _ => None,
    }
}

fn argument(arg: &ast::FunctionArg) -> Option<Item<'_>> {
    match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(Item::Value(expr)),
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(table)) => {
            Some(Item::Star(table))
        }
        _ => None,
    }
}

/// The values of a row that is written out without a star, which is compared value by value.
pub fn values(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    let value = |item| match item {
        Item::Value(expr) => Some(expr),
        Item::Star(_) => None,
    };
    items(expr)?.into_iter().map(value).collect()
}

/// What stands before the star of `(r).*`.
pub fn starred(expr: &ast::Expr) -> Option<ast::Expr> {
    let ast::Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (ast::AccessExpr::Dot(ast::Expr::Identifier(last)), before) = access_chain.split_last()?
    else {
        return None;
    };
    if last.value != ALL_FIELDS {
        return None;
    }
    Some(match before {
        [] => (**root).clone(),
        before => {
            ast::Expr::CompoundFieldAccess { root: root.clone(), access_chain: before.to_vec() }
        }
    })
}

/// The type of a row with fields of these types, which have no names of their own.
fn anonymous(types: impl Iterator<Item = ColumnType>) -> RecordType {
    let fields = types.enumerate().map(|(i, ty)| ColumnDesc { name: format!("f{}", i + 1), ty });
    RecordType::of(RecordShape { name: RecordName::Anonymous, fields: fields.collect() })
}

fn made(ty: RecordType, values: Vec<Typed>) -> Typed {
    let func = Func(record_function(RecordFunction::Row(ty)));
    let expr = Expr::call(func, values.into_iter().map(|value| value.expr).collect());
    Typed { expr, ty: ColumnType::not_null(ScalarType::Record(ty)) }
}

/// The values of a row that an expression puts together there and then.
fn put_together(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Call { func, args } if matches!(func.eval, Eval::Record(RecordFunction::Row(_))) => {
            Some(args)
        }
        _ => None,
    }
}

/// A field of a record.
pub fn field(record: &Typed, ty: RecordType, place: usize) -> Typed {
    let column = &ty.fields()[place];
    let column_type = ColumnType { nullable: true, ..column.ty };
    let expr = match put_together(&record.expr) {
        Some(values) => values[place].clone(),
        None => {
            let func = Func(record_function(RecordFunction::Field(ty, place)));
            Expr::call(func, vec![record.expr.clone()])
        }
    };
    Typed { expr, ty: column_type }
}

/// `IS [NOT] NULL` of a record: whether all its fields are; whether none is.
pub fn is_null(record: &Typed, ty: RecordType, negated: bool) -> Typed {
    let fields = (0..ty.fields().len()).map(|place| field(record, ty, place).expr);
    let test = match negated {
        true => Expr::and(fields.map(Expr::is_not_null).collect()),
        false => Expr::and(fields.map(Expr::is_null).collect()),
    };
    let expr = match (negated, put_together(&record.expr)) {
        (false, None) => Expr::or(vec![record.expr.clone().is_null(), test]),
        _ => test,
    };
    Typed { expr, ty: ColumnType::not_null(ScalarType::Bool) }
}

/// Error 42804 where two records cannot be compared.
pub fn check_comparable(left: Option<ScalarType>, right: Option<ScalarType>) -> Result<()> {
    let (Some(ScalarType::Record(a)), Some(ScalarType::Record(b))) = (left, right) else {
        return Ok(());
    };
    let fault = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
    let pairs = a.scalars().iter().zip(b.scalars()).enumerate();
    for (i, (a, b)) in pairs.filter(|(_, (a, b))| a != b) {
        let is_record = |ty: &ScalarType| matches!(ty, ScalarType::Record(_));
        if is_record(a) && is_record(b) {
            check_comparable(Some(*a), Some(*b))?;
            continue;
        }
        return Err(fault(format!(
            "cannot compare dissimilar column types {} and {} at record column {}",
            a.display_name(),
            b.display_name(),
            i + 1
        )));
    }
    match a.scalars().len() == b.scalars().len() {
        true => Ok(()),
        false => Err(fault("cannot compare record types with different numbers of columns".into())),
    }
}

/// Error 42846 of a row that has too few columns for a type, or too many.
pub fn other_width(from: ScalarType, to: ScalarType) -> Option<Error> {
    let (ScalarType::Record(a), ScalarType::Record(b)) = (from, to) else { return None };
    let much = match a.scalars().len().cmp(&b.scalars().len()) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Less => "few",
        std::cmp::Ordering::Greater => "many",
    };
    let message = format!("cannot cast type {} to {}", from.display_name(), to.display_name());
    let error = Error::new(SqlState::CANNOT_COERCE, message);
    Some(error.with_detail(format!("Input has too {much} columns.")))
}

/// Error 42P16 where a column of a relation would be of a row type that has no name.
pub fn refuse_anonymous(desc: &RelationDesc) -> Result<()> {
    let is_anonymous = |ty: ScalarType| match ty.element().unwrap_or(ty) {
        ScalarType::Record(record) => record.is_anonymous(),
        _ => false,
    };
    match desc.columns.iter().find(|column| is_anonymous(column.ty.scalar)) {
        None => Ok(()),
        Some(column) => Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!(
                "column \"{}\" has pseudo-type {}",
                column.name,
                column.ty.scalar.display_name()
            ),
        )),
    }
}

impl Binder<'_, '_> {
    /// `ROW(…)` or `(a, b)`.
    pub fn row(&mut self, items: &[Item<'_>], cx: &mut ExprContext<'_>) -> Result<Typed> {
        let mut values = vec![];
        for item in items {
            match item {
                Item::Value(expr) => values.push(self.typed_expr(expr, cx)?),
                Item::Star(table) => {
                    let qualified = self.qualified(table)?;
                    let schema = qualified.schema.as_deref();
                    let Some(table) = cx.scope.table(schema, &qualified.name) else {
                        return Err(cx.scope.missing_table(schema, &qualified.name));
                    };
                    for column in &table.columns {
                        let column = Typed::column(column.index, column.ty);
                        values.push(self.noted(column, None, cx));
                    }
                }
            }
        }
        if values.len() > FIELDS_MAX {
            let message = format!("ROW expressions can have at most {FIELDS_MAX} entries");
            return Err(Error::new(SqlState::new(b"54011"), message));
        }
        Ok(made(anonymous(values.iter().map(|value| value.ty)), values))
    }

    /// The row of a table as one value, where a name is a table's: of this query, or of one around.
    pub fn whole_row(
        &mut self,
        name: &str,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Option<Typed>> {
        if let Some(table) = cx.scope.table(None, name).cloned() {
            let column = |binder: &mut Self, column| binder.noted(column, position, cx);
            return self.row_of(&table, column).map_err(|e| e.at(position)).map(Some);
        }
        let Some((level, table)) = self.outer_table(name) else { return Ok(None) };
        let column = |binder: &mut Self, column| binder.outer(level, column, position);
        self.row_of(&table, column).map_err(|e| e.at(position)).map(Some)
    }

    fn row_of(
        &mut self,
        table: &Table,
        mut column: impl FnMut(&mut Self, Typed) -> Typed,
    ) -> Result<Typed> {
        let mut values = vec![];
        for of in &table.columns {
            values.push(column(self, Typed::column(of.index, of.ty)));
        }
        if table.is_scalar && values.len() == 1 {
            return Ok(values.remove(0));
        }
        let item = table.id.and_then(|id| self.cx.catalog.get(id));
        let (name, names): (_, Vec<&String>) = match item.and_then(|i| Some((i, i.desc()?))) {
            Some((item, desc)) => (
                RecordName::Relation(item.id, item.name.clone()),
                desc.columns.iter().map(|column| &column.name).collect(),
            ),
            None => (RecordName::Anonymous, table.columns.iter().map(|of| &of.name).collect()),
        };
        let fields = names.into_iter().zip(&values);
        let fields = fields.map(|(name, value)| ColumnDesc { name: name.clone(), ty: value.ty });
        let ty = RecordType::of(RecordShape { name, fields: fields.collect() });
        let row = made(ty, values);
        match table.absent {
            Absent::Never => Ok(row),
            Absent::WhereNull(index, of) => {
                let known = column(self, Typed::column(index, of));
                let ty = ColumnType { nullable: true, ..row.ty };
                let branches = vec![(known.expr.is_null(), Expr::null(ty))];
                Ok(Typed { expr: Expr::Case { branches, otherwise: Box::new(row.expr) }, ty })
            }
            Absent::Unknown => Err(Error::unsupported(
                "a reference to a whole row that an outer join may leave out, without a column \
                 that is NOT NULL,",
                "Name the columns, or declare one of them NOT NULL.",
            )),
        }
    }

    /// `(record).name`. Errors: 42703, 42809.
    pub fn named_field(
        &mut self,
        record: &Typed,
        ident: &ast::Ident,
        position: Option<u32>,
    ) -> Result<Typed> {
        let name = name::ident(ident);
        let ScalarType::Record(ty) = record.ty.scalar else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "column notation .{name} applied to type {}, which is not a composite type",
                    record.ty.scalar.display_name()
                ),
            )
            .at(position));
        };
        match ty.fields().iter().position(|field| field.name == name) {
            Some(place) => Ok(field(record, ty, place)),
            None => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                match ty.is_anonymous() {
                    true => format!("could not identify column \"{name}\" in record data type"),
                    false => format!(
                        "column \"{name}\" not found in data type {}",
                        record.ty.scalar.display_name()
                    ),
                },
            )
            .at(position)),
        }
    }

    /// The names and values of `(record).*`. Errors: 42809.
    pub fn all_fields(
        &mut self,
        expr: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<(String, Typed)>> {
        let record = self.typed_expr(expr, cx)?;
        let ScalarType::Record(ty) = record.ty.scalar else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("type {} is not composite", record.ty.scalar.display_name()),
            )
            .at(self.expr_position(expr)));
        };
        let fields = ty.fields().iter().enumerate();
        Ok(fields.map(|(i, of)| (of.name.clone(), field(&record, ty, i))).collect())
    }

    /// `IS [NOT] NULL` of a value of any type.
    pub fn null_test(&self, value: &Typed, negated: bool) -> Typed {
        if let ScalarType::Record(ty) = value.ty.scalar {
            return is_null(value, ty, negated);
        }
        let ty = ColumnType::not_null(ScalarType::Bool);
        let test = Typed { expr: value.expr.clone().is_null(), ty };
        if negated { operator::not(test) } else { test }
    }
}

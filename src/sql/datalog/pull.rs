//! `pull (e, '[…]')`: what is known of an entity, as a tree.
//!
//! A pattern is a vector of what is wanted: `:person/name`, `:db/id`, `*`, a reference backwards
//! `:person/_friend`, an attribute with options `(:person/nick :as "n" :limit 3 :default "-")`, a
//! map of references to patterns `{:person/friend [:person/name]}`, and of references to how often
//! the pattern itself is repeated, `{:person/friend 3}` or `{:person/friend ...}`. It is constant,
//! so a pull is spelled as a scalar subquery in SQL over the attributes: it is optimized and
//! maintained as any other, and null where nothing is known.
//!
//! A tree of unknown depth is no relation. So a pattern that repeats itself is computed in two
//! steps: a recursive query finds the entities that are reached and, flat, what is known of each;
//! a function ([`crate::expr::functions::pull`]) makes the tree of that.

use std::sync::Arc;

use sqlparser::ast;

use crate::catalog::attribute::SHARED_SCHEMA;
use crate::catalog::item::Item;
use crate::error::{Error, Result, SqlState};
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::name::qualified_text;
use crate::sql::datalog::edn::{Form, Kind, form_of};
use crate::sql::parse::ast::Statement;
use crate::sql::parse::position::byte_offset;

/// The deepest nesting of patterns.
const DEPTH_MAX: usize = 32;

/// What is wanted of an entity.
#[derive(Default)]
struct Pattern {
    /// Whether its number is.
    id: bool,
    parts: Vec<Part>,
}

/// One attribute of a pattern.
struct Part {
    item: Arc<Item>,
    backwards: bool,
    key: String,
    limit: Option<u64>,
    /// What stands there where there is no value: a document's text.
    default: Option<String>,
    inner: Inner,
}

/// What is wanted of the values.
enum Inner {
    /// Themselves.
    Plain,
    /// What a pattern says of them.
    Nested(Pattern),
    /// What the pattern around says, so often.
    Again(Option<u64>),
}

/// Where the pattern of a call stands.
struct Place {
    /// The character before it.
    base: u32,
    /// Whether it stands there as it is, as in EDN.
    raw: bool,
}

impl Part {
    fn is_reference(&self) -> bool {
        self.item.attribute().is_some_and(|attribute| attribute.reference)
    }

    fn is_many(&self) -> bool {
        self.backwards || self.item.attribute().is_some_and(|attribute| attribute.many)
    }

    fn table(&self) -> String {
        qualified_text(&self.item.schema, &self.item.name)
    }

    /// The columns from which and to which it leads.
    fn columns(&self) -> (&'static str, &'static str) {
        if self.backwards { ("v", "e") } else { ("e", "v") }
    }
}

impl Binder<'_, '_> {
    /// A call of `pull`, where it is one.
    ///
    /// Errors: 22023 where the pattern is not constant, those of reading it.
    pub fn pull(
        &mut self,
        function: &ast::Function,
        args: &[&ast::Expr],
        cx: &mut ExprContext<'_>,
    ) -> Result<Option<Bound>> {
        let [entity, pattern] = args else { return Ok(None) };
        let position = self.expr_position(pattern);
        let (text, span) = match pattern {
            ast::Expr::Value(ast::ValueWithSpan { value, span }) => match value {
                ast::Value::SingleQuotedString(text) => (text.clone(), *span),
                ast::Value::DollarQuotedString(quoted) => (quoted.value.clone(), *span),
                _ => return Err(no_pattern().at(position)),
            },
            _ => return Err(no_pattern().at(position)),
        };
        // What it says of the entity may have to be stored otherwise than it is written.
        let bound = self.expr(entity, cx)?;
        let found = bound.scalar(self);
        if self.implicit(bound, ColumnType::nullable(ScalarType::Int8))?.is_none() {
            let found = found.map_or("unknown", ScalarType::display_name);
            return Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("function pull({found}, unknown) does not exist"),
            )
            .with_hint("An entity is of type bigint.")
            .at(self.expr_position(entity)));
        }
        let at = position.unwrap_or(1);
        let raw = self.lines.slice(at - 1, at) == "[";
        let place = Place { base: if raw { at - 1 } else { at }, raw };
        let form = form_of(&text, place.base)?;
        self.store_pattern(&form, &text, span, &place)?;
        let pattern = self.pattern(&form, 0)?;
        let object = Spelling::default().object(&pattern, "\"pulled\".\"e\"");
        let whole = ast::Expr::Function(function.clone());
        self.pulled(&object, entity, &whole, cx).map(Some)
    }

    /// The subquery that answers an object, a text over `pulled.e`, for an entity.
    fn pulled(
        &mut self,
        object: &str,
        entity: &ast::Expr,
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let around = query_of(&format!(
            "SELECT nullif({object}, '{{}}'::jsonb) \
             FROM (SELECT CAST(NULL AS bigint)) AS \"pulled\" (\"e\")"
        ))?;
        let broken = || Error::internal("the query of a pull is none");
        let Statement::Select(select) = around.ast() else { return Err(broken()) };
        let mut query = (*select.query).clone();
        *entity_in(&mut query).ok_or_else(broken)? = entity.clone();
        // The places of what is spelled here are not those of the statement.
        let lines = std::mem::take(&mut self.lines);
        let edits = self.edits.take();
        let columns = self.deeper(|binder| binder.subquery_columns(whole, &query, cx));
        (self.lines, self.edits) = (lines, edits);
        let column = columns?.into_iter().next().ok_or_else(broken)?;
        Ok(column.into())
    }

    /// Notes what a pattern with `*` means now, where it is stored: later attributes are no part
    /// of it.
    fn store_pattern(
        &mut self,
        form: &Form,
        text: &str,
        span: sqlparser::tokenizer::Span,
        place: &Place,
    ) -> Result<()> {
        if self.edits.is_none() {
            return Ok(());
        }
        let mut stars = vec![];
        self.stars(form, &mut stars)?;
        if stars.is_empty() {
            return Ok(());
        }
        let mut out = text.to_owned();
        for (from, expanded) in stars.into_iter().rev() {
            let at = byte_offset(text, from - place.base);
            out.replace_range(at..at + 1, &expanded);
        }
        self.edit(span, || match place.raw {
            true => out,
            false => format!("'{}'", out.replace('\'', "''")),
        });
        Ok(())
    }

    /// The places of `*` in a pattern, in order, and what it stands for.
    fn stars(&self, form: &Form, found: &mut Vec<(u32, String)>) -> Result<()> {
        let forms = match &form.kind {
            Kind::Vector(forms) | Kind::List(forms) | Kind::Map(forms) => forms,
            _ => return Ok(()),
        };
        for inner in forms {
            if is_star(inner) {
                let said = self.said_beside(forms)?;
                let all = self.all_attributes(&said);
                let words = all.iter().map(|item| format!(":{}/{}", item.schema, item.name));
                let words: Vec<String> = [":db/id".to_owned()].into_iter().chain(words).collect();
                found.push((inner.from, words.join(" ")));
            }
            self.stars(inner, found)?;
        }
        Ok(())
    }

    /// The attributes of which a pattern says something itself.
    fn said_beside(&self, forms: &[Form]) -> Result<Vec<Arc<Item>>> {
        let mut said = vec![];
        for form in forms {
            let words: Vec<&Form> = match &form.kind {
                Kind::Keyword(_) => vec![form],
                Kind::List(parts) | Kind::Vector(parts) => parts.iter().take(2).collect(),
                Kind::Map(parts) => parts.iter().step_by(2).collect(),
                _ => vec![],
            };
            for word in words {
                let word = match &word.kind {
                    Kind::List(parts) | Kind::Vector(parts) => parts.first().unwrap_or(word),
                    _ => word,
                };
                if matches!(&word.kind, Kind::Keyword(_))
                    && !is_id(word)
                    && let Ok((item, false)) = self.attribute_of(word)
                {
                    said.push(item);
                }
            }
        }
        Ok(said)
    }

    /// All attributes but these, by name.
    fn all_attributes(&self, but: &[Arc<Item>]) -> Vec<Arc<Item>> {
        let said = |item: &Arc<Item>| but.iter().any(|other| other.id == item.id);
        let items = self.cx.catalog.items().filter(|item| item.attribute().is_some());
        let mut all: Vec<Arc<Item>> = items.filter(|item| !said(item)).cloned().collect();
        all.sort_by_key(|item| {
            (item.schema == SHARED_SCHEMA, item.schema.clone(), item.name.clone())
        });
        all
    }

    fn pattern(&self, form: &Form, depth: usize) -> Result<Pattern> {
        let Kind::Vector(forms) = &form.kind else {
            return Err(fault(form, "a pattern is a vector of attributes"));
        };
        if depth >= DEPTH_MAX {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                format!("patterns are nested deeper than {DEPTH_MAX}"),
            )
            .at(Some(form.from + 1)));
        }
        let mut pattern = Pattern::default();
        for form in forms {
            match &form.kind {
                _ if is_id(form) => pattern.id = true,
                _ if is_star(form) => {
                    pattern.id = true;
                    let all = self.all_attributes(&self.said_beside(forms)?);
                    pattern.parts.extend(all.into_iter().map(part_of));
                }
                Kind::Map(pairs) => {
                    for pair in pairs.chunks(2) {
                        let [attribute, inner] = pair else {
                            return Err(fault(form, "a map with a key that has no value"));
                        };
                        pattern.parts.push(self.nested(attribute, inner, depth)?);
                    }
                }
                _ => pattern.parts.push(self.part(form)?),
            }
        }
        Ok(pattern)
    }

    /// `{:person/friend [:person/name]}` and its kin.
    fn nested(&self, attribute: &Form, inner: &Form, depth: usize) -> Result<Part> {
        let mut part = self.part(attribute)?;
        if !part.is_reference() {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("attribute {}.{} is no reference", part.item.schema, part.item.name),
            )
            .with_hint("Only what is declared REF leads to entities.")
            .at(Some(attribute.from + 1)));
        }
        part.inner = match &inner.kind {
            Kind::Symbol(dots) if dots == "..." => Inner::Again(None),
            Kind::Number(number) => match number.parse::<u64>() {
                Ok(times) if times > 0 => Inner::Again(Some(times)),
                _ => return Err(fault(inner, "a pattern is repeated 1 time or more often")),
            },
            _ => Inner::Nested(self.pattern(inner, depth + 1)?),
        };
        Ok(part)
    }

    /// An attribute, perhaps with options.
    fn part(&self, form: &Form) -> Result<Part> {
        let (Kind::List(forms) | Kind::Vector(forms)) = &form.kind else {
            return self.plain_part(form);
        };
        if let [word, attribute, value] = forms.as_slice()
            && let Some(option @ ("limit" | "default")) = symbol(word)
        {
            let mut part = self.plain_part(attribute)?;
            option_of(&mut part, option, value)?;
            return Ok(part);
        }
        let Some((attribute, options)) = forms.split_first() else {
            return Err(fault(form, "an attribute with options is (:schema/name :option value)"));
        };
        let mut part = self.plain_part(attribute)?;
        for pair in options.chunks(2) {
            let [Form { kind: Kind::Keyword(option), .. }, value] = pair else {
                return Err(fault(form, "options of an attribute are :option value"));
            };
            option_of(&mut part, option, value)?;
        }
        Ok(part)
    }

    fn plain_part(&self, form: &Form) -> Result<Part> {
        let (item, backwards) = self.attribute_of(form)?;
        let key = match &form.kind {
            Kind::Keyword(word) => word.clone(),
            _ => String::new(),
        };
        Ok(Part { backwards, key, ..part_of(item) })
    }
}

/// The place of the entity in the query of a pull.
fn entity_in(query: &mut ast::Query) -> Option<&mut ast::Expr> {
    let ast::SetExpr::Select(select) = &mut *query.body else { return None };
    let ast::TableFactor::Derived { subquery, .. } = &mut select.from.first_mut()?.relation else {
        return None;
    };
    let ast::SetExpr::Select(inner) = &mut *subquery.body else { return None };
    match inner.projection.first_mut()? {
        ast::SelectItem::UnnamedExpr(ast::Expr::Cast { expr, .. }) => Some(expr),
        _ => None,
    }
}

fn part_of(item: Arc<Item>) -> Part {
    let key = format!("{}/{}", item.schema, item.name);
    Part { item, backwards: false, key, limit: None, default: None, inner: Inner::Plain }
}

fn option_of(part: &mut Part, option: &str, value: &Form) -> Result<()> {
    match (option, &value.kind) {
        ("as", Kind::Text(name) | Kind::Keyword(name) | Kind::Symbol(name)) => {
            part.key = name.clone();
        }
        ("limit", Kind::Symbol(none)) if none == "nil" => part.limit = None,
        ("limit", Kind::Number(number)) => {
            let limit = number.parse().ok().filter(|limit| *limit > 0);
            part.limit = Some(limit.ok_or_else(|| fault(value, "a limit is 1 or more"))?);
        }
        ("default", _) => part.default = Some(document(value)?),
        ("as" | "limit", _) => return Err(fault(value, "this option has another kind of value")),
        _ => {
            return Err(Error::unsupported(
                format!("the option :{option} of pull"),
                "There are :as, :limit and :default.",
            )
            .at(Some(value.from + 1)));
        }
    }
    Ok(())
}

/// A value that is written, as a document.
fn document(form: &Form) -> Result<String> {
    Ok(match &form.kind {
        Kind::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Kind::Number(number) => number.clone(),
        Kind::Symbol(word) if matches!(word.as_str(), "true" | "false") => word.clone(),
        Kind::Symbol(word) if word == "nil" => "null".to_owned(),
        Kind::Vector(forms) => {
            let parts = forms.iter().map(document).collect::<Result<Vec<_>>>()?;
            format!("[{}]", parts.join(", "))
        }
        _ => return Err(fault(form, "a default is a literal")),
    })
}

fn no_pattern() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "the pattern of pull must be a literal")
        .with_hint("For example pull(e, '[:person/name {:person/friend [:person/name]}]').")
}

fn symbol(form: &Form) -> Option<&str> {
    match &form.kind {
        Kind::Symbol(name) => Some(name),
        _ => None,
    }
}

fn is_star(form: &Form) -> bool {
    symbol(form) == Some("*")
}

fn is_id(form: &Form) -> bool {
    matches!(&form.kind, Kind::Keyword(name) if name == "db/id")
}

fn fault(form: &Form, message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(Some(form.from + 1))
}

/// A string as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Patterns as SQL.
#[derive(Default)]
struct Spelling {
    aliases: usize,
}

impl Spelling {
    /// A name that no other relation of the query has.
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("\"p{}\"", self.aliases)
    }

    /// The object that a pattern makes of an entity.
    fn object(&mut self, pattern: &Pattern, entity: &str) -> String {
        let again = pattern.parts.iter().any(|part| matches!(part.inner, Inner::Again(_)));
        if again { self.tree(pattern, entity) } else { self.flat(pattern, entity) }
    }

    /// The same without what repeats the pattern.
    fn flat(&mut self, pattern: &Pattern, entity: &str) -> String {
        let mut objects = vec![];
        if pattern.id {
            objects.push(format!("jsonb_build_object('db/id', {entity})"));
        }
        for part in &pattern.parts {
            if !matches!(part.inner, Inner::Again(_)) {
                objects.push(self.member(part, entity));
            }
        }
        match objects.is_empty() {
            true => "'{}'::jsonb".to_owned(),
            false => format!("({})", objects.join(" || ")),
        }
    }

    /// An object with one member, or with none where there is no value.
    fn member(&mut self, part: &Part, entity: &str) -> String {
        let (rows, own) = (self.rows(part, entity), self.alias());
        let key = literal(&part.key);
        let none = match &part.default {
            Some(default) => format!("jsonb_build_object({key}, {}::jsonb)", literal(default)),
            None => "'{}'::jsonb".to_owned(),
        };
        let (value, at_end) = match part.is_many() {
            true => (format!("jsonb_agg({own}.j ORDER BY {own}.k)"), " HAVING count(*) > 0"),
            false => (format!("{own}.j"), ""),
        };
        format!(
            "coalesce((SELECT jsonb_build_object({key}, {value}) FROM ({rows}) AS {own} \
             WHERE {own}.j IS NOT NULL{at_end}), {none})"
        )
    }

    /// The values of an attribute: what they are ordered by, and what is shown.
    fn rows(&mut self, part: &Part, entity: &str) -> String {
        let own = self.alias();
        let (from, to) = part.columns();
        let to = format!("{own}.{to}");
        let shown = match &part.inner {
            Inner::Nested(pattern) => {
                format!("nullif({}, '{{}}'::jsonb)", self.object(pattern, &to))
            }
            _ if part.is_reference() => format!("jsonb_build_object('db/id', {to})"),
            _ => format!("to_jsonb({to})"),
        };
        let limit = match part.limit {
            Some(limit) if part.is_many() => format!(" ORDER BY {to} LIMIT {limit}"),
            _ => String::new(),
        };
        let table = part.table();
        format!(
            "SELECT {to} AS k, {shown} AS j FROM {table} AS {own} \
             WHERE {own}.{from} = {entity}{limit}"
        )
    }

    /// A pattern that repeats itself: what is reached, flat, made into a tree.
    fn tree(&mut self, pattern: &Pattern, entity: &str) -> String {
        let again: Vec<(&Part, Option<u64>)> = pattern
            .parts
            .iter()
            .filter_map(|part| match part.inner {
                Inner::Again(times) => Some((part, times)),
                _ => None,
            })
            .collect();
        let reached = self.alias();
        let edge = self.alias();
        let edges: Vec<String> = again
            .iter()
            .map(|(part, _)| {
                let (from, to) = part.columns();
                format!("SELECT {from}, {to} FROM {}", part.table())
            })
            .collect();
        let edges = format!("({}) AS {edge} (s, t)", edges.join(" UNION ALL "));
        let times = again.iter().map(|(_, times)| *times);
        let closure = match times.sum::<Option<u64>>() {
            Some(depth) => format!(
                "{reached} (e, d) AS (SELECT {entity}, 0::bigint WHERE {entity} IS NOT NULL \
                 UNION SELECT {edge}.t, {reached}.d + 1 FROM {reached} JOIN {edges} \
                 ON {edge}.s = {reached}.e WHERE {reached}.d < {depth})"
            ),
            None => format!(
                "{reached} (e) AS (SELECT {entity} WHERE {entity} IS NOT NULL \
                 UNION SELECT {edge}.t FROM {reached} JOIN {edges} ON {edge}.s = {reached}.e)"
            ),
        };
        let node = self.alias();
        let number = format!("{node}.e");
        let flat = self.flat(pattern, &number);
        let children = again.iter().map(|(part, _)| self.children(part, &number));
        let children: Vec<String> = children.collect();
        let spec: Vec<serde_json::Value> = again
            .iter()
            .map(|(part, times)| serde_json::json!([part.key, part.is_many(), times]))
            .collect();
        let spec = literal(&serde_json::Value::from(spec).to_string());
        format!(
            "coalesce(weir_pull_tree((WITH RECURSIVE {closure} \
             SELECT jsonb_object_agg({number}::text, jsonb_build_array({flat}, {})) \
             FROM (SELECT DISTINCT e FROM {reached}) AS {node}), {entity}, {spec}::jsonb), \
             '{{}}'::jsonb)",
            children.join(", ")
        )
    }

    /// The numbers of the entities that an attribute leads to.
    fn children(&mut self, part: &Part, entity: &str) -> String {
        let (own, inner) = (self.alias(), self.alias());
        let (from, to) = part.columns();
        let limit = match part.limit {
            Some(limit) => format!(" ORDER BY {inner}.{to} LIMIT {limit}"),
            None => String::new(),
        };
        format!(
            "coalesce((SELECT jsonb_agg({own}.k::text ORDER BY {own}.k) FROM \
             (SELECT {inner}.{to} AS k FROM {} AS {inner} WHERE {inner}.{from} = {entity}{limit}) \
             AS {own}), '[]'::jsonb)",
            part.table()
        )
    }
}

//! COPY: what is copied, and in which form.

use sqlparser::ast;

use crate::catalog::item::ItemKind;
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{
    ColumnSource, CopyFormat, CopyFrom, CopyHeader, CopyOptions, CopyTo, Finishing, Select,
    Statement,
};
use crate::repr::RelationDesc;
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;
use crate::sql::bind::relation::Plan;

impl Binder<'_, '_> {
    /// COPY of a table.
    pub fn copy(&mut self, statement: &ast::Statement) -> Result<Statement> {
        let ast::Statement::Copy { source, to, target, options, legacy_options, .. } = statement
        else {
            return Err(Error::internal("not a COPY"));
        };
        check_target(target, *to)?;
        let ast::CopySource::Table { table_name, columns } = source else {
            return Err(Error::internal("a COPY of a query has a grammar of its own"));
        };
        if !to {
            return self.copy_from(table_name, columns, options, legacy_options);
        }
        let item = self.relation(table_name)?;
        if !item.is_maintained() {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot copy from view \"{}\"", item.name),
            )
            .with_hint("Try the COPY (SELECT ...) TO variant."));
        }
        let desc = item.desc().ok_or_else(|| Error::internal("a relation without columns"))?;
        let project = positions(&item.name, desc, columns)?;
        let Plan { relation, .. } = self.read(&item)?;
        let columns = project.iter().map(|at| desc.columns[*at].clone()).collect();
        let desc = RelationDesc { columns, keys: vec![] };
        let finishing = Finishing { project, ..Finishing::default() };
        let options = copy_options(options, legacy_options, &desc)?;
        let query = Box::new(Statement::Select(Select { relation, desc, finishing, as_of: None }));
        Ok(Statement::CopyTo(CopyTo { query, options }))
    }

    /// COPY with HEADER MATCH.
    pub fn copy_matching(&mut self, statement: &ast::Statement) -> Result<Statement> {
        match self.copy(statement)? {
            Statement::CopyFrom(mut copy) => {
                copy.options.header = CopyHeader::Match;
                Ok(Statement::CopyFrom(copy))
            }
            _ => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot use \"match\" with HEADER in COPY TO",
            )),
        }
    }

    /// COPY of a query, a SUBSCRIBE or a statement with RETURNING; its options stand in another
    /// COPY.
    pub fn copy_query(&mut self, query: Statement, options: &ast::Statement) -> Result<Statement> {
        let ast::Statement::Copy { to, target, options, legacy_options, .. } = options else {
            return Err(Error::internal("not a COPY"));
        };
        if !to {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"FROM\""));
        }
        check_target(target, true)?;
        let desc = match &query {
            Statement::Select(select) => select.desc.clone(),
            Statement::Subscribe(subscribe) => subscribe.desc.clone(),
            Statement::Insert(insert) => returned(insert.returning.as_ref())?,
            Statement::Update(update) => returned(update.returning.as_ref())?,
            Statement::Delete(delete) => returned(delete.returning.as_ref())?,
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY of what has no rows")),
        };
        let options = copy_options(options, legacy_options, &desc)?;
        Ok(Statement::CopyTo(CopyTo { query: Box::new(query), options }))
    }

    fn copy_from(
        &mut self,
        table_name: &ast::ObjectName,
        columns: &[ast::Ident],
        options: &[ast::CopyOption],
        legacy: &[ast::CopyLegacyOption],
    ) -> Result<Statement> {
        let item = self.table(table_name, "copying to")?;
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("not a table"));
        };
        let input = positions(&item.name, &table.desc, columns)?;
        let mut sources = vec![];
        for at in 0..table.desc.arity() {
            sources.push(match input.iter().position(|column| *column == at) {
                Some(from) => ColumnSource::Source(from),
                None => self.default_of(table, at)?,
            });
        }
        let columns = input.iter().map(|at| table.desc.columns[*at].clone()).collect();
        let desc = RelationDesc { columns, keys: vec![] };
        let options = copy_options(options, legacy, &desc)?;
        Ok(Statement::CopyFrom(CopyFrom { table: item.id, input, columns: sources, options }))
    }
}

fn returned(returning: Option<&crate::plan::statement::Returning>) -> Result<RelationDesc> {
    returning.map(|returning| returning.desc.clone()).ok_or_else(|| {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause")
    })
}

fn check_target(target: &ast::CopyTarget, to: bool) -> Result<()> {
    match (target, to) {
        (ast::CopyTarget::Stdin, false) | (ast::CopyTarget::Stdout, true) => Ok(()),
        (ast::CopyTarget::File { .. } | ast::CopyTarget::Program { .. }, _) => {
            Err(Error::unsupported(
                "COPY to or from a file of the server",
                "Use COPY FROM STDIN and COPY TO STDOUT, or psql's \\copy.",
            ))
        }
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in COPY")),
    }
}

/// The positions of named columns, or of all.
fn positions(relation: &str, desc: &RelationDesc, columns: &[ast::Ident]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok((0..desc.arity()).collect());
    }
    let mut found = vec![];
    for column in columns {
        let wanted = name::ident(column);
        let Some(at) = desc.columns.iter().position(|c| c.name == wanted) else {
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{wanted}\" of relation \"{relation}\" does not exist"),
            ));
        };
        if found.contains(&at) {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{wanted}\" specified more than once"),
            ));
        }
        found.push(at);
    }
    Ok(found)
}

/// What was written, before defaults.
#[derive(Default)]
struct Given {
    format: Option<CopyFormat>,
    delimiter: Option<char>,
    null: Option<String>,
    header: bool,
    quote: Option<char>,
    escape: Option<char>,
    force_quote: Option<Vec<ast::Ident>>,
    force_not_null: Vec<ast::Ident>,
    force_null: Vec<ast::Ident>,
}

fn copy_options(
    options: &[ast::CopyOption],
    legacy: &[ast::CopyLegacyOption],
    desc: &RelationDesc,
) -> Result<CopyOptions> {
    let mut given = Given::default();
    for option in options {
        given.take(option)?;
    }
    for option in legacy {
        given.take_legacy(option)?;
    }
    let format = given.format.unwrap_or(CopyFormat::Text);
    let csv = format == CopyFormat::Csv;
    given.check_format(format)?;
    let quote = one_byte(given.quote.unwrap_or('"'), "quote")?;
    let delimiter = one_byte(given.delimiter.unwrap_or(if csv { ',' } else { '\t' }), "delimiter")?;
    let null = given.null.unwrap_or_else(|| if csv { String::new() } else { "\\N".into() });
    check_spellings(csv, quote, delimiter, &null)?;
    let named = |columns: &[ast::Ident]| match columns {
        [] => Ok(vec![]),
        columns => positions("the result", desc, columns),
    };
    Ok(CopyOptions {
        format,
        delimiter,
        null,
        header: if given.header { CopyHeader::Names } else { CopyHeader::None },
        quote,
        escape: given.escape.map_or(Ok(quote), |c| one_byte(c, "escape"))?,
        force_quote: given.force_quote.as_deref().map(named).transpose()?,
        force_not_null: named(&given.force_not_null)?,
        force_null: named(&given.force_null)?,
    })
}

/// The spellings of NULL, the delimiter and the quote must not be mistaken for each other.
fn check_spellings(csv: bool, quote: u8, delimiter: u8, null: &str) -> Result<()> {
    if null.contains(['\n', '\r']) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY null representation cannot use newline or carriage return",
        ));
    }
    if null.as_bytes().contains(&delimiter) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "COPY delimiter must not appear in the NULL specification",
        ));
    }
    if csv && quote == delimiter {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY delimiter and quote must be different",
        ));
    }
    Ok(())
}

fn one_byte(c: char, what: &str) -> Result<u8> {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() && byte != b'\n' && byte != b'\r' => Ok(byte),
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("COPY {what} must be a single one-byte character"),
        )),
    }
}

impl Given {
    /// Options that the format does not have.
    fn check_format(&self, format: CopyFormat) -> Result<()> {
        let only_csv = [
            (self.quote.is_some(), "quote"),
            (self.escape.is_some(), "escape"),
            (self.force_quote.is_some(), "force quote"),
            (!self.force_not_null.is_empty(), "force not null"),
            (!self.force_null.is_empty(), "force null"),
        ];
        let found = only_csv.iter().find(|(is, _)| *is && format != CopyFormat::Csv);
        if let Some((_, what)) = found {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("COPY {what} available only in CSV mode"),
            ));
        }
        let not_binary = [
            (self.delimiter.is_some(), "DELIMITER"),
            (self.null.is_some(), "NULL"),
            (self.header, "HEADER"),
        ];
        let found = not_binary.iter().find(|(is, _)| *is && format == CopyFormat::Binary);
        match found {
            None => Ok(()),
            Some((_, what)) => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("cannot specify {what} in BINARY mode"),
            )),
        }
    }

    fn take(&mut self, option: &ast::CopyOption) -> Result<()> {
        match option {
            ast::CopyOption::Format(format) => {
                self.format = Some(match name::ident(format).as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    other => {
                        return Err(Error::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("COPY format \"{other}\" not recognized"),
                        ));
                    }
                });
            }
            ast::CopyOption::Delimiter(c) => self.delimiter = Some(*c),
            ast::CopyOption::Null(text) => self.null = Some(text.clone()),
            ast::CopyOption::Header(header) => self.header = *header,
            ast::CopyOption::Quote(c) => self.quote = Some(*c),
            ast::CopyOption::Escape(c) => self.escape = Some(*c),
            ast::CopyOption::ForceQuote(columns) => self.force_quote = Some(columns.clone()),
            ast::CopyOption::ForceNotNull(columns) => self.force_not_null = columns.clone(),
            ast::CopyOption::ForceNull(columns) => self.force_null = columns.clone(),
            ast::CopyOption::Freeze(_) => {}
            ast::CopyOption::Encoding(encoding) => check_encoding(encoding)?,
        }
        Ok(())
    }

    fn take_legacy(&mut self, option: &ast::CopyLegacyOption) -> Result<()> {
        match option {
            ast::CopyLegacyOption::Binary => self.format = Some(CopyFormat::Binary),
            ast::CopyLegacyOption::Delimiter(c) => self.delimiter = Some(*c),
            ast::CopyLegacyOption::Null(text) => self.null = Some(text.clone()),
            ast::CopyLegacyOption::Csv(options) => {
                self.format = Some(CopyFormat::Csv);
                for option in options {
                    match option {
                        ast::CopyLegacyCsvOption::Header => self.header = true,
                        ast::CopyLegacyCsvOption::Quote(c) => self.quote = Some(*c),
                        ast::CopyLegacyCsvOption::Escape(c) => self.escape = Some(*c),
                        ast::CopyLegacyCsvOption::ForceQuote(columns) => {
                            self.force_quote = Some(columns.clone());
                        }
                        ast::CopyLegacyCsvOption::ForceNotNull(columns) => {
                            self.force_not_null = columns.clone();
                        }
                    }
                }
            }
            ast::CopyLegacyOption::Header => self.header = true,
            other => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("option \"{other}\" not recognized"),
                ));
            }
        }
        Ok(())
    }
}

fn check_encoding(encoding: &str) -> Result<()> {
    let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(Error::unsupported(format!("encoding {encoding}"), "Send and receive UTF-8.")),
    }
}

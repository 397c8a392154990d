//! Expressions with a syntax of their own: CASE, EXTRACT, TRIM, COALESCE and their kin.

use sqlparser::ast;
use sqlparser::ast::TrimWhereField;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::repr::array::ArrayBuilder;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::name;
use crate::sql::bind::relation::Typed;

impl Binder<'_, '_> {
    /// A call of a function that the syntax `whole` stands for.
    pub fn function_of(
        &mut self,
        name: &str,
        args: &[&ast::Expr],
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let args = args.iter().map(|arg| self.expr(arg, cx)).collect::<Result<Vec<_>>>()?;
        self.function(name, args, self.expr_position(whole)).map(Bound::from)
    }

    /// `EXTRACT (field FROM x)`.
    pub fn extract(
        &mut self,
        field: &ast::DateTimeField,
        operand: &ast::Expr,
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let field = match field {
            ast::DateTimeField::Custom(ident) => ident.value.to_ascii_lowercase(),
            other => other.to_string().to_ascii_lowercase(),
        };
        let field = Typed::literal(Datum::Text(&field), ScalarType::Text);
        let operand = self.expr(operand, cx)?;
        let position = self.expr_position(whole);
        self.function("extract", vec![field.into(), operand], position).map(Bound::from)
    }

    /// `ceil (x)` and `floor (x)`, which the parser takes for syntax.
    pub fn rounded(
        &mut self,
        name: &str,
        operand: &ast::Expr,
        field: &ast::CeilFloorKind,
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let is_plain =
            matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime));
        if !is_plain {
            return Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("function {name} does not exist with a second argument"),
            )
            .at(self.expr_position(whole)));
        }
        self.function_of(name, &[operand], whole, cx)
    }

    /// `SUBSTRING (x FROM a FOR b)`.
    pub fn substring(
        &mut self,
        name: &str,
        operand: &ast::Expr,
        [from, count]: [Option<&ast::Expr>; 2],
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let mut args = vec![self.expr(operand, cx)?];
        match from {
            Some(from) => args.push(self.expr(from, cx)?),
            None => args.push(Typed::literal(Datum::Int4(1), ScalarType::Int4).into()),
        }
        if let Some(count) = count {
            args.push(self.expr(count, cx)?);
        }
        self.function(name, args, self.expr_position(whole)).map(Bound::from)
    }

    /// `TRIM ([LEADING | TRAILING | BOTH] [characters] FROM x)`.
    pub fn trim(&mut self, whole: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Bound> {
        let ast::Expr::Trim { expr, trim_where, trim_what, trim_characters } = whole else {
            return Err(Error::internal("a TRIM that is none"));
        };
        let name = match trim_where {
            None | Some(TrimWhereField::Both) => "btrim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        };
        let mut args = vec![&**expr];
        args.extend(trim_what.as_deref());
        args.extend(trim_characters.iter().flatten());
        self.function_of(name, &args, whole, cx)
    }

    /// `COLLATE`: there is one collation, the bytes' order.
    pub fn collate(
        &mut self,
        operand: &ast::Expr,
        collation: &ast::ObjectName,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let name = self.qualified(collation)?.name;
        if !matches!(name.as_str(), "C" | "POSIX" | "default" | "ucs_basic") {
            return Err(Error::unsupported(
                format!("collation \"{name}\""),
                "Text is ordered by its bytes: leave COLLATE out, or write COLLATE \"C\".",
            )
            .at(self.expr_position(operand)));
        }
        self.expr(operand, cx)
    }

    /// `CASE`.
    pub fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(whole);
        let subject = match operand {
            Some(operand) => Some(self.typed_expr(operand, cx)?),
            None => None,
        };
        let (mut tests, mut results) = (vec![], vec![]);
        for when in conditions {
            let condition = self.expr(&when.condition, cx)?;
            let at = self.expr_position(&when.condition);
            tests.push(match &subject {
                Some(subject) => self.operator("=", Some(subject.clone().into()), condition, at)?,
                None => self.condition(condition, "CASE/WHEN", at)?,
            });
            results.push(self.expr(&when.result, cx)?);
        }
        // PostgreSQL considers ELSE first when it looks for the common type.
        let last = match otherwise {
            Some(otherwise) => self.expr(otherwise, cx)?,
            None => Bound::null(),
        };
        results.insert(0, last);
        let mut results = self.unify(results, "CASE", position)?;
        let nullable = results.iter().any(|result| result.ty.nullable);
        let ty = ColumnType { nullable, ..results[0].ty };
        let otherwise = Box::new(results.remove(0).expr);
        let branches = tests.into_iter().map(|test| test.expr);
        let branches = branches.zip(results.into_iter().map(|result| result.expr)).collect();
        Ok(Typed { expr: Expr::Case { branches, otherwise }, ty }.into())
    }

    /// `COALESCE`.
    pub fn coalesce(&mut self, args: Vec<Bound>, position: Option<u32>) -> Result<Typed> {
        let args = self.unify(args, "COALESCE", position)?;
        let Some(first) = args.first() else {
            return Err(
                Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\"").at(position)
            );
        };
        let nullable = args.iter().all(|arg| arg.ty.nullable);
        let ty = ColumnType { nullable, ..first.ty };
        let expr = Expr::Coalesce(args.into_iter().map(|arg| arg.expr).collect());
        Ok(Typed { expr, ty })
    }

    /// `NULLIF`: NULL where the two are equal, otherwise the first.
    pub fn nullif(&mut self, args: Vec<Bound>, position: Option<u32>) -> Result<Typed> {
        let Ok([left, right]) = <[Bound; 2]>::try_from(args) else {
            return Err(
                Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\"").at(position)
            );
        };
        let types = (left.scalar(self), right.scalar(self));
        let equal = self.operator("=", Some(left.clone()), right.clone(), position)?;
        // The value is the left operand of that `=`, with the type that it has there.
        let is_promoted = match types {
            (None, Some(_)) => true,
            (Some(left), Some(ScalarType::Numeric)) => left != ScalarType::Numeric,
            _ => false,
        };
        let left = match is_promoted {
            true => self.unify(vec![left, right], "NULLIF", position)?.swap_remove(0),
            false => self.settle(left)?,
        };
        let ty = ColumnType { nullable: true, ..left.ty };
        let branches = vec![(equal.expr, Expr::null(ty))];
        Ok(Typed { expr: Expr::Case { branches, otherwise: Box::new(left.expr) }, ty })
    }

    /// `GREATEST` and `LEAST`: NULLs are passed over, the first of equals wins.
    pub fn extreme(
        &mut self,
        name: &str,
        args: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<Typed> {
        let symbol = if name == "greatest" { ">=" } else { "<=" };
        let args = self.unify(args, &name.to_ascii_uppercase(), position)?;
        let Some(first) = args.first() else {
            return Err(
                Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\"").at(position)
            );
        };
        let nullable = args.iter().all(|arg| arg.ty.nullable);
        let ty = ColumnType { nullable, ..first.ty };
        let mut branches = vec![];
        for (i, arg) in args.iter().enumerate() {
            let mut tests = vec![arg.expr.clone().is_not_null()];
            for (_, other) in args.iter().enumerate().filter(|(j, _)| *j != i) {
                let (a, b) = (Bound::from(arg.clone()), Bound::from(other.clone()));
                let wins = self.operator(symbol, Some(a), b, position)?;
                tests.push(Expr::or(vec![other.expr.clone().is_null(), wins.expr]));
            }
            branches.push((Expr::and(tests), arg.expr.clone()));
        }
        let otherwise = match branches.pop() {
            // Where NULL is impossible, one of them wins.
            Some((_, last)) if !nullable && branches.is_empty() => Box::new(last),
            Some(branch) => {
                branches.push(branch);
                Box::new(Expr::null(ty))
            }
            None => Box::new(Expr::null(ty)),
        };
        if branches.is_empty() {
            return Ok(Typed { expr: *otherwise, ty });
        }
        Ok(Typed { expr: Expr::Case { branches, otherwise }, ty })
    }

    /// Words that stand for something of the session, without parentheses.
    pub fn session_word(&mut self, word: &str, position: Option<u32>) -> Result<Option<Bound>> {
        match word {
            "current_schema" | "current_role" | "current_catalog" | "system_user" => {
                self.session_function(word, &[], position)
            }
            _ => Ok(None),
        }
    }

    /// What a function without arguments answers that the session knows.
    fn session_constant(&self, name: &str) -> Option<Bound> {
        let of = |text: &str, scalar| Some(Bound::from(Typed::literal(Datum::Text(text), scalar)));
        match name {
            "current_user" | "session_user" | "user" | "current_role" => {
                of(self.cx.current_user, ScalarType::Name)
            }
            "current_database" | "current_catalog" => of(self.cx.database, ScalarType::Name),
            "current_schema" => {
                let system = crate::catalog::objects::SYSTEM_SCHEMAS;
                let mut path = self.cx.search_path.iter();
                let first = path.find(|schema| {
                    !system.contains(&schema.as_str()) && self.cx.catalog.has_schema(schema)
                });
                match first {
                    Some(schema) => of(schema, ScalarType::Name),
                    None => Some(Typed::null(ColumnType::nullable(ScalarType::Name)).into()),
                }
            }
            "version" => {
                let version = (self.cx.variables)("server_version");
                let version = version.as_deref().unwrap_or("15.0");
                of(&format!("PostgreSQL {version} (Weir)"), ScalarType::Text)
            }
            "pg_client_encoding" | "getdatabaseencoding" => of("UTF8", ScalarType::Name),
            "pg_backend_pid" => (self.cx.variables)("pg_backend_pid")
                .and_then(|pid| pid.parse().ok())
                .map(|pid| Typed::literal(Datum::Int4(pid), ScalarType::Int4).into()),
            _ => None,
        }
    }

    /// Functions whose answer the session knows; none where the name is none of them.
    pub fn session_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: Option<u32>,
    ) -> Result<Option<Bound>> {
        let of = |text: &str, scalar| Some(Bound::from(Typed::literal(Datum::Text(text), scalar)));
        if args.is_empty() {
            return Ok(self.session_constant(name));
        }
        if name == "current_schemas" && args.len() == 1 {
            return self.current_schemas(&args[0]).map(Some);
        }
        if name != "current_setting" {
            return Ok(None);
        }
        let text = |bound: &Bound| match bound {
            Bound::Unknown { text, .. } => text.clone(),
            Bound::Typed(Typed { expr, .. }) => match expr.as_literal() {
                Some(Datum::Text(text)) => Some(text.to_owned()),
                _ => None,
            },
            Bound::Parameter { .. } => None,
        };
        let Some(variable) = text(&args[0]) else { return Ok(None) };
        let missing_ok = match args.get(1) {
            None => false,
            Some(Bound::Typed(Typed { expr, .. })) => expr.is_true(),
            Some(other) => text(other).is_some_and(|t| matches!(t.as_str(), "t" | "true" | "on")),
        };
        match (self.cx.variables)(&variable.to_ascii_lowercase()) {
            Some(value) => Ok(of(&value, ScalarType::Text)),
            None if missing_ok => {
                Ok(Some(Typed::null(ColumnType::nullable(ScalarType::Text)).into()))
            }
            None => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("unrecognized configuration parameter \"{variable}\""),
            )
            .at(position)),
        }
    }

    /// The schemas that names are looked up in, the implicit ones where that is asked.
    fn current_schemas(&self, implicit: &Bound) -> Result<Bound> {
        let asked = match implicit {
            Bound::Typed(Typed { expr, .. }) => expr.is_true(),
            Bound::Unknown { text, .. } => {
                text.as_deref().is_some_and(|t| matches!(t, "t" | "true" | "on"))
            }
            Bound::Parameter { .. } => {
                return Err(Error::unsupported(
                    "current_schemas of anything but a constant",
                    "Write true or false.",
                ));
            }
        };
        let system = crate::catalog::objects::SYSTEM_SCHEMAS;
        let mut schemas = ArrayBuilder::new();
        let path = self.cx.search_path.iter().filter(|schema| {
            let is_system = system.contains(&schema.as_str());
            if is_system { asked } else { self.cx.catalog.has_schema(schema) }
        });
        schemas.extend(path.map(|schema| Datum::Text(schema)));
        let arena = bumpalo::Bump::new();
        let element = ScalarType::Name.as_element();
        let array = element.map_or(Datum::Null, |element| schemas.vector_in(element, &arena));
        Ok(Typed::literal(array, ScalarType::Name.array().unwrap_or(ScalarType::Name)).into())
    }

    /// The name of a function, with the schema that it must be in.
    pub fn function_name(&self, object: &ast::ObjectName) -> Result<(bool, String)> {
        let qualified = self.qualified(object)?;
        match qualified.schema.as_deref() {
            None => Ok((false, qualified.name)),
            Some("pg_catalog") => Ok((true, qualified.name)),
            // What its views are made of, which JDBC calls too.
            Some("information_schema") if qualified.name == "_pg_expandarray" => {
                Ok((true, qualified.name))
            }
            Some(schema) if !self.cx.catalog.has_schema(schema) => Err(Error::new(
                SqlState::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            )),
            Some(_) => Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("function {}() does not exist", name::quoted(&qualified.name)),
            )),
        }
    }
}

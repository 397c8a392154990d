//! What stands behind OVER and WINDOW: partitions, orders, frames, and windows by name.

use bumpalo::Bump;
use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::expr::functions::is_coercible;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Bound as FrameBound, Exclusion, Frame, FrameMode};
use crate::expr::window::frame::check_offset;
use crate::expr::window::in_range::offset_types;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::aggregate::Calls;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::order::direction;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::Scope;
use crate::sql::parse::frames::MARK;

/// A window: which rows belong together, in which order, and the frame of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// PARTITION BY.
    pub partition: Vec<Typed>,
    /// ORDER BY: what, greatest first, NULLs first.
    pub order: Vec<(Typed, bool, bool)>,
    /// The frame.
    pub frame: Frame,
    /// Whether a frame was written.
    framed: bool,
}

impl Binder<'_, '_> {
    /// The windows that WINDOW names; each may build on those before it.
    pub fn define_windows(
        &mut self,
        select: &ast::Select,
        scope: &Scope,
        calls: &mut Calls,
    ) -> Result<()> {
        for ast::NamedWindowDefinition(ident, expr) in &select.named_window {
            let window_name = name::ident(ident);
            if calls.named.iter().any(|(other, _)| *other == window_name) {
                return Err(windowing(format!("window \"{window_name}\" is already defined"))
                    .at(self.position(ident.span)));
            }
            let ast::NamedWindowExpr::WindowSpec(spec) = expr else {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in WINDOW"));
            };
            let mut cx = ExprContext { scope, clause: Clause::Window, calls: Some(calls) };
            let window = self.window_spec(spec, true, &mut cx)?;
            calls.named.push((window_name, window));
        }
        Ok(())
    }

    /// What OVER says.
    pub fn over(&mut self, over: &ast::WindowType, cx: &mut ExprContext<'_>) -> Result<Window> {
        match over {
            ast::WindowType::NamedWindow(ident) => {
                self.named_window(&name::ident(ident), self.position(ident.span), cx)
            }
            ast::WindowType::WindowSpec(spec) => self.window_spec(spec, false, cx),
        }
    }

    fn named_window(
        &self,
        wanted: &str,
        position: Option<u32>,
        cx: &ExprContext<'_>,
    ) -> Result<Window> {
        let named = cx.calls.iter().flat_map(|calls| &calls.named).find(|(n, _)| n == wanted);
        named.map(|(_, window)| window.clone()).ok_or_else(|| {
            let message = format!("window \"{wanted}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message).at(position)
        })
    }

    /// A specification in parentheses; `defines` where it stands in WINDOW.
    fn window_spec(
        &mut self,
        spec: &ast::WindowSpec,
        defines: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Window> {
        let (base, exclusion) = split(spec.window_name.as_ref());
        let position = spec.window_name.as_ref().and_then(|ident| self.position(ident.span));
        let mut inner =
            ExprContext { scope: cx.scope, clause: Clause::Window, calls: cx.calls.as_deref_mut() };
        let mut partition = vec![];
        for expr in &spec.partition_by {
            partition.push(self.typed_expr(expr, &mut inner)?);
        }
        let mut order: Vec<(Typed, bool, bool)> = vec![];
        for item in &spec.order_by {
            let (descending, nulls_first) = direction(item)?;
            let typed = self.typed_expr(&item.expr, &mut inner)?;
            if !order.iter().any(|(other, ..)| other.expr == typed.expr) {
                order.push((typed, descending, nulls_first));
            }
        }
        if let Some(base) = base {
            let window = self.named_window(&base, position, cx)?;
            let cannot = |what: String| Err(windowing(what).at(position));
            if !partition.is_empty() {
                return cannot(format!("cannot override PARTITION BY clause of window \"{base}\""));
            }
            if !order.is_empty() && !window.order.is_empty() {
                return cannot(format!("cannot override ORDER BY clause of window \"{base}\""));
            }
            if window.framed {
                let what = format!("cannot copy window \"{base}\" because it has a frame clause");
                let error = windowing(what).at(position);
                let plain = !defines && order.is_empty() && spec.window_frame.is_none();
                return Err(match plain {
                    true => error.with_hint("Omit the parentheses in this OVER clause."),
                    false => error,
                });
            }
            partition = window.partition;
            if order.is_empty() {
                order = window.order;
            }
        }
        let framed = spec.window_frame.is_some();
        let frame = match &spec.window_frame {
            Some(frame) => self.frame(frame, exclusion, &order, cx)?,
            None => Frame::default(),
        };
        Ok(Window { partition, order, frame, framed })
    }

    fn frame(
        &mut self,
        frame: &ast::WindowFrame,
        exclusion: Exclusion,
        order: &[(Typed, bool, bool)],
        cx: &mut ExprContext<'_>,
    ) -> Result<Frame> {
        let current = ast::WindowFrameBound::CurrentRow;
        let end = frame.end_bound.as_ref();
        check_bounds(&frame.start_bound, end)?;
        let mode = match frame.units {
            ast::WindowFrameUnits::Rows => FrameMode::Rows,
            ast::WindowFrameUnits::Range => FrameMode::Range,
            ast::WindowFrameUnits::Groups => FrameMode::Groups,
        };
        if mode == FrameMode::Groups && order.is_empty() {
            return Err(windowing("GROUPS mode requires an ORDER BY clause"));
        }
        let start = self.frame_bound(&frame.start_bound, true, mode, order, cx)?;
        let end = self.frame_bound(end.unwrap_or(&current), false, mode, order, cx)?;
        Ok(Frame { mode, start, end, exclusion })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        is_start: bool,
        mode: FrameMode,
        order: &[(Typed, bool, bool)],
        cx: &mut ExprContext<'_>,
    ) -> Result<FrameBound> {
        use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
        let (offset, preceding) = match bound {
            CurrentRow => return Ok(FrameBound::CurrentRow),
            Preceding(None) | Following(None) if is_start => {
                return Ok(FrameBound::UnboundedPreceding);
            }
            Preceding(None) | Following(None) => return Ok(FrameBound::UnboundedFollowing),
            Preceding(Some(offset)) => (offset, true),
            Following(Some(offset)) => (offset, false),
        };
        let offset = self.frame_offset(offset, is_start, mode, order, cx)?;
        Ok(if preceding { FrameBound::Preceding(offset) } else { FrameBound::Following(offset) })
    }

    /// An offset, constant: an int8, or what goes with the one column of the order.
    fn frame_offset(
        &mut self,
        offset: &ast::Expr,
        is_start: bool,
        mode: FrameMode,
        order: &[(Typed, bool, bool)],
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let (clause, word) = match mode {
            FrameMode::Rows => (Clause::FrameRows, "ROWS"),
            FrameMode::Range => (Clause::FrameRange, "RANGE"),
            FrameMode::Groups => (Clause::FrameGroups, "GROUPS"),
        };
        let position = self.expr_position(offset);
        let column = match (mode, order) {
            (FrameMode::Range, [(column, ..)]) => Some(column.ty.scalar),
            (FrameMode::Range, _) => {
                return Err(windowing(
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                ));
            }
            _ => None,
        };
        let mut inner = ExprContext::plain(cx.scope, clause);
        let bound = self.expr(offset, &mut inner)?;
        let mut typed = match column {
            None => self.row_count(bound, word, position)?,
            Some(column) => self.range_offset(bound, column, position)?,
        };
        if !typed.expr.columns().is_empty() {
            let message = format!("argument of {word} must not contain variables");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
        }
        let asks = |e: &Expr| matches!(e, Expr::Outer { .. } | Expr::Subquery { .. });
        if typed.expr.any(&mut |e| asks(e)) {
            return Err(Error::unsupported(
                format!("a subquery or an outer column in {word}"),
                "Write the offset out, or give it as a parameter.",
            )
            .at(position));
        }
        typed.expr.fold(self.cx.settings);
        // PostgreSQL looks at it before it looks at any row.
        if typed.expr.as_literal().is_some() {
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: self.cx.settings };
            check_offset(&typed.expr, is_start, mode, &cx)?;
        }
        Ok(typed.expr)
    }

    /// An offset in the type that PostgreSQL would choose for a column of an order.
    fn range_offset(
        &mut self,
        offset: Bound,
        column: ScalarType,
        position: Option<u32>,
    ) -> Result<Typed> {
        let given = offset.scalar(self);
        let preferred = given.unwrap_or(column);
        let types = offset_types(column);
        let fitting: Vec<ScalarType> = match types.iter().find(|ty| **ty == preferred) {
            Some(exact) => vec![*exact],
            None => types.iter().copied().filter(|ty| is_coercible(given, *ty)).collect(),
        };
        let what = "RANGE with offset PRECEDING/FOLLOWING";
        let column_type = if column == ScalarType::Varchar { ScalarType::Text } else { column };
        let of_column = format!("column type {}", column_type.display_name());
        let offset_type = given.map_or("unknown", ScalarType::display_name);
        let both = format!("{of_column} and offset type {offset_type}");
        let refuse = |message: String, hint: Option<&str>| {
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position);
            Err(match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            })
        };
        match fitting[..] {
            [ty] => {
                let found = self.implicit(offset, ColumnType::nullable(ty))?;
                found.ok_or_else(|| Error::internal("an offset that does not convert"))
            }
            _ if types.is_empty() => {
                refuse(format!("{what} is not supported for {of_column}"), None)
            }
            [] => refuse(
                format!("{what} is not supported for {both}"),
                Some("Cast the offset value to an appropriate type."),
            ),
            _ => refuse(
                format!("{what} has multiple interpretations for {both}"),
                Some("Cast the offset value to the exact intended type."),
            ),
        }
    }
}

fn windowing(message: impl Into<String>) -> Error {
    Error::new(SqlState::WINDOWING_ERROR, message)
}

/// The window that a specification begins with, and what its frame excludes
/// (see [`crate::sql::parse::frames`]).
fn split(window: Option<&ast::Ident>) -> (Option<String>, Exclusion) {
    let Some(window) = window else { return (None, Exclusion::NoOthers) };
    let Some((base, exclusion)) = window.value.split_once(MARK) else {
        return (Some(name::ident(window)), Exclusion::NoOthers);
    };
    let exclusion = match exclusion {
        "current row" => Exclusion::CurrentRow,
        "group" => Exclusion::Group,
        "ties" => Exclusion::Ties,
        _ => Exclusion::NoOthers,
    };
    let base = (!base.is_empty()).then(|| name::ident(&ast::Ident::with_quote('"', base)));
    (base, exclusion)
}

/// Refuses frames that end before they begin, by their words alone.
fn check_bounds(start: &ast::WindowFrameBound, end: Option<&ast::WindowFrameBound>) -> Result<()> {
    use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
    let message = match (start, end) {
        (Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, Some(Preceding(None))) => "frame end cannot be UNBOUNDED PRECEDING",
        (Following(_), None) => "frame starting from following row cannot end with current row",
        (CurrentRow, Some(Preceding(_))) => {
            "frame starting from current row cannot have preceding rows"
        }
        (Following(_), Some(Preceding(_) | CurrentRow)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => return Ok(()),
    };
    Err(windowing(message))
}

//! Conversions, and values that have no type yet.
//!
//! A string literal, NULL and a parameter have no type until something around them gives them one
//! (PostgreSQL's `unknown`). [`Bound`] keeps them apart until then; whoever needs a type asks for
//! it here. A literal is read at that moment, so its faults are the statement's.

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::expr::cast::{Cast, CastContext};
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::repr::text::parse_text;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::clock;
use crate::sql::bind::context::Binder;
use crate::sql::bind::record;
use crate::sql::bind::relation::Typed;

/// A bound expression, perhaps without a type yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// It has a type.
    Typed(Typed),
    /// A string literal, or NULL where there is no text.
    Unknown {
        /// What was written.
        text: Option<String>,
        /// Where.
        position: Option<u32>,
    },
    /// A parameter that had no type when it was met.
    Parameter {
        /// From 1.
        number: usize,
        /// Where.
        position: Option<u32>,
    },
}

impl Bound {
    /// The type, if there is one by now.
    pub fn scalar(&self, binder: &Binder<'_, '_>) -> Option<ScalarType> {
        match self {
            Bound::Typed(typed) => Some(typed.ty.scalar),
            Bound::Unknown { .. } => None,
            Bound::Parameter { number, .. } => binder.parameter_type(*number),
        }
    }

    /// NULL without a type.
    pub fn null() -> Bound {
        Bound::Unknown { text: None, position: None }
    }
}

impl From<Typed> for Bound {
    fn from(typed: Typed) -> Bound {
        Bound::Typed(typed)
    }
}

impl Binder<'_, '_> {
    /// The type of a parameter, if it is known by now.
    pub fn parameter_type(&self, number: usize) -> Option<ScalarType> {
        self.cx.param_types.get(number.checked_sub(1)?).copied().flatten()
    }

    /// A parameter of that number.
    pub fn parameter(&mut self, number: usize, position: Option<u32>) -> Bound {
        if self.cx.param_types.len() < number {
            self.cx.param_types.resize(number, None);
        }
        match self.parameter_type(number) {
            Some(ty) => {
                let ty = ColumnType::nullable(ty);
                Bound::Typed(Typed { expr: Expr::Parameter(number, ty), ty })
            }
            None => Bound::Parameter { number, position },
        }
    }

    /// Gives a type to what may have none; what has one keeps it.
    ///
    /// Errors: those of reading the literal, 42P08 where a parameter has got another type since.
    pub fn give_type(&mut self, bound: Bound, ty: ColumnType) -> Result<Typed> {
        match bound {
            Bound::Typed(typed) => Ok(typed),
            Bound::Unknown { text: None, .. } => Ok(Typed::null(ty)),
            Bound::Unknown { text: Some(text), position } => self.read_literal(&text, ty, position),
            Bound::Parameter { number, position } => {
                match self.parameter_type(number) {
                    None => self.cx.param_types[number - 1] = Some(ty.scalar),
                    Some(known) if known == ty.scalar => {}
                    Some(known) => return Err(inconsistent(number, known, ty).at(position)),
                }
                let plain = ColumnType::nullable(ty.scalar);
                let typed = Typed { expr: Expr::Parameter(number, plain), ty: plain };
                Ok(self.with_modifier(typed, ty, false))
            }
        }
    }

    /// What a literal means as a value of that type; a modifier is applied as a written conversion
    /// applies it.
    fn read_literal(&mut self, text: &str, ty: ColumnType, position: Option<u32>) -> Result<Typed> {
        if let Some(special) = clock::special_literal(text, ty.scalar) {
            return self.special_time(special, ty.scalar, position);
        }
        if ty.scalar.is_reg() {
            return self.reg_literal(text, ty.scalar, position);
        }
        if ty.scalar.element().is_some_and(ScalarType::is_reg) {
            return self.reg_array(text, ty.scalar, position);
        }
        let arena = Bump::new();
        // An interval's modifier says how its text is read; the others cut what was read.
        let typmod = if ty.scalar == ScalarType::Interval { ty.typmod } else { -1 };
        let datum = parse_text(ty.scalar, typmod, text, self.cx.settings, &arena)
            .map_err(|e| self.unsafe_label(ty.scalar, text).unwrap_or(e).at(position))?;
        Ok(self.with_modifier(Typed::literal(datum, ty.scalar), ty, true))
    }

    /// Applies the modifier of a type to a value of that type.
    fn with_modifier(&self, typed: Typed, ty: ColumnType, explicit: bool) -> Typed {
        if ty.typmod == -1 || ty.typmod == typed.ty.typmod {
            return typed;
        }
        let to = ColumnType { nullable: typed.ty.nullable, ..ty };
        match Cast::find(ty.scalar, ty.scalar) {
            Some(cast) => Typed { expr: typed.expr.cast(cast, to, explicit), ty: to },
            None => Typed { expr: typed.expr, ty: to },
        }
    }

    /// Settles the type of what nothing has given one: text.
    pub fn settle(&mut self, bound: Bound) -> Result<Typed> {
        self.give_type(bound, ColumnType::nullable(ScalarType::Text))
    }

    /// A conversion as far as `context` allows it, none where it does not.
    fn try_cast(
        &mut self,
        bound: Bound,
        ty: ColumnType,
        context: CastContext,
    ) -> Result<std::result::Result<Typed, ScalarType>> {
        let explicit = context == CastContext::Explicit;
        let typed = match bound {
            Bound::Typed(typed) => typed,
            // A literal that is assigned must fit; one that is converted is cut.
            Bound::Unknown { text: Some(text), position } if !explicit => {
                let plain = ColumnType::nullable(ty.scalar);
                let read = if ty.scalar == ScalarType::Interval { ty } else { plain };
                let typed = self.read_literal(&text, read, position)?;
                return Ok(Ok(self.with_modifier(typed, ty, false)));
            }
            untyped => return self.give_type(untyped, ty).map(Ok),
        };
        let from = typed.ty.scalar;
        if from == ty.scalar {
            return Ok(Ok(self.with_modifier(typed, ty, explicit)));
        }
        match Cast::find(from, ty.scalar) {
            Some(cast) if cast.context <= context => {
                let nullable = typed.ty.nullable || cast.nullable;
                let to = ColumnType { nullable, ..ty };
                self.converted_by(typed, cast, to, explicit).map(Ok)
            }
            _ => Ok(Err(from)),
        }
    }

    /// A conversion that was written: `x::t`, `CAST (x AS t)`.
    ///
    /// Errors: 42846.
    pub fn convert(
        &mut self,
        bound: Bound,
        ty: ColumnType,
        position: Option<u32>,
    ) -> Result<Typed> {
        self.try_cast(bound, ty, CastContext::Explicit)?.map_err(|from| {
            if let Some(error) = record::other_width(from, ty.scalar) {
                return error.at(position);
            }
            Error::new(
                SqlState::CANNOT_COERCE,
                format!("cannot cast type {} to {}", from.display_name(), ty.scalar.display_name()),
            )
            .at(position)
        })
    }

    /// A value that is stored into a column. Errors: 42804.
    pub fn assign(
        &mut self,
        bound: Bound,
        column: &str,
        ty: ColumnType,
        position: Option<u32>,
    ) -> Result<Typed> {
        self.try_cast(bound, ty, CastContext::Assignment)?.map_err(|from| {
            if let Some(error) = record::other_width(from, ty.scalar) {
                return error.at(position);
            }
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{column}\" is of type {} but expression is of type {}",
                    ty.scalar.display_name(),
                    from.display_name()
                ),
            )
            .with_hint("You will need to rewrite or cast the expression.")
            .at(position)
        })
    }

    /// A value of a type that applies without being asked for, none where it does not.
    pub fn implicit(&mut self, bound: Bound, ty: ColumnType) -> Result<Option<Typed>> {
        Ok(self.try_cast(bound, ty, CastContext::Implicit)?.ok())
    }

    /// A value as an assignment converts it, none where it does not.
    pub fn assignable(&mut self, bound: Bound, ty: ColumnType) -> Result<Option<Typed>> {
        Ok(self.try_cast(bound, ty, CastContext::Assignment)?.ok())
    }

    /// A condition. Errors: 42804 in PostgreSQL's words for `clause`.
    pub fn condition(
        &mut self,
        bound: Bound,
        clause: &str,
        position: Option<u32>,
    ) -> Result<Typed> {
        let ty = ColumnType::nullable(ScalarType::Bool);
        self.try_cast(bound, ty, CastContext::Implicit)?.map_err(|from| {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "argument of {clause} must be type boolean, not type {}",
                    from.display_name()
                ),
            )
            .at(position)
        })
    }

    /// A count of rows: LIMIT and OFFSET. Errors: 42804.
    pub fn row_count(
        &mut self,
        bound: Bound,
        clause: &str,
        position: Option<u32>,
    ) -> Result<Typed> {
        let ty = ColumnType::nullable(ScalarType::Int8);
        self.try_cast(bound, ty, CastContext::Assignment)?.map_err(|from| {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "argument of {clause} must be type bigint, not type {}",
                    from.display_name()
                ),
            )
            .at(position)
        })
    }

    /// The one type of several values, and the values converted to it.
    ///
    /// Errors: 42804 in PostgreSQL's words for `construct`, at `position`.
    pub fn unify(
        &mut self,
        values: Vec<Bound>,
        construct: &str,
        position: Option<u32>,
    ) -> Result<Vec<Typed>> {
        let types: Vec<_> = values.iter().map(|value| value.scalar(self)).collect();
        let common = functions::common_type(construct, &types).map_err(|e| e.at(position))?;
        let typmod = common_typmod(&values, common);
        let ty = ColumnType { typmod, ..ColumnType::nullable(common) };
        values
            .into_iter()
            .map(|value| match self.implicit(value, ty)? {
                Some(typed) => Ok(typed),
                None => Err(Error::internal("a common type to which a value does not convert")),
            })
            .collect()
    }
}

/// The modifier that all values of a type agree on, −1 where they do not.
fn common_typmod(values: &[Bound], scalar: ScalarType) -> i32 {
    let mut modifiers = values.iter().map(|value| match value {
        Bound::Typed(typed) if typed.ty.scalar == scalar => typed.ty.typmod,
        Bound::Unknown { text: None, .. } => i32::MIN,
        _ => -1,
    });
    let mut common = i32::MIN;
    for modifier in modifiers.by_ref().filter(|&m| m != i32::MIN) {
        if common != i32::MIN && modifier != common {
            return -1;
        }
        common = modifier;
    }
    if common == i32::MIN { -1 } else { common }
}

fn inconsistent(number: usize, known: ScalarType, ty: ColumnType) -> Error {
    Error::new(
        SqlState::new(b"42P08"),
        format!("inconsistent types deduced for parameter ${number}"),
    )
    .with_detail(format!("{} versus {}", known.display_name(), ty.scalar.display_name()))
}

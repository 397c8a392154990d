//! What is grouped, made distinct or ordered must have an equality and an order; json has neither.

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;

/// Error 42883 where values of one of these types cannot be told apart.
pub fn equal(types: impl IntoIterator<Item = ScalarType>) -> Result<()> {
    match types.into_iter().find(|ty| !ty.is_comparable()) {
        None => Ok(()),
        Some(ty) => Err(Error::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("could not identify an equality operator for type {}", ty.display_name()),
        )),
    }
}

/// Error 42883 where values of one of these types have no order.
pub fn ordered(types: impl IntoIterator<Item = ScalarType>) -> Result<()> {
    match types.into_iter().find(|ty| !ty.is_comparable()) {
        None => Ok(()),
        Some(ty) => Err(Error::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("could not identify an ordering operator for type {}", ty.display_name()),
        )
        .with_hint("Use an explicit ordering operator or modify the query.")),
    }
}

/// Error 42704 where keys cannot be of one of these types.
pub fn indexed(types: impl IntoIterator<Item = ScalarType>) -> Result<()> {
    match types.into_iter().find(|ty| !ty.is_comparable()) {
        None => Ok(()),
        Some(ty) => Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!(
                "data type {} has no default operator class for access method \"btree\"",
                ty.display_name()
            ),
        )
        .with_hint(
            "You must specify an operator class for the index or define a default operator class \
             for the data type.",
        )),
    }
}

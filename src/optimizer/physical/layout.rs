//! How rows are laid out in arrangements.
//!
//! A column is read back from the key where it is one of the key's first columns and its key is
//! its value: a key is read from its start, and cannot be read past a part that is not.

use crate::expr::scalar::Expr;
use crate::plan::physical::{Arrangement, Source};
use crate::repr::key::KeyMode;
use crate::repr::{ColumnType, ScalarType};

/// The layout of rows of these types under a key.
pub fn arrangement(types: &[ScalarType], key: Vec<Expr>, mode: KeyMode) -> Arrangement {
    let columns: Vec<ColumnType> = types.iter().map(|t| ColumnType::nullable(*t)).collect();
    let key_types: Vec<ScalarType> = key.iter().map(|e| e.typ(&columns).scalar).collect();
    let readable = key_types.iter().take_while(|t| t.key_is_identity()).count();
    let in_key = |c: usize| key[..readable].iter().position(|e| *e == Expr::Column(c));
    let value: Vec<usize> = (0..types.len()).filter(|c| in_key(*c).is_none()).collect();
    let place = |c: usize| match in_key(c) {
        Some(part) => Source::Key(part),
        None => Source::Value(value.partition_point(|v| *v < c)),
    };
    let columns = (0..types.len()).map(place).collect();
    Arrangement { types: types.to_vec(), key, key_types, mode, value, columns }
}

/// As [`arrangement`], with keys encoded as those of another one where `key_types` are its types.
pub fn keyed_as(
    types: &[ScalarType],
    key: Vec<Expr>,
    mode: KeyMode,
    key_types: Option<Vec<ScalarType>>,
) -> Arrangement {
    let mut layout = arrangement(types, key, mode);
    if let Some(key_types) = key_types {
        layout.key_types = key_types;
    }
    layout
}

/// A table's own layout: by its primary key, which has no NULL, or by the whole row.
pub fn table_layout(types: &[ColumnType], primary_key: Option<&[usize]>) -> Arrangement {
    let types = &scalars(types);
    match primary_key {
        Some(key) if !key.is_empty() => {
            let key = key.iter().map(|c| Expr::Column(*c)).collect();
            arrangement(types, key, KeyMode::Strict)
        }
        _ => whole_row(types),
    }
}

/// A maintained view's own layout: by its smallest key without NULLs, or by the whole row.
pub fn view_layout(types: &[ColumnType], keys: &[Vec<usize>]) -> Arrangement {
    let fits = |key: &&Vec<usize>| !key.is_empty() && key.iter().all(|c| !types[*c].nullable);
    let key = keys.iter().filter(fits).min_by_key(|key| key.len());
    table_layout(types, key.map(Vec::as_slice))
}

/// An index's layout.
pub fn index_layout(types: &[ColumnType], key: &[Expr]) -> Arrangement {
    arrangement(&scalars(types), key.to_vec(), KeyMode::NullSafe)
}

fn scalars(types: &[ColumnType]) -> Vec<ScalarType> {
    types.iter().map(|t| t.scalar).collect()
}

/// All columns are the key; those that cannot be read back from it are the value. The readable
/// ones come first, so that they can be.
fn whole_row(types: &[ScalarType]) -> Arrangement {
    let mut key: Vec<usize> = (0..types.len()).collect();
    key.sort_by_key(|c| !types[*c].key_is_identity());
    arrangement(types, key.into_iter().map(Expr::Column).collect(), KeyMode::NullSafe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_the_start_of_the_key() {
        let types = [ScalarType::Numeric, ScalarType::Int4, ScalarType::Text];
        let types = types.map(ColumnType::not_null);
        let layout = table_layout(&types, Some(&[1, 0, 2]));
        assert_eq!(layout.columns, [Source::Value(0), Source::Key(0), Source::Value(1)]);
        assert_eq!(layout.value, [0, 2]);
        let whole = table_layout(&types, None);
        assert_eq!(whole.key, [Expr::Column(1), Expr::Column(2), Expr::Column(0)]);
        assert_eq!(whole.columns, [Source::Value(0), Source::Key(0), Source::Key(1)]);
        assert_eq!(whole.mode, KeyMode::NullSafe);
    }
}

//! Where the families are listed, and the indexes over them.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::{
    array_comparison, array_search, array_sets, array_text, arrays, bits, boolean, bytea, catalog,
    catalog_names, comparison, concatenation, conversion_calls, datetime, datetime_arithmetic,
    datetime_comparison, datetime_overlaps, degrees, encoding, enums, escapes, float, formatting,
    hashes, inet, integer, json, json_build, json_sets, jsonb, jsonb_build, jsonb_paths,
    jsonb_sets, jsonpath, like, math, multiranges, numeric, pull, quoting, range_constructors,
    ranges, records, regexp, regexp_arrays, sends, sequence, series, server, slices, text,
    text_sets, timestamp_ns, uuid,
};
use crate::expr::polymorphic::{self, PolyDef, PolyOperator};

/// The functions and operators of one file.
#[derive(Debug)]
pub struct Family {
    /// The functions.
    pub functions: &'static [FuncDef],
    /// The operators; their functions may be another family's.
    pub operators: &'static [OperatorDef],
}

/// All families; a new file adds its line here.
static FAMILIES: &[&Family] = &[
    &catalog::FAMILY,
    &catalog_names::FAMILY,
    &array_text::FAMILY,
    &bits::FAMILY,
    &boolean::FAMILY,
    &comparison::FAMILY,
    &comparison::UNNAMED,
    &inet::FAMILY,
    &integer::FAMILY,
    &float::FAMILY,
    &math::FAMILY,
    &degrees::FAMILY,
    &numeric::FAMILY,
    &text::FAMILY,
    &slices::FAMILY,
    &quoting::FAMILY,
    &like::FAMILY,
    &regexp::FAMILY,
    &regexp_arrays::FAMILY,
    &formatting::FAMILY,
    &json::FAMILY,
    &json_build::FAMILY,
    &json_sets::FAMILY,
    &jsonb::FAMILY,
    &jsonb_build::FAMILY,
    &jsonb_paths::FAMILY,
    &uuid::FAMILY,
    &range_constructors::FAMILY,
    &sequence::FAMILY,
    &sequence::SESSION,
    &server::FAMILY,
    &bytea::FAMILY,
    &encoding::FAMILY,
    &conversion_calls::FAMILY,
    &datetime::FAMILY,
    &datetime_arithmetic::FAMILY,
    &datetime_comparison::FAMILY,
    &datetime_overlaps::FAMILY,
    &series::FAMILY,
    &escapes::FAMILY,
    &hashes::FAMILY,
    &sends::FAMILY,
    &timestamp_ns::FAMILY,
    &jsonb_sets::FAMILY,
    &jsonpath::FAMILY,
    &text_sets::FAMILY,
    &pull::FAMILY,
];

/// The functions over arrays and ranges of any type.
static POLYMORPHIC: &[&[PolyDef]] = &[
    arrays::FUNCTIONS,
    array_comparison::FUNCTIONS,
    array_search::FUNCTIONS,
    array_sets::FUNCTIONS,
    array_text::FUNCTIONS,
    concatenation::FUNCTIONS,
    json_build::POLYMORPHIC,
    enums::FUNCTIONS,
    records::FUNCTIONS,
    ranges::FUNCTIONS,
    multiranges::FUNCTIONS,
    multiranges::TESTS,
];

/// The operators over arrays and ranges of any type.
static POLYMORPHIC_OPERATORS: &[&[PolyOperator]] = &[
    arrays::OPERATORS,
    array_comparison::OPERATORS,
    array_search::OPERATORS,
    concatenation::OPERATORS,
    enums::OPERATORS,
    records::OPERATORS,
    ranges::OPERATORS,
    multiranges::OPERATORS,
];

struct Index {
    by_oid: HashMap<u32, &'static FuncDef>,
    by_name: HashMap<&'static str, Vec<&'static FuncDef>>,
    by_symbol: HashMap<&'static str, Vec<&'static OperatorDef>>,
    operator_of: HashMap<u32, &'static OperatorDef>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index {
            by_oid: HashMap::new(),
            by_name: HashMap::new(),
            by_symbol: HashMap::new(),
            operator_of: HashMap::new(),
        };
        for func in functions() {
            index.by_oid.insert(func.oid, func);
            index.by_name.entry(func.name).or_default().push(func);
        }
        for operator in operators() {
            index.by_symbol.entry(operator.symbol).or_default().push(operator);
            index.operator_of.entry(operator.func).or_insert(operator);
        }
        index
    })
}

/// Every function, for `pg_proc`; those with a capital or a space in their names are only ours.
pub fn functions() -> impl Iterator<Item = &'static FuncDef> {
    FAMILIES.iter().flat_map(|f| f.functions).chain(catalog::privileges())
}

/// Every operator, for `pg_operator`.
pub fn operators() -> impl Iterator<Item = &'static OperatorDef> {
    FAMILIES.iter().flat_map(|f| f.operators)
}

/// Every function over arrays and ranges of any type.
pub fn polymorphic_functions() -> impl Iterator<Item = &'static PolyDef> {
    POLYMORPHIC.iter().copied().flatten()
}

/// Every operator over arrays and ranges of any type: its spelling and its function.
pub fn polymorphic_operators() -> impl Iterator<Item = (&'static str, &'static PolyDef)> {
    let operators = POLYMORPHIC_OPERATORS.iter().copied().flatten();
    operators.filter_map(|o| polymorphic(o.func).map(|def| (o.symbol, def)))
}

/// The function over arrays and ranges of any type that has an oid.
pub fn polymorphic(oid: u32) -> Option<&'static PolyDef> {
    polymorphic_functions().find(|def| def.oid == oid)
}

/// The functions over arrays and ranges of any type that have a name.
pub(super) fn polymorphic_named(name: &str) -> impl Iterator<Item = &'static PolyDef> {
    polymorphic_functions().filter(move |def| def.name == name)
}

/// The functions of the operators over arrays and ranges of any type that have a spelling.
pub(super) fn polymorphic_spelled(symbol: &str) -> impl Iterator<Item = &'static PolyDef> {
    let operators = POLYMORPHIC_OPERATORS.iter().copied().flatten();
    operators.filter(move |o| o.symbol == symbol).filter_map(|o| polymorphic(o.func))
}

/// What elements must have for a function over arrays to compare them; none where it does not.
pub(super) fn comparison_needed(def: &PolyDef) -> Option<&'static str> {
    let is_in = |family: &[PolyDef]| family.iter().any(|other| other.oid == def.oid);
    match def.name {
        "array_eq" | "array_ne" | "record_eq" | "record_ne" => Some("an equality operator"),
        "record_lt" | "record_le" | "record_gt" | "record_ge" => Some("a comparison function"),
        _ if is_in(array_search::FUNCTIONS) => Some("an equality operator"),
        _ if is_in(array_comparison::FUNCTIONS) => Some("a comparison function"),
        _ => None,
    }
}

/// The spelling of the operator that a function over arrays is behind.
pub(in crate::expr) fn polymorphic_symbol(oid: u32) -> Option<&'static str> {
    let mut operators = POLYMORPHIC_OPERATORS.iter().copied().flatten();
    operators.find(|o| o.func == oid).map(|o| o.symbol)
}

/// Whether a function has that name.
pub fn is_function(name: &str) -> bool {
    index().by_name.contains_key(name) || polymorphic_named(name).next().is_some()
}

/// The function of that oid.
pub fn by_oid(oid: u32) -> Option<&'static FuncDef> {
    if polymorphic::is_instance(oid) {
        return polymorphic::by_oid(oid);
    }
    index().by_oid.get(&oid).copied()
}

/// The operator that a function is behind, if any.
pub fn operator_of(oid: u32) -> Option<&'static OperatorDef> {
    if polymorphic::is_instance(oid) {
        return polymorphic::operator_of(oid);
    }
    index().operator_of.get(&oid).copied()
}

/// The functions of that name.
pub(super) fn named(name: &str) -> &'static [&'static FuncDef] {
    index().by_name.get(name).map_or(&[], Vec::as_slice)
}

/// Whether PostgreSQL has a function of that name.
pub(super) fn is_postgresqls(name: &str) -> bool {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| include_str!("postgresql_names.txt").lines().collect()).contains(name)
}

/// The operators of that spelling.
pub(super) fn spelled(symbol: &str) -> &'static [&'static OperatorDef] {
    index().by_symbol.get(symbol).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_unique_and_operators_have_functions() {
        assert_eq!(index().by_oid.len(), functions().count());
        let mut signatures: Vec<_> =
            functions().map(|f| (f.name, f.args, f.variadic, f.any)).collect();
        signatures.sort();
        signatures.dedup();
        assert_eq!(signatures.len(), functions().count());
        for operator in operators() {
            let func = by_oid(operator.func).expect(operator.symbol);
            let args: Vec<_> = operator.left.into_iter().chain([operator.right]).collect();
            assert_eq!(func.args, args, "{}", operator.symbol);
        }
    }
}

//! Functions that read the catalog.
//!
//! What they answer is in system relations, so most of them are an expression in SQL that the
//! binder puts in the place of the call ([`FuncDef::sql`]): they can stand in maintained views, and
//! follow the catalog there. Beside the arguments (`_1`, `_2`) such an expression may name what the
//! session knows: `_path`, the schemas that names are looked up in, and `_user`. Every relation and
//! function in it is qualified or in `pg_catalog`.
//!
//! Here everybody may do everything: a privilege is there where the object is.

use crate::expr::func::FuncDef;
use crate::expr::functions::registry::Family;
use crate::repr::ScalarType::{self, *};

/// Whether a relation `c` in the schema `n` is found by its bare name.
macro_rules! is_visible {
    () => {
        "(array_position(_path, n.nspname::text) IS NOT NULL AND NOT EXISTS (\
         SELECT 1 FROM pg_catalog.pg_class c2 \
         JOIN pg_catalog.pg_namespace n2 ON n2.oid = c2.relnamespace \
         WHERE c2.relname = c.relname AND array_position(_path, n2.nspname::text) \
         < array_position(_path, n.nspname::text)))"
    };
}

/// The relations with their schemas.
macro_rules! relations {
    () => {
        "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    };
}

/// The oid of the relation that a text names; NULL where there is none.
macro_rules! relation_named {
    () => {
        concat!(
            "(SELECT c.oid FROM ",
            relations!(),
            " WHERE CASE WHEN strpos(_1, '\"') = 0 THEN lower(_1) ELSE _1 END \
             = quote_ident(n.nspname::text) || '.' || quote_ident(c.relname::text) \
             OR CASE WHEN strpos(_1, '\"') = 0 THEN lower(_1) ELSE _1 END \
             = quote_ident(c.relname::text) AND ",
            is_visible!(),
            ")"
        )
    };
}

macro_rules! definition {
    ($class:literal, $part:literal) => {
        concat!(
            "(SELECT d.definition FROM weir_catalog.weir_definitions d WHERE d.class = ",
            $class,
            " AND d.object = _1 AND d.part = ",
            $part,
            ")"
        )
    };
}

macro_rules! view_definition {
    ($argument:literal) => {
        concat!(
            "(SELECT ' ' || d.definition || ';' FROM weir_catalog.weir_definitions d \
             JOIN pg_catalog.pg_class c ON c.oid = d.object \
             WHERE d.class = 1259 AND d.part = 0 AND c.relkind IN ('v', 'm') AND d.object = ",
            $argument,
            ")"
        )
    };
}

/// Whether an oid is there in a relation of `pg_catalog`.
macro_rules! known {
    ($relation:literal, $argument:literal) => {
        concat!("(SELECT true FROM pg_catalog.", $relation, " o WHERE o.oid = ", $argument, ")")
    };
}

/// `has_…_privilege` of what an oid names.
macro_rules! privilege {
    ($name:literal, $relation:literal, $oid:literal, $user_oid:literal, $oid_oid:literal) => {
        [
            FuncDef::in_sql($oid, $name, &[Oid, Text], Bool, known!($relation, "_1")),
            FuncDef::in_sql($user_oid, $name, &[Name, Oid, Text], Bool, known!($relation, "_2")),
            FuncDef::in_sql($oid_oid, $name, &[Oid, Oid, Text], Bool, known!($relation, "_2")),
        ]
    };
}

/// `has_…_privilege` of what a text names, by the type that reads the name.
macro_rules! privilege_by_name {
    ($name:literal, $relation:literal, $reg:literal, $text:literal, $user_text:literal,
     $oid_text:literal) => {
        [
            FuncDef::in_sql(
                $text,
                $name,
                &[Text, Text],
                Bool,
                privilege_by_name!(@ $relation, "_1", $reg),
            ),
            FuncDef::in_sql(
                $user_text,
                $name,
                &[Name, Text, Text],
                Bool,
                privilege_by_name!(@ $relation, "_2", $reg),
            ),
            FuncDef::in_sql(
                $oid_text,
                $name,
                &[Oid, Text, Text],
                Bool,
                privilege_by_name!(@ $relation, "_2", $reg),
            ),
        ]
    };
    (@ $relation:literal, $argument:literal, $reg:literal) => {
        concat!(
            "(SELECT true FROM pg_catalog.",
            $relation,
            " o WHERE o.oid = ",
            $argument,
            "::",
            $reg,
            "::oid)"
        )
    };
}

/// The functions whose privileges are asked of relations, schemas and others.
static PRIVILEGES: &[&[FuncDef]] = &[
    &privilege!("has_table_privilege", "pg_class", 1927, 1923, 1925),
    &privilege_by_name!("has_table_privilege", "pg_class", "regclass", 1926, 1922, 1924),
    &privilege!("has_any_column_privilege", "pg_class", 3029, 3025, 3027),
    &privilege_by_name!("has_any_column_privilege", "pg_class", "regclass", 3028, 3024, 3026),
    &privilege!("has_sequence_privilege", "pg_class", 2186, 2182, 2184),
    &privilege_by_name!("has_sequence_privilege", "pg_class", "regclass", 2185, 2181, 2183),
    &privilege!("has_schema_privilege", "pg_namespace", 2273, 2269, 2271),
    &privilege_by_name!("has_schema_privilege", "pg_namespace", "regnamespace", 2272, 2268, 2270),
    &privilege!("has_database_privilege", "pg_database", 2255, 2251, 2253),
    &privilege!("has_function_privilege", "pg_proc", 2261, 2257, 2259),
    &privilege!("has_type_privilege", "pg_type", 3143, 3139, 3141),
    &privilege_by_name!("has_type_privilege", "pg_type", "regtype", 3142, 3138, 3140),
    &privilege!("has_language_privilege", "pg_language", 2267, 2263, 2265),
    &privilege!("has_tablespace_privilege", "pg_tablespace", 2395, 2391, 2393),
];

/// The functions over privileges.
pub fn privileges() -> impl Iterator<Item = &'static FuncDef> {
    PRIVILEGES.iter().copied().flatten()
}

const NEVER: &str = "CASE WHEN _1 IS NOT NULL THEN false END";
const NOTHING: &str = "CASE WHEN _1 IS NOT NULL THEN 0::int8 END";
const DATABASE: &str = "(SELECT true FROM pg_catalog.pg_database o WHERE o.datname = _1)";
const NO_TEXT: &str = "NULL::text";
/// A relation takes no room on disk of its own: tables live in memory, and share one log.
const NO_BYTES: &str = "(SELECT 0::int8 FROM pg_catalog.pg_class o WHERE o.oid = _1::oid)";
/// The relations of `weir_catalog` are found by their bare names, but they are not what clients
/// look for who list what is visible.
const IS_VISIBLE: &str = concat!(
    "(SELECT n.nspname <> 'weir_catalog' AND ",
    is_visible!(),
    " FROM ",
    relations!(),
    " WHERE c.oid = _1)"
);
const TYPE_IS_VISIBLE: &str = "(SELECT array_position(_path, n.nspname::text) IS NOT NULL \
     FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
     WHERE t.oid = _1)";
const DESCRIPTION: &str = "(SELECT d.description FROM pg_catalog.pg_description d \
     WHERE d.objoid = _1 AND d.objsubid = 0 LIMIT 1)";

/// The functions.
pub static FAMILY: Family = Family {
    functions: &[
        FuncDef::in_sql(
            1642,
            "pg_get_userbyid",
            &[Oid],
            Name,
            "COALESCE((SELECT o.rolname FROM pg_catalog.pg_authid o WHERE o.oid = _1), \
             ('unknown (OID=' || _1::text || ')')::name)",
        ),
        FuncDef::in_sql(2079, "pg_table_is_visible", &[Oid], Bool, IS_VISIBLE),
        FuncDef::in_sql(2080, "pg_type_is_visible", &[Oid], Bool, TYPE_IS_VISIBLE),
        FuncDef::in_sql(2081, "pg_function_is_visible", &[Oid], Bool, known!("pg_proc", "_1")),
        FuncDef::in_sql(2082, "pg_operator_is_visible", &[Oid], Bool, known!("pg_operator", "_1")),
        FuncDef::in_sql(2083, "pg_opclass_is_visible", &[Oid], Bool, known!("pg_opclass", "_1")),
        FuncDef::in_sql(3829, "pg_opfamily_is_visible", &[Oid], Bool, known!("pg_opfamily", "_1")),
        FuncDef::in_sql(
            3815,
            "pg_collation_is_visible",
            &[Oid],
            Bool,
            known!("pg_collation", "_1"),
        ),
        FuncDef::in_sql(2093, "pg_conversion_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(3403, "pg_statistics_obj_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(3756, "pg_ts_parser_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(3757, "pg_ts_dict_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(3758, "pg_ts_config_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(3768, "pg_ts_template_is_visible", &[Oid], Bool, "NULL::bool"),
        FuncDef::in_sql(1641, "pg_get_viewdef", &[Oid], Text, view_definition!("_1")),
        FuncDef::in_sql(2506, "pg_get_viewdef", &[Oid, Bool], Text, view_definition!("_1")),
        FuncDef::in_sql(3159, "pg_get_viewdef", &[Oid, Int4], Text, view_definition!("_1")),
        FuncDef::in_sql(
            1640,
            "pg_get_viewdef",
            &[Text],
            Text,
            view_definition!("_1::regclass::oid"),
        ),
        FuncDef::in_sql(
            2505,
            "pg_get_viewdef",
            &[Text, Bool],
            Text,
            view_definition!("_1::regclass::oid"),
        ),
        FuncDef::in_sql(1643, "pg_get_indexdef", &[Oid], Text, definition!("1259", "0")),
        FuncDef::in_sql(
            2507,
            "pg_get_indexdef",
            &[Oid, Int4, Bool],
            Text,
            definition!("1259", "_2"),
        ),
        FuncDef::in_sql(1387, "pg_get_constraintdef", &[Oid], Text, definition!("2606", "0")),
        FuncDef::in_sql(2508, "pg_get_constraintdef", &[Oid, Bool], Text, definition!("2606", "0")),
        FuncDef::in_sql(
            1573,
            "pg_get_ruledef",
            &[Oid],
            Text,
            "(SELECT 'CREATE RULE ' || quote_ident(r.rulename::text) || ' AS ON SELECT TO ' || \
             r.ev_class::regclass::text || ' DO INSTEAD ' || r.ev_action::text || ';' \
             FROM pg_catalog.pg_rewrite r WHERE r.oid = _1)",
        ),
        FuncDef::in_sql(2504, "pg_get_ruledef", &[Oid, Bool], Text, "pg_get_ruledef(_1)"),
        FuncDef::in_sql(2254, "has_database_privilege", &[Text, Text], Bool, DATABASE),
        FuncDef::in_sql(1662, "pg_get_triggerdef", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(2730, "pg_get_triggerdef", &[Oid, Bool], Text, NO_TEXT),
        FuncDef::in_sql(3352, "pg_get_partkeydef", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(3408, "pg_get_partition_constraintdef", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(3415, "pg_get_statisticsobjdef", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(6174, "pg_get_statisticsobjdef_columns", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(6197, "pg_get_function_sqlbody", &[Oid], Text, NO_TEXT),
        FuncDef::in_sql(
            1665,
            "pg_get_serial_sequence",
            &[Text, Text],
            Text,
            "(SELECT quote_ident(n.nspname::text) || '.' || quote_ident(s.relname::text) \
             FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class s ON s.oid = d.objid \
             JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid \
             AND a.attnum = d.refobjsubid \
             WHERE d.classid = 1259 AND d.refclassid = 1259 AND d.deptype IN ('a', 'i') \
             AND s.relkind = 'S' AND d.refobjid = _1::regclass::oid AND a.attname = _2)",
        ),
        FuncDef::in_sql(1348, "obj_description", &[Oid], Text, DESCRIPTION),
        FuncDef::in_sql(1215, "obj_description", &[Oid, Name], Text, DESCRIPTION),
        FuncDef::in_sql(1993, "shobj_description", &[Oid, Name], Text, NO_TEXT),
        FuncDef::in_sql(
            1216,
            "col_description",
            &[Oid, Int4],
            Text,
            "(SELECT d.description FROM pg_catalog.pg_description d \
             WHERE d.objoid = _1 AND d.classoid = 1259 AND d.objsubid = _2)",
        ),
        FuncDef::in_sql(2325, "pg_relation_size", &[RegClass], Int8, NO_BYTES),
        FuncDef::in_sql(2332, "pg_relation_size", &[RegClass, Text], Int8, NO_BYTES),
        FuncDef::in_sql(2997, "pg_table_size", &[RegClass], Int8, NO_BYTES),
        FuncDef::in_sql(2998, "pg_indexes_size", &[RegClass], Int8, NO_BYTES),
        FuncDef::in_sql(2286, "pg_total_relation_size", &[RegClass], Int8, NO_BYTES),
        FuncDef::in_sql(2324, "pg_database_size", &[Oid], Int8, NOTHING),
        FuncDef::in_sql(2168, "pg_database_size", &[Name], Int8, NOTHING),
        FuncDef::in_sql(2322, "pg_tablespace_size", &[Oid], Int8, NOTHING),
        FuncDef::in_sql(3778, "pg_tablespace_location", &[Oid], Text, "''::text"),
        FuncDef::in_sql(3810, "pg_is_in_recovery", &[], Bool, "false"),
        FuncDef::in_sql(2854, "pg_my_temp_schema", &[], Oid, "0::oid"),
        FuncDef::in_sql(2855, "pg_is_other_temp_schema", &[Oid], Bool, NEVER),
        FuncDef::in_sql(3298, "row_security_active", &[Oid], Bool, NEVER),
        FuncDef::in_sql(
            6121,
            "pg_relation_is_publishable",
            &[RegClass],
            Bool,
            "(SELECT c.relkind = 'r' AND c.oid >= 16384 FROM pg_catalog.pg_class c \
             WHERE c.oid = _1::oid)",
        ),
        // Types that users create, and those of rows, have their names in the catalog alone.
        FuncDef::in_sql(
            1081,
            "format_type",
            &[Oid, Int4],
            Text,
            "CASE WHEN weir_type_name(_1, _2) <> '???' OR _1 IS NULL THEN weir_type_name(_1, _2) \
             ELSE coalesce((SELECT CASE WHEN t.typelem <> 0::oid AND t.typname LIKE '\\_%' \
             THEN quote_ident(e.typname::text) || '[]' ELSE quote_ident(t.typname::text) END \
             FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem \
             WHERE t.oid = _1), '???') END",
        ),
        FuncDef::in_sql(
            3495,
            "to_regclass",
            &[Text],
            RegClass,
            concat!(relation_named!(), "::regclass"),
        ),
        FuncDef::in_sql(
            4086,
            "to_regnamespace",
            &[Text],
            RegNamespace,
            "(SELECT n.oid FROM pg_catalog.pg_namespace n \
             WHERE quote_ident(n.nspname::text) = _1)::regnamespace",
        ),
        FuncDef::in_sql(
            4093,
            "to_regrole",
            &[Text],
            RegRole,
            "(SELECT o.oid FROM pg_catalog.pg_authid o \
             WHERE quote_ident(o.rolname::text) = _1)::regrole",
        ),
        FuncDef::in_sql(
            3493,
            "to_regtype",
            &[Text],
            RegType,
            "(SELECT t.oid FROM pg_catalog.pg_type t \
             WHERE t.typname = _1 OR format_type(t.oid, NULL) = _1 LIMIT 1)::regtype",
        ),
        FuncDef::in_sql(
            3494,
            "to_regproc",
            &[Text],
            RegProc,
            "(SELECT min(p.oid) FROM pg_catalog.pg_proc p WHERE p.proname = _1 \
             HAVING count(*) = 1)::regproc",
        ),
    ],
    operators: &[],
};

/// The expression that a conversion from or to what the catalog names stands for; none where it
/// is an ordinary one.
pub fn cast_body(from: ScalarType, to: ScalarType) -> Option<&'static str> {
    let is_text = |ty| matches!(ty, Text | Varchar | Name);
    if is_text(to) {
        return Some(match from {
            RegClass => concat!(
                "CASE WHEN _1::oid = 0 THEN '-' ELSE COALESCE((SELECT CASE WHEN ",
                is_visible!(),
                " THEN '' ELSE quote_ident(n.nspname::text) || '.' END \
                 || quote_ident(c.relname::text) FROM ",
                relations!(),
                " WHERE c.oid = _1::oid), _1::oid::text) END"
            ),
            RegNamespace => {
                "CASE WHEN _1::oid = 0 THEN '-' ELSE COALESCE((SELECT \
                 quote_ident(n.nspname::text) FROM pg_catalog.pg_namespace n \
                 WHERE n.oid = _1::oid), _1::oid::text) END"
            }
            RegRole => {
                "CASE WHEN _1::oid = 0 THEN '-' ELSE COALESCE((SELECT \
                 quote_ident(o.rolname::text) FROM pg_catalog.pg_authid o \
                 WHERE o.oid = _1::oid), _1::oid::text) END"
            }
            RegType => "format_type(_1::oid, NULL)",
            RegProc => "\"REGPROC\"(_1::oid)",
            RegProcedure => "\"REGPROCEDURE\"(_1::oid)",
            RegOper | RegOperator => {
                "CASE WHEN _1::oid = 0 THEN '0' ELSE COALESCE((SELECT o.oprname::text \
                 FROM pg_catalog.pg_operator o WHERE o.oid = _1::oid), _1::oid::text) END"
            }
            _ => return None,
        });
    }
    if !is_text(from) {
        return None;
    }
    Some(match to {
        RegClass => {
            concat!(
                "COALESCE(",
                relation_named!(),
                ", CASE WHEN strpos(_1, '.') > 0 AND NOT EXISTS (SELECT 1 \
                 FROM pg_catalog.pg_namespace n \
                 WHERE quote_ident(n.nspname::text) = split_part(_1, '.', 1)) \
                 THEN \"NO SCHEMA\"(split_part(_1, '.', 1)) \
                 ELSE \"NO RELATION\"(_1::text) END)::regclass"
            )
        }
        RegNamespace => "to_regnamespace(_1::text)",
        RegType => "to_regtype(_1::text)",
        RegProc => "to_regproc(_1::text)",
        RegRole => "to_regrole(_1::text)",
        _ => return None,
    })
}

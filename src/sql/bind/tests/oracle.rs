//! The comparison with PostgreSQL's answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpalo::Bump;

use crate::catalog::item::{Item, ItemKind, PrimaryKey, Table};
use crate::catalog::objects::{Catalog, Change};
use crate::error::{Error, Result};
use crate::plan::statement::Statement;
use crate::repr::settings::FormatSettings;
use crate::repr::text::{format_text, parse_text};
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnDesc, ColumnType, Datum, GlobalId, RelationDesc, Row, ScalarType};
use crate::sql::bind::tests::interpret::{Interpreter, Rows, compare_rows};
use crate::sql::bind::{BindContext, bind};
use crate::sql::datalog::session::SessionRules;
use crate::sql::parse::parse;

/// The tables of the fixture.
pub fn fixture() -> (Catalog, BTreeMap<GlobalId, Rows>) {
    let public = Item {
        id: GlobalId(2_200),
        schema: "public".to_owned(),
        name: "public".to_owned(),
        kind: ItemKind::Schema,
    };
    let mut changes = vec![Change { id: public.id, item: Some(Arc::new(public)) }];
    let mut tables = BTreeMap::new();
    let mut types: Vec<ScalarType> = vec![];
    let mut id = GlobalId::FIRST_USER;
    for line in include_str!("fixture.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let ["table", name, columns @ ..] = fields.as_slice() {
            id = GlobalId(id.0 + 1);
            let item = table(id, name, columns);
            types = item.desc().unwrap().scalars();
            changes.push(Change { id, item: Some(Arc::new(item)) });
            tables.insert(id, Rows::new());
            continue;
        }
        let arena = Bump::new();
        let settings = FormatSettings::default();
        let datums: Vec<Datum<'_>> = fields
            .iter()
            .zip(&types)
            .map(|(text, ty)| match *text {
                "\\N" => Datum::Null,
                text => parse_text(
                    *ty,
                    if text.len() < 4 && *ty == ScalarType::Bpchar { 7 } else { -1 },
                    text,
                    &settings,
                    &arena,
                )
                .unwrap(),
            })
            .collect();
        *tables.get_mut(&id).unwrap().entry(pack(&datums)).or_default() += 1;
    }
    (Catalog::default().with(&changes).unwrap(), tables)
}

fn table(id: GlobalId, name: &str, columns: &[&str]) -> Item {
    let mut key = vec![];
    let columns: Vec<ColumnDesc> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let words: Vec<&str> = column.split(' ').collect();
            let scalar = ScalarType::ALL.into_iter().find(|t| t.name() == words[1]).unwrap();
            if words.get(2) == Some(&"key") {
                key.push(index);
            }
            let typmod = if scalar == ScalarType::Bpchar { 7 } else { -1 };
            let ty = ColumnType { scalar, typmod, nullable: words.len() == 2 };
            ColumnDesc { name: words[0].to_owned(), ty }
        })
        .collect();
    let defaults = vec![None; columns.len()];
    let keys = if key.is_empty() { vec![] } else { vec![key.clone()] };
    let primary_key =
        (!key.is_empty()).then(|| PrimaryKey { columns: key, name: format!("{name}_pkey") });
    let desc = RelationDesc { columns, keys };
    let kind = ItemKind::Table(Table { desc, defaults, primary_key, retain_ms: None });
    Item { id, schema: "public".to_owned(), name: name.to_owned(), kind }
}

/// Binds the one statement of a text.
pub fn bound(catalog: &Catalog, text: &str) -> Result<Statement> {
    let path = ["pg_catalog", "weir_catalog", "public"].map(str::to_owned);
    let settings = FormatSettings::default();
    let mut params = vec![];
    let mut cx = BindContext {
        catalog,
        search_path: &path,
        settings: &settings,
        now: 1_700_000_000_000_000_000,
        current_user: "postgres",
        database: "postgres",
        rules: &SessionRules::default(),
        variables: &|_| None,
        param_types: &mut params,
    };
    let parsed = parse(text)?;
    bind(&parsed[0], &mut cx)
}

/// The answer in the form of the golden file.
fn answer(catalog: &Catalog, tables: &BTreeMap<GlobalId, Rows>, text: &str) -> Result<String> {
    let Statement::Select(select) = bound(catalog, text)? else { panic!("not a query: {text}") };
    let typ = select.relation.typ();
    let types = typ.scalars();
    let desc_types: Vec<_> = select.desc.columns.iter().map(|c| c.ty.scalar).collect();
    let projected: Vec<_> = select.finishing.project.iter().map(|&c| types[c]).collect();
    assert_eq!(desc_types, projected, "{text}: the shape is not that of the relation");
    let mut interpreter = Interpreter::new(tables.clone());
    let rows = interpreter.rows(&select.relation).map_err(Error::from)?;
    let mut list: Vec<Row> = vec![];
    for (row, count) in rows {
        assert!(count > 0, "{text}: a negative count came out");
        let mut datums = vec![];
        decode_values(&types, row.bytes(), &mut datums);
        for (datum, column) in datums.iter().zip(&typ.columns) {
            assert!(column.nullable || !datum.is_null(), "{text}: NULL where none may be");
        }
        for (&column, described) in select.finishing.project.iter().zip(&select.desc.columns) {
            assert!(described.ty.nullable || !datums[column].is_null(), "{text}: desc lies");
        }
        list.extend((0..count).map(|_| row.clone()));
    }
    let order = &select.finishing.order_by;
    list.sort_by(|a, b| compare_rows(&types, order, a, b));
    let count = |expr: &Option<crate::expr::scalar::Expr>| match expr.as_ref()?.as_literal() {
        Some(Datum::Int8(count)) => Some(count as usize),
        _ => None,
    };
    let offset = count(&select.finishing.offset).unwrap_or(0);
    let limit = count(&select.finishing.limit).unwrap_or(usize::MAX);
    let mut lines: Vec<String> = vec![];
    for row in list.into_iter().skip(offset).take(limit) {
        let mut datums = vec![];
        decode_values(&types, row.bytes(), &mut datums);
        let mut fields = vec![];
        for &column in &select.finishing.project {
            let mut text = String::new();
            match datums[column] {
                Datum::Null => text.push_str("NULL"),
                datum => format_text(&datum, types[column], &FormatSettings::default(), &mut text),
            }
            fields.push(text);
        }
        lines.push(fields.join("|"));
    }
    if order.is_empty() {
        lines.sort();
    }
    let names = select.desc.columns.iter();
    let header = names.map(|c| format!("{}:{}", c.name, c.ty.scalar.display_name()));
    Ok(std::iter::once(header.collect::<Vec<_>>().join("|"))
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n"))
}

#[test]
fn answers_are_those_of_postgresql() {
    let (catalog, tables) = fixture();
    let mut wrong = vec![];
    for case in include_str!("queries.golden").split("\n\n") {
        let Some((query, expected)) = case.trim().split_once("\n----\n") else { continue };
        let found = match answer(&catalog, &tables, query) {
            Ok(answer) => answer,
            Err(error) => {
                let hint = error.hint.map(|hint| format!("\nHINT: {hint}")).unwrap_or_default();
                format!("ERROR {}: {}{hint}", error.code, error.message)
            }
        };
        if found.trim_end() != expected.trim_end() {
            wrong.push(format!("{query}\n-- expected\n{expected}\n-- found\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Drops a statement where there is room for it.
fn dropped(statement: Result<Statement>) -> Result<()> {
    let statement = statement?;
    crate::sql::stack::large(move || drop(statement));
    Ok(())
}

#[test]
fn deep_expressions_are_bound_or_refused() {
    let run = || {
        let (catalog, _) = fixture();
        let chain = |n: usize| format!("select a{} from t", " + 1".repeat(n));
        dropped(bound(&catalog, &chain(1_000))).unwrap();
        assert_eq!(dropped(bound(&catalog, &chain(50_000))).unwrap_err().code.as_str(), "54001");
        let ands = format!("select a from t where a = 1{}", " and a = 1".repeat(20_000));
        dropped(bound(&catalog, &ands)).unwrap();
        let nested = format!("select {}a{} from t", "(".repeat(1_000), ")".repeat(1_000));
        dropped(bound(&catalog, &nested)).unwrap();
        let list = vec!["1"; 20_000].join(", ");
        dropped(bound(&catalog, &format!("select a from t where a in ({list})"))).unwrap();
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn faults_have_their_places() {
    let (catalog, _) = fixture();
    let position = |text: &str| bound(&catalog, text).unwrap_err().position;
    assert_eq!(position("select nosuch from t"), Some(8));
    assert_eq!(position("select a\n, t.nosuch from t"), Some(12));
    assert_eq!(position("select 1 from nosuch"), Some(15));
    assert_eq!(position("select a + b from t"), Some(10));
    assert_eq!(position("select 1 + 'x'"), Some(12));
    assert_eq!(position("select nosuch(a) from t"), Some(8));
    assert_eq!(position("select b, count(*) from t group by a"), Some(8));
    assert_eq!(position("select id from t order by 3"), Some(27));
}

#[test]
fn parameters_get_types_from_their_surroundings() {
    let (catalog, _) = fixture();
    let types = |text: &str| -> Result<Vec<Option<ScalarType>>> {
        let path = ["pg_catalog", "weir_catalog", "public"].map(str::to_owned);
        let settings = FormatSettings::default();
        let mut params = vec![];
        let mut cx = BindContext {
            catalog: &catalog,
            search_path: &path,
            settings: &settings,
            now: 0,
            current_user: "postgres",
            database: "postgres",
            rules: &SessionRules::default(),
            variables: &|_| None,
            param_types: &mut params,
        };
        bind(&parse(text)?[0], &mut cx)?;
        Ok(params)
    };
    use ScalarType::{Int4, Int8, Numeric, Text};
    let found = types("select $1, a + $2, $3::int8 from t where n = $4 limit $5").unwrap();
    assert_eq!(found, [Text, Int4, Int8, Numeric, Int8].map(Some));
    let found = types("select 1 from t where b = $1 and $1 = b").unwrap();
    assert_eq!(found, [Text].map(Some));
    assert_eq!(types("select $2::int4").unwrap_err().code.as_str(), "42P18");
}

/// The text that a view keeps.
fn kept(catalog: &Catalog, query: &str) -> String {
    match bound(catalog, &format!("create materialized view v as {query}")).unwrap() {
        Statement::CreateView(view) => view.text,
        other => panic!("not a view: {other:?}"),
    }
}

#[test]
fn views_keep_a_text_that_means_the_same() {
    let (catalog, _) = fixture();
    let of = |query| kept(&catalog, query);
    assert_eq!(
        of("select *, 'ü;*' from d where k > 1 -- *"),
        r#"select "d"."k", "d"."x", 'ü;*' from "public"."d" where k > 1"#
    );
    assert_eq!(
        of("select x.*, count(*) from d AS x group by k, x"),
        r#"select "x"."k", "x"."x", count(*) from "public"."d" AS x group by k, x"#
    );
    assert_eq!(
        of("with d as (select * from d) select * from d join e using (k)"),
        "with d as (select \"d\".\"k\", \"d\".\"x\" from \"public\".\"d\") \
         select \"k\", \"d\".\"x\", \"e\".\"y\" from d join \"public\".\"e\" using (k)"
    );
    assert_eq!(of("table d"), r#"table "public"."d""#);
    assert_eq!(
        of("select count(*) from (select * from (select 1 as a, 2 as a) s) r"),
        "select count(*) from (select * from (select 1 as a, 2 as a) s) r"
    );
    for volatile in ["select current_user", "select random()"] {
        let error = bound(&catalog, &format!("create materialized view v as {volatile}"));
        assert_eq!(error.unwrap_err().code.as_str(), "0A000", "{volatile}");
    }
}

#[test]
fn what_is_not_there_says_so() {
    let (catalog, _) = fixture();
    for query in [
        "select generate_series(1, 3) as g group by g",
        "select u from t left join (select nullif(1, id) as a from t) u on true",
        "select id from t for update",
        "select id from t tablesample system (1)",
        "explain analyze insert into t values (1)",
    ] {
        let error = bound(&catalog, query).unwrap_err();
        assert_eq!(error.code.as_str(), "0A000", "{query}: {}", error.message);
        assert!(error.hint.is_some(), "{query}");
    }
}

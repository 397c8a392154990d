//! The declarations of the system relations: read once from their files.
//!
//! Invariant: ids and names are unique, and the files are well formed; a test reads them all.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::catalog::item::{Item, ItemKind, RowSource, System, View};
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc, ScalarType};

/// The files, each with its schema.
const FILES: &[(&str, &str)] = &[
    ("pg_catalog", include_str!("pg_catalog.txt")),
    ("pg_catalog", include_str!("pg_catalog_views.txt")),
    ("weir_catalog", include_str!("weir_catalog.txt")),
    ("weir_catalog", include_str!("weir_introspection.txt")),
    ("information_schema", include_str!("information_schema.txt")),
];

/// Types that Weir does not have yet, and what stands for them.
const STAND_INS: &[(&str, ScalarType)] =
    &[("pg_node_tree", ScalarType::Text), ("pg_lsn", ScalarType::Text)];

/// Array types that Weir does not have yet, and the elements of what stands for them.
const ARRAY_STAND_INS: &[(&str, ScalarType)] = &[
    ("_aclitem", ScalarType::Text),
    ("int2vector", ScalarType::Int2),
    ("oidvector", ScalarType::Oid),
];

/// All system relations.
struct Declared {
    items: Vec<Arc<Item>>,
    by_id: HashMap<GlobalId, Arc<Item>>,
    by_name: HashMap<&'static str, HashMap<&'static str, Arc<Item>>>,
}

fn declared() -> &'static Declared {
    static DECLARED: OnceLock<Declared> = OnceLock::new();
    DECLARED.get_or_init(|| {
        let mut all = Declared { items: vec![], by_id: HashMap::new(), by_name: HashMap::new() };
        for (schema, text) in FILES {
            for block in text.split("\n\n") {
                let Some((name, item)) = read(schema, block) else { continue };
                let item = Arc::new(item);
                all.by_id.insert(item.id, item.clone());
                all.by_name.entry(schema).or_default().insert(name, item.clone());
                all.items.push(item);
            }
        }
        all
    })
}

/// All of them, by file.
pub fn items() -> impl Iterator<Item = &'static Arc<Item>> {
    declared().items.iter()
}

/// The one of that id.
pub fn get(id: GlobalId) -> Option<&'static Arc<Item>> {
    declared().by_id.get(&id)
}

/// The one of that name.
pub fn by_name(schema: &str, name: &str) -> Option<&'static Arc<Item>> {
    declared().by_name.get(schema)?.get(name)
}

/// One declaration; none where the block has only comments.
fn read(schema: &str, block: &'static str) -> Option<(&'static str, Item)> {
    let mut lines = block.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let words: Vec<&str> = lines.next()?.split_whitespace().collect();
    let &[kind, name, id, ref rest @ ..] = words.as_slice() else { return None };
    let (mut columns, mut text) = (Vec::new(), Vec::new());
    for line in lines {
        match line.strip_prefix('=') {
            Some(query) => text.push(query.trim()),
            None => columns.push(column(line)),
        }
    }
    let position = |name: &str| columns.iter().position(|c: &ColumnDesc| c.name == name);
    let key: Vec<usize> =
        rest.first().into_iter().flat_map(|key| key.split(',')).filter_map(position).collect();
    let keys = if key.is_empty() { vec![] } else { vec![key.clone()] };
    let desc = RelationDesc { columns, keys };
    let kind = match kind {
        "view" => ItemKind::View(View {
            desc,
            materialized: false,
            text: text.join("\n"),
            depends_on: vec![],
            settings: FormatSettings::default(),
            retain_ms: None,
        }),
        "fed" => ItemKind::System(System { desc, key, source: RowSource::Fed }),
        "session" => ItemKind::System(System { desc, key, source: RowSource::Session }),
        "constant" => ItemKind::System(System { desc, key, source: RowSource::Constant }),
        _ => ItemKind::System(System { desc, key, source: RowSource::Empty }),
    };
    let id = GlobalId(id.parse().ok()?);
    Some((name, Item { id, schema: schema.to_owned(), name: name.to_owned(), kind }))
}

fn column(line: &str) -> ColumnDesc {
    let (name, ty) = line.trim().split_once(' ').unwrap_or((line.trim(), "text"));
    let nullable = !ty.ends_with('!');
    let scalar = scalar(ty.trim_end_matches('!')).unwrap_or(ScalarType::Text);
    ColumnDesc {
        name: name.to_owned(),
        ty: ColumnType { nullable, ..ColumnType::nullable(scalar) },
    }
}

fn scalar(name: &str) -> Option<ScalarType> {
    let find = |table: &[(&str, ScalarType)]| {
        table.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar)
    };
    ScalarType::ALL
        .into_iter()
        .find(|scalar| scalar.name() == name)
        .or_else(|| find(STAND_INS))
        .or_else(|| find(ARRAY_STAND_INS)?.array())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_well_formed() {
        let lines = FILES.iter().flat_map(|(_, text)| text.lines());
        for line in lines.filter(|line| line.starts_with("  ")) {
            let (_, ty) = line.trim().split_once(' ').expect(line);
            assert!(scalar(ty.trim_end_matches('!')).is_some(), "{line}");
        }
        let words = ["fed ", "constant ", "empty ", "session ", "view "];
        let heads = FILES.iter().flat_map(|(_, text)| text.lines());
        let heads: Vec<_> =
            heads.filter(|line| words.iter().any(|w| line.starts_with(w))).collect();
        assert_eq!(items().count(), heads.len());
        assert_eq!(declared().by_id.len(), heads.len(), "ids are unique");
        assert_eq!(declared().by_name.values().map(HashMap::len).sum::<usize>(), heads.len());
        for item in items() {
            assert!(item.id < GlobalId::FIRST_USER, "{}", item.name);
            assert!(item.desc().is_some_and(|desc| desc.arity() > 0), "{}", item.name);
        }
    }
}

//! Which module may import which, and which crates stay behind which fence.

use crate::Faults;
use crate::source::Source;

use regex::Regex;

/// A module's row: what it may import. `error` is open to all; `*` is everything; `module::part`
/// opens only that part.
const FLOORS: &[(&str, &[&str])] = &[
    ("main", &["*"]),
    ("config", &["*"]),
    ("commands", &["*"]),
    ("lib", &["*"]),
    ("server", &["session", "repr"]),
    (
        "session",
        &["coord", "sql", "datalog", "optimizer", "plan", "catalog", "expr", "profile", "repr"],
    ),
    (
        "coord",
        &[
            "cluster",
            // Commands and responses, and the threads that take them until `cluster` exists.
            "dataflow::command",
            "dataflow::worker",
            "storage",
            "sources",
            "sinks",
            "catalog",
            "profile",
            "plan",
            "expr",
            "repr",
        ],
    ),
    ("cluster", &["dataflow::command", "repr"]),
    ("sql", &["plan", "expr", "catalog", "repr"]),
    ("datalog", &["plan", "expr", "catalog", "repr"]),
    ("optimizer", &["plan", "expr", "repr"]),
    ("dataflow", &["plan", "expr", "profile", "repr"]),
    ("storage", &["repr"]),
    ("sinks", &["repr"]),
    ("sources", &["repr", "profile"]),
    ("plan", &["expr", "repr"]),
    ("expr", &["repr"]),
    ("catalog", &["repr"]),
    ("profile", &["repr"]),
    ("repr", &[]),
    ("error", &[]),
];

/// A crate, and where alone it may be named.
const FENCES: &[(&str, &[&str])] = &[
    ("timely", &["dataflow", "profile"]),
    ("differential_dataflow", &["dataflow", "profile"]),
    ("sqlparser", &["sql"]),
    ("pgwire", &["server"]),
    ("sled", &["storage"]),
    ("tokio", ASYNC),
    ("tokio_util", ASYNC),
];

const ASYNC: &[&str] =
    &["server", "session", "coord", "sources", "sinks", "cluster", "commands", "main"];

/// Fails imports of a higher or a neighbouring floor, and crates outside their fence.
pub fn check(source: &Source, faults: &mut Faults<'_>) {
    if !source.path.starts_with("src/") {
        return;
    }
    let module = source.module();
    let Some((_, row)) = FLOORS.iter().find(|(name, _)| *name == module) else {
        return faults.add("floor", 1, format!("{module} has no row in the table of floors"));
    };
    for (offset, path) in crate_paths(source) {
        let target = path.split("::").next().unwrap_or(&path);
        let own = target == module || target == "error" || row.contains(&"*");
        let open = |entry: &&str| path == **entry || path.starts_with(&format!("{entry}::"));
        let floor = FLOORS.iter().any(|(name, _)| *name == target);
        if floor && !own && !row.iter().any(open) {
            faults.add("floor", source.line_of(offset), format!("{module} names crate::{path}"));
        }
    }
    climbs(source, faults);
    fences(source, module, faults);
}

/// Every path that starts at the crate, with groups taken apart to two segments.
fn crate_paths(source: &Source) -> Vec<(usize, String)> {
    let code = source.product_code();
    let start = Regex::new(r"\b(?:crate|weir)::(\{|\w+(?:::(?:\{|\w+))?)").unwrap();
    let mut paths = Vec::new();
    for found in start.captures_iter(code) {
        let (offset, text) = (found.get(0).unwrap().start(), &found[1]);
        match text.strip_suffix('{') {
            None => paths.push((offset, text.to_string())),
            Some(prefix) => {
                let rest = &code[found.get(0).unwrap().end()..];
                let members = group(rest).into_iter().map(|member| format!("{prefix}{member}"));
                paths.extend(members.map(|path| (offset, path)));
            }
        }
    }
    paths
}

/// The members of a brace group (after its opening brace), by their first two segments.
fn group(rest: &str) -> Vec<String> {
    let mut members = vec![String::new()];
    let mut depth = 0;
    for c in rest.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => members.push(String::new()),
            c if depth == 0 && !c.is_whitespace() => members.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

/// `super` that leaves the top-level module would go round the table.
fn climbs(source: &Source, faults: &mut Faults<'_>) {
    let supers = Regex::new(r"\bsuper::(?:super::)*").unwrap();
    for found in supers.find_iter(source.product_code()) {
        let steps = found.as_str().matches("super").count();
        if source.module() != "lib" && steps >= source.depth() {
            faults.add("floor", source.line_of(found.start()), "super leaves the module");
        }
    }
}

fn fences(source: &Source, module: &str, faults: &mut Faults<'_>) {
    for (number, line) in source.product_lines() {
        for (name, homes) in FENCES {
            if !homes.contains(&module) && names_crate(line, name) {
                faults.add("fence", number, format!("{name} in {module}"));
            }
        }
        // Inside `server` only the codec's neighbours speak pgwire.
        let inside = source.path.starts_with("src/server/pgwire/");
        if module == "server" && !inside && line.trim_start().starts_with("use pgwire::") {
            faults.add("fence", number, "pgwire outside server/pgwire");
        }
    }
}

/// Whether a line has a path that starts with a crate's name.
fn names_crate(line: &str, name: &str) -> bool {
    let start = format!("{name}::");
    line.match_indices(&start).any(|(offset, _)| {
        let before = &line[..offset];
        let inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let path = before.ends_with("::") && !before.ends_with(" ::");
        !inside && !path
    }) || line.contains(&format!("extern crate {name}"))
}

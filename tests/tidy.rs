//! The house rules, as a test: floors, crate fences, sizes and names.
//!
//! Reads the sources as text. It is no compiler: what it cannot see (a path built by a macro, a
//! re-export that smuggles a type to another floor) is for the reader. Limits only go down; an
//! exception is a row of [`EXCEPTIONS`] with its reason, and one that no longer applies fails.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "tidy/floors.rs"]
mod floors;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/source.rs"]
mod source;

use std::path::Path;

use regex::Regex;

use source::Source;

/// Longest file, in lines before its tests.
const FILE_LINES_MAX: usize = 800;
/// Longest line, in characters.
const LINE_COLUMNS_MAX: usize = 100;

/// What is let through: the rule, the path, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("seek_val", "src/dataflow/arrangement/batch.rs", "the cursor of one batch, where it is right"),
    ("seek_val", "src/dataflow/arrangement/entered.rs", "the cursor of one batch, entered"),
    ("seek_val", "src/dataflow/render/window.rs", "moves the cursors of single batches"),
    ("seek_val", "src/dataflow/render/moving.rs", "moves the cursors of single batches"),
    ("function length", "src/dataflow/render/tests/oracle.rs", "one arm a kind of node"),
];

/// A broken rule.
pub struct Fault {
    rule: &'static str,
    path: String,
    line: usize,
    what: String,
}

/// What collects the faults of one file.
pub struct Faults<'a> {
    source: &'a Source,
    found: &'a mut Vec<Fault>,
}

impl Faults<'_> {
    fn add(&mut self, rule: &'static str, line: usize, what: impl Into<String>) {
        self.found.push(Fault { rule, path: self.source.path.clone(), line, what: what.into() });
    }
}

#[test]
fn house_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = source::read_all(root);
    assert!(sources.len() > 50, "found only {} sources", sources.len());
    let mut found = Vec::new();
    for source in &sources {
        let mut faults = Faults { source, found: &mut found };
        sizes(source, &mut faults);
        opening(source, &mut faults);
        names(source, &mut faults);
        words(source, &mut faults);
        title_pages(source, &mut faults);
        functions::check(source, &mut faults);
        floors::check(source, &mut faults);
    }
    let excepted =
        |fault: &Fault| EXCEPTIONS.iter().position(|e| e.0 == fault.rule && e.1 == fault.path);
    let mut lines: Vec<String> = EXCEPTIONS
        .iter()
        .enumerate()
        .filter(|(index, _)| !found.iter().any(|fault| excepted(fault) == Some(*index)))
        .map(|(_, (rule, path, _))| format!("{path}: no longer an exception to {rule}"))
        .collect();
    found.retain(|fault| excepted(fault).is_none());
    let line = |f: &Fault| format!("{}:{}: {}: {}", f.path, f.line, f.rule, f.what);
    lines.extend(found.iter().map(line));
    assert!(lines.is_empty(), "{} broken house rules:\n{}", lines.len(), lines.join("\n"));
}

fn sizes(source: &Source, faults: &mut Faults<'_>) {
    if source.code_lines > FILE_LINES_MAX {
        let what = format!("{} lines, {FILE_LINES_MAX} allowed", source.code_lines);
        faults.add("file length", FILE_LINES_MAX, what);
    }
    for (index, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            faults.add("line length", index + 1, format!("{columns} columns"));
        }
    }
}

fn opening(source: &Source, faults: &mut Faults<'_>) {
    if !source.text.starts_with("//!") {
        faults.add("opening", 1, "the file does not open with //!");
    }
}

fn names(source: &Source, faults: &mut Faults<'_>) {
    const VAGUE: [&str; 4] = ["utils", "common", "helpers", "misc"];
    for part in source.path.split('/') {
        let part = part.trim_end_matches(".rs");
        let vague = VAGUE.iter().any(|word| part == *word || part == word.trim_end_matches('s'));
        let stale = ["_v2", "_new", "_old"].iter().any(|suffix| part.ends_with(suffix));
        if vague || stale {
            faults.add("name", 1, format!("a module called {part}"));
        }
    }
    let pattern = r"\b(?:fn|struct|enum|trait|mod|type) (\w+(?:_v2|_new|_old|V2|Old))\b";
    let stale = Regex::new(pattern).unwrap();
    for (number, line) in source.product_lines() {
        if let Some(found) = stale.captures(line) {
            faults.add("name", number, format!("an item called {}", &found[1]));
        }
    }
}

/// Words that do not belong in code: everywhere, or outside tests.
fn words(source: &Source, faults: &mut Faults<'_>) {
    if source.path.starts_with("tests/tidy") {
        return;
    }
    for (index, line) in source.code.lines().enumerate() {
        for word in ["#[ignore", "dbg!(", "todo!(", "unimplemented!("] {
            if line.contains(word) {
                faults.add("word", index + 1, word);
            }
        }
    }
    for (number, line) in source.product_lines() {
        for word in [".unwrap()", ".unwrap_err()"] {
            if line.contains(word) {
                faults.add("word", number, format!("{word} outside tests"));
            }
        }
        if line.contains("seek_val(") {
            faults.add("seek_val", number, "wrong over several batches: walk with step_val");
        }
        if line.trim_start().starts_with("use super::*") {
            faults.add("word", number, "use super::* outside tests");
        }
    }
    let promise = Regex::new(r"\b(?:TODO|FIXME|XXX|HACK)\b").unwrap();
    let numbered = Regex::new(r"\b(?:TODO|FIXME)\(#\d+\)").unwrap();
    for (index, line) in source.text.lines().enumerate() {
        if promise.is_match(line) && !numbered.is_match(line) {
            faults.add("word", index + 1, "a promise without an issue number");
        }
    }
}

/// `mod.rs` and `lib.rs` say what there is; they do nothing.
fn title_pages(source: &Source, faults: &mut Faults<'_>) {
    if !source.path.ends_with("/mod.rs") && source.path != "src/lib.rs" {
        return;
    }
    let logic = Regex::new(r"\bfn \w+|^\s*impl\b|\bmacro_rules!|^\s*(?:struct|enum) ").unwrap();
    for (number, line) in source.product_lines() {
        if logic.is_match(line) {
            faults.add("title page", number, line.trim());
        }
    }
}

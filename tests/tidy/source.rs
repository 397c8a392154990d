//! A source file as the house rules see it: its lines, and its code with everything blanked out
//! that only looks like code (comments, the insides of strings and characters).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// One file.
pub struct Source {
    /// Its path below the package, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its text with comments and the insides of literals replaced by blanks; same lines.
    pub code: String,
    /// How many of its lines come before the tests beside the code.
    pub code_lines: usize,
    /// Whether the whole file is test code.
    pub is_test: bool,
}

impl Source {
    /// The top-level module that it belongs to (`main` and `lib` are modules here).
    pub fn module(&self) -> &str {
        let inner = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
    }

    /// Its code lines before the tests, numbered from one.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let count = if self.is_test { 0 } else { self.code_lines };
        self.code.lines().take(count).enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The code before the tests.
    pub fn product_code(&self) -> &str {
        if self.is_test {
            return "";
        }
        let end = self.code.split_inclusive('\n').take(self.code_lines).map(str::len).sum();
        &self.code[..end]
    }

    /// The line (from one) of a byte of the code.
    pub fn line_of(&self, offset: usize) -> usize {
        self.code[..offset].matches('\n').count() + 1
    }

    /// How deep below `src/` it is: `src/expr/mod.rs` and `src/error.rs` are at 1.
    pub fn depth(&self) -> usize {
        let parts = self.path.matches('/').count();
        if self.path.ends_with("/mod.rs") { parts - 1 } else { parts }
    }
}

/// Reads all Rust files of the package.
pub fn read_all(root: &Path) -> Vec<Source> {
    let mut paths = Vec::new();
    for folder in ["src", "tests", "benches"] {
        walk(&root.join(folder), &mut paths);
    }
    paths.sort();
    let mut sources: Vec<Source> = paths.iter().map(|path| read(root, path)).collect();
    let test_modules: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        let below = |module: &String| {
            source.path == format!("{module}.rs") || source.path.starts_with(&format!("{module}/"))
        };
        source.is_test |= test_modules.iter().any(below);
    }
    sources
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn read(root: &Path, path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let code = mask(&text);
    let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    let tests = Regex::new(r"(?m)^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub(?:\(.*\))? )?mod \w+ \{");
    let code_lines = match tests.unwrap().find(&code) {
        Some(found) => code[..found.start()].matches('\n').count(),
        None => text.lines().count(),
    };
    let is_test = path.starts_with("tests/");
    Source { path, text, code, code_lines, is_test }
}

/// The paths, without `.rs`, of the modules that a file declares for tests alone.
fn test_modules(source: &Source) -> Vec<String> {
    let pattern = r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([a-z]+\))? )?mod (\w+);";
    let folder = match source.path.strip_suffix("/mod.rs") {
        Some(folder) => folder.to_string(),
        None => source.path.trim_end_matches(".rs").to_string(),
    };
    let folder = if folder == "src/lib" { "src".to_string() } else { folder };
    Regex::new(pattern)
        .unwrap()
        .captures_iter(&source.code)
        .map(|found| format!("{folder}/{}", &found[1]))
        .collect()
}

/// Blanks comments and the insides of literals.
fn mask(text: &str) -> String {
    let literals = concat!(
        r##"(?s)//[^\n]*|/\*.*?\*/|b?r#"(?:.*?)"#|b?r"[^"]*"|b?"(?:\\.|[^"\\])*""##,
        r#"|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n])'"#,
    );
    let blank = |found: &regex::Captures<'_>| {
        found[0].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect::<String>()
    };
    Regex::new(literals).unwrap().replace_all(text, blank).into_owned()
}

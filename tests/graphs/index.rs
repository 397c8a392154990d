//! Debian's package index, as far as it tells who depends on whom.
//!
//! Versions of dependencies are passed over: what is asked for is the name.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::process::Command;

/// A package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Whether it must be there even to unpack this one, and what would each do.
    pub depends: Vec<(bool, Vec<String>)>,
    pub provides: Vec<String>,
}

/// Packages by name.
pub type Packages = BTreeMap<String, Package>;

/// The newest release, and what has been upgraded since; none where no index is there.
pub fn read() -> Option<(Packages, Packages)> {
    let lists = std::fs::read_dir("/var/lib/apt/lists").ok()?;
    let paths: Vec<PathBuf> = lists.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let of = |wanted: &dyn Fn(&str) -> bool| -> Packages {
        let is_index = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let debian = name.contains("debian") && name.contains("_main_binary-");
            debian && name.contains("_Packages") && wanted(&name)
        };
        paths.iter().filter(is_index).flat_map(|path| parsed(&text(path))).collect()
    };
    let later = |name: &str| name.contains("security") || name.contains("-updates");
    let (base, upgrades) = (of(&|name| !later(name)), of(&later));
    (!base.is_empty()).then_some((base, upgrades))
}

/// The text of an index, however it is packed.
fn text(path: &PathBuf) -> String {
    let output = Command::new("/usr/lib/apt/apt-helper").arg("cat-file").arg(path).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn parsed(text: &str) -> Vec<(String, Package)> {
    let package = |stanza: &str| {
        let mut package = Package::default();
        for (field, value) in stanza.lines().filter_map(|line| line.split_once(": ")) {
            match field {
                "Package" => package.name = value.to_owned(),
                "Version" => package.version = value.to_owned(),
                "Depends" => package.depends.extend(clauses(value).map(|clause| (false, clause))),
                "Pre-Depends" => {
                    package.depends.extend(clauses(value).map(|clause| (true, clause)));
                }
                "Provides" => package.provides = clauses(value).flatten().collect(),
                _ => {}
            }
        }
        (package.name.clone(), package)
    };
    text.split("\n\n").filter(|stanza| stanza.contains("Package: ")).map(package).collect()
}

/// `a (>= 1) | b, c:any`, without versions and architectures.
fn clauses(text: &str) -> impl Iterator<Item = Vec<String>> {
    let name = |word: &str| {
        let end = word.trim().find([' ', '(', ':', '[']).unwrap_or(word.trim().len());
        word.trim()[..end].to_owned()
    };
    text.split(',').map(move |clause| clause.split('|').map(name).collect())
}

/// So many of the packages, with what they depend on as far as there is room.
pub fn some_of(all: &Packages, count: usize) -> Packages {
    let mut chosen = BTreeSet::new();
    let roots: Vec<&String> = all.keys().step_by((all.len() / 40).max(1)).collect();
    let mut queue: VecDeque<&String> = roots.into();
    while let Some(name) = queue.pop_front()
        && chosen.len() < count
    {
        if let Some(package) = all.get(name).filter(|_| chosen.insert(name)) {
            queue.extend(package.depends.iter().flat_map(|(_, clause)| clause));
        }
    }
    chosen.into_iter().map(|name| (name.clone(), all[name].clone())).collect()
}

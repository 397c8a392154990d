//! Rounds: each program in turn on each workload, and what comes of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::calibration::Calibration;
use crate::figures::Figures;
use crate::graphs::Workload;

/// A bound for a figure of ours, or for its ratio to that of another program.
struct Target {
    figure: &'static str,
    ratio_to: Option<&'static str>,
    at_most: f64,
    /// Workloads that have it.
    of: &'static [&'static str],
}

const RECURSIONS: &[&str] = &["closure", "reach"];

/// What is to be reached.
const TARGETS: &[Target] = &[
    Target { figure: "load_s", ratio_to: Some("by-hand"), at_most: 2.0, of: RECURSIONS },
    Target { figure: "change_1_p50_us", ratio_to: Some("by-hand"), at_most: 2.0, of: RECURSIONS },
    Target { figure: "change_10_p50_us", ratio_to: Some("by-hand"), at_most: 2.5, of: RECURSIONS },
    Target { figure: "change_100_p50_us", ratio_to: Some("by-hand"), at_most: 2.5, of: RECURSIONS },
    Target {
        figure: "change_1000_p50_us",
        ratio_to: Some("by-hand"),
        at_most: 2.5,
        of: RECURSIONS,
    },
    Target { figure: "live_mb", ratio_to: Some("by-hand"), at_most: 2.0, of: RECURSIONS },
    Target { figure: "change_1_p50_us", ratio_to: Some("flowlog"), at_most: 1.0, of: RECURSIONS },
    Target { figure: "load_s", ratio_to: None, at_most: 1.0, of: &["triangles"] },
    Target { figure: "change_1_p50_us", ratio_to: None, at_most: 620.0, of: &["triangles"] },
];

/// By workload, program and figure: one value a round.
type Summary = BTreeMap<(String, String, String), Vec<f64>>;

/// The rounds of a run.
pub struct Rounds {
    scale: f64,
    reference: Option<PathBuf>,
    /// The program that has other engines, and their names.
    peers: Option<(PathBuf, Vec<String>)>,
    summary: Summary,
    standing: usize,
    run: usize,
    failed: usize,
}

impl Rounds {
    /// No round yet.
    pub fn new(scale: f64, reference: Option<PathBuf>) -> Rounds {
        let summary = Summary::new();
        Rounds { scale, reference, peers: None, summary, standing: 0, run: 0, failed: 0 }
    }

    /// Other engines take part, too.
    pub fn add_peers(&mut self, path: &Path) {
        let names = self.output(path, &["--engines".to_owned()]);
        let names = names.lines().map(str::to_owned).collect();
        self.peers = Some((path.to_owned(), names));
    }

    /// How many rounds stand.
    pub fn standing(&self) -> usize {
        self.standing
    }

    /// Runs a round. With `keep`, it stands whatever the machine did.
    pub fn run_one(&mut self, workloads: &[&Workload], keep: bool) {
        self.run += 1;
        let before = Calibration::measure();
        let mut found = Vec::new();
        for workload in workloads {
            let mut programs = vec!["by-hand".to_owned(), "ours".to_owned()];
            if self.reference.is_some() && workload.reference.is_some() {
                programs.insert(1, "reference".to_owned());
            }
            programs.extend(self.peers.iter().flat_map(|(_, names)| names.clone()));
            // Who comes first has the cooler machine.
            if self.run.is_multiple_of(2) {
                programs.reverse();
            }
            for program in programs {
                let figures = self.figures(&program, workload);
                found.push((workload.name, program, figures));
            }
        }
        let moved = before.moved(&Calibration::measure());
        if !moved.is_empty() && !keep {
            println!("round {} is void: {} moved by half", self.run, moved.join(", "));
            return;
        }
        println!("round {} stands", self.run);
        self.standing += 1;
        self.check(&found);
        for (workload, program, figures) in found {
            for (figure, value) in figures.0 {
                let at = (workload.to_owned(), program.clone(), figure);
                self.summary.entry(at).or_default().push(value);
            }
        }
    }

    /// Whether all programs have derived the same.
    fn check(&mut self, found: &[(&str, String, Figures)]) {
        for (workload, program, figures) in found {
            let by_hand = found.iter().find(|(w, p, _)| w == workload && p == "by-hand");
            for figure in ["rows", "check"] {
                let same = by_hand.is_none_or(|(_, _, of)| of.get(figure) == figures.get(figure));
                if !same && figures.get(figure).is_some() {
                    println!("{workload}: {program} has derived other rows ({figure})");
                    self.failed += 1;
                }
            }
        }
    }

    fn figures(&mut self, program: &str, workload: &Workload) -> Figures {
        if program == "reference"
            && let Some(path) = self.reference.clone()
        {
            let Workload { nodes, rows, reference, .. } = workload.scaled(self.scale);
            let name = reference.unwrap_or_default().to_owned();
            return self.of_reference(&path, [name, nodes.to_string(), rows.to_string()]);
        }
        let path = match &self.peers {
            Some((path, names)) if names.iter().any(|name| name == program) => path.clone(),
            _ => std::env::current_exe().expect("this program has a path"),
        };
        let scale = self.scale.to_string();
        let args = ["--measure", program, workload.name, &scale].map(str::to_owned);
        Figures::read(&self.output(&path, &args))
    }

    fn output(&mut self, path: &Path, args: &[String]) -> String {
        let output = Command::new(path).args(args).output();
        let output = output.unwrap_or_else(|e| panic!("cannot run {}: {e}", path.display()));
        if !output.status.success() {
            self.failed += 1;
            println!("{args:?} FAILED: {}", String::from_utf8_lossy(&output.stderr));
        }
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Reads the other program's one line:
    /// `… load X s (cpu Y), out N, live M MB | [1: p50 P p99 …, cpu C us/round] …`.
    fn of_reference(&mut self, path: &Path, args: [String; 3]) -> Figures {
        let text = self.output(path, &args);
        let after = |text: &str, mark: &str| -> Option<f64> {
            let word = text.split_once(mark)?.1.split([' ', ',', ')']).next()?;
            word.parse().ok()
        };
        let mut figures = Figures::default();
        let mut add = |name: String, text: &str, mark: &str| {
            if let Some(value) = after(text, mark) {
                figures.add(name, value);
            }
        };
        add("load_s".into(), &text, "load ");
        add("load_cpu_s".into(), &text, "(cpu ");
        add("live_mb".into(), &text, "live ");
        for size in [1, 10, 100] {
            if let Some((_, part)) = text.split_once(&format!("[{size}: ")) {
                add(format!("change_{size}_p50_us"), part, "p50 ");
                add(format!("change_{size}_cpu_us"), part, "cpu ");
            }
        }
        figures
    }

    /// Prints medians and ratios, and how the targets stand if they are `judged`; how much has
    /// failed.
    pub fn report(&self, workloads: &[&Workload], judged: bool) -> usize {
        let mut failed = self.failed;
        for workload in workloads {
            println!("\n{:22} {:>12} (ratio of ours to it)", workload.name, "ours");
            let ours = self.figures_of(workload.name, "ours");
            for (figure, values) in &ours {
                print!("  {figure:20} {:12.2}", median(values));
                for other in self.others() {
                    let of = self.figures_of(workload.name, &other);
                    if let Some(theirs) = of.get(figure) {
                        let ratio = ratio(values, theirs);
                        print!("   {other} {:.2} ({ratio:.2})", median(theirs));
                    }
                }
                println!();
            }
        }
        println!();
        for target in TARGETS {
            let Target { figure, ratio_to, at_most, of } = target;
            for workload in workloads.iter().filter(|w| of.contains(&w.name)) {
                let ours = self.figures_of(workload.name, "ours");
                let Some(ours) = ours.get(*figure) else { continue };
                let (value, what) = match ratio_to {
                    None => (median(ours), String::new()),
                    Some(other) => {
                        let theirs = self.figures_of(workload.name, other);
                        let Some(theirs) = theirs.get(*figure) else { continue };
                        (ratio(ours, theirs), format!(" of {other}"))
                    }
                };
                let verdict = if value <= *at_most { "met" } else { "MISSED" };
                let name = workload.name;
                println!("{name} {figure}: {value:.2}{what} (target {at_most}): {verdict}");
                failed += usize::from(judged && value > *at_most);
            }
        }
        failed
    }

    fn others(&self) -> Vec<String> {
        let peers = self.peers.iter().flat_map(|(_, names)| names.clone());
        ["by-hand", "reference"].map(str::to_owned).into_iter().chain(peers).collect()
    }

    fn figures_of(&self, workload: &str, program: &str) -> BTreeMap<String, Vec<f64>> {
        let of = self.summary.iter().filter(|((w, p, _), _)| w == workload && p == program);
        of.map(|((_, _, figure), values)| (figure.clone(), values.clone())).collect()
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of the ratios of one round each.
fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    median(&ratios)
}

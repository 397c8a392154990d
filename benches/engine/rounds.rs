//! Rounds: what is run in which order, and which rounds stand.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::calibration::Calibration;
use crate::report::{Figures, Summary};
use crate::{commits, orders, trace, triangles};

/// Something that a process of its own measures.
pub struct Measurement {
    /// Its name.
    pub name: &'static str,
    /// Measures with so many rows, and checks what the engine answered.
    pub run: fn(u64) -> Figures,
}

/// All measurements.
pub const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "ints", run: orders::ints },
    Measurement { name: "bigints", run: orders::bigints },
    Measurement { name: "memory", run: orders::table_memory },
    Measurement { name: "commits", run: commits::by_views },
    Measurement { name: "observed", run: commits::observed },
    Measurement { name: "trace", run: trace::measure },
    Measurement { name: "triangles", run: triangles::measure },
];

impl Measurement {
    /// The measurement of that name.
    pub fn by_name(name: &str) -> Option<&'static Measurement> {
        MEASUREMENTS.iter().find(|measurement| measurement.name == name)
    }
}

/// A target: a figure of ours and a bound for it, or for its ratio to one of the reference.
pub struct Target {
    /// Measurement and figure.
    pub figure: &'static str,
    /// The reference's figure.
    pub reference: Option<&'static str>,
    /// The bound.
    pub at_most: f64,
}

/// What is to be reached.
pub const TARGETS: &[Target] = &[
    Target {
        figure: "ints load_cpu_ns_per_row",
        reference: Some("reference load_cpu_ns_per_row"),
        at_most: 2.0,
    },
    Target {
        figure: "ints commit_1_p50_us",
        reference: Some("reference commit_1_p50_us"),
        at_most: 2.5,
    },
    Target {
        figure: "ints commit_1000_p50_us",
        reference: Some("reference commit_1000_p50_us"),
        at_most: 2.5,
    },
    Target { figure: "memory int_loaded_bytes_per_row", reference: None, at_most: 30.0 },
    Target { figure: "commits idle_views_cpu_us", reference: None, at_most: 100.0 },
    Target { figure: "observed views_10_cpu_ratio", reference: None, at_most: 1.1 },
    Target { figure: "observed views_100_cpu_ratio", reference: None, at_most: 1.1 },
    Target { figure: "observed views_100_p99_ratio", reference: None, at_most: 1.15 },
    // 2 million edges a second, and 0.6 million events.
    Target { figure: "trace ns_per_edge", reference: None, at_most: 500.0 },
    Target { figure: "trace ns_per_event", reference: None, at_most: 1667.0 },
    Target { figure: "trace snapshot_ms", reference: None, at_most: 60.0 },
    Target { figure: "triangles wco_load_s", reference: None, at_most: 1.0 },
    Target { figure: "triangles wco_change_p50_us", reference: None, at_most: 620.0 },
];

/// The rounds of a run.
pub struct Rounds {
    rows: u64,
    reference: Option<PathBuf>,
    /// All figures of the rounds that stand, by name.
    pub summary: Summary,
    standing: usize,
    run: usize,
    checks: (usize, usize),
}

impl Rounds {
    /// No round yet.
    pub fn new(rows: u64, reference: Option<PathBuf>) -> Rounds {
        let summary = Summary::default();
        Rounds { rows, reference, summary, standing: 0, run: 0, checks: (0, 0) }
    }

    /// How many rounds stand.
    pub fn standing(&self) -> usize {
        self.standing
    }

    /// Runs a round. With `keep`, it stands whatever the machine did.
    pub fn run_one(&mut self, keep: bool) {
        self.run += 1;
        let before = Calibration::measure();
        let mut figures = Figures::new();
        // Who comes first has the cooler machine.
        let reference_first = self.run % 2 == 1;
        if reference_first {
            self.run_reference(&mut figures);
        }
        for measurement in MEASUREMENTS {
            let own = self.run_child(measurement);
            figures.extend(own);
        }
        if !reference_first {
            self.run_reference(&mut figures);
        }
        derive(&mut figures);
        let after = Calibration::measure();
        let moved = before.moved(&after);
        if !moved.is_empty() && !keep {
            println!("round {} is void: {} moved by half", self.run, moved.join(", "));
            return;
        }
        println!("round {} stands", self.run);
        self.standing += 1;
        self.summary.add(&figures);
        let calibration = [
            ("sort", after.sort),
            ("round_trip", after.round_trip),
            ("fdatasync", after.fdatasync),
        ];
        let calibration =
            calibration.map(|(name, ns)| (format!("calibration {name}_us"), ns / 1e3));
        self.summary.add(&calibration);
    }

    fn run_child(&mut self, measurement: &Measurement) -> Figures {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.args(["--measure", measurement.name, &self.rows.to_string()]);
        let output = command.output().expect("this program can be run again");
        if !output.status.success() {
            self.checks.1 += 1;
            let fault = String::from_utf8_lossy(&output.stderr);
            println!("{} FAILED: {fault}", measurement.name);
            return Figures::new();
        }
        self.checks.0 += 1;
        let text = String::from_utf8(output.stdout).expect("figures are text");
        let figure = |line: &str| {
            let (name, value) = line.split_once(' ').expect("a name and a value");
            (format!("{} {name}", measurement.name), value.parse().expect("a number"))
        };
        text.lines().map(figure).collect()
    }

    fn run_reference(&mut self, figures: &mut Figures) {
        let Some(path) = &self.reference else { return };
        figures.extend(reference_figures(path, self.rows));
    }

    /// How many checks have passed and failed; with `targets`, these count where they apply.
    pub fn verdict(&self, targets: bool) -> (usize, usize) {
        let (mut passed, mut failed) = self.checks;
        for target in TARGETS.iter().filter(|_| targets) {
            match self.summary.ratio(target.figure, target.reference) {
                Some(value) if value <= target.at_most => passed += 1,
                Some(_) => failed += 1,
                None => {}
            }
        }
        (passed, failed)
    }
}

/// What idle views add to a commit, all of them together.
fn derive(figures: &mut Figures) {
    let get = |name: &str| figures.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let pairs = [("views_0", "idle_views_0_cpu_us"), ("views_1", "idle_views_cpu_us")];
    let derived = pairs.map(|(base, name)| {
        let alone = get(&format!("commits {base}_cpu_us"))?;
        let beside = get(&format!("commits {base}_beside_1000_cpu_us"))?;
        Some((format!("commits {name}"), beside - alone))
    });
    figures.extend(derived.into_iter().flatten());
}

/// Runs the reference and reads its one line.
fn reference_figures(path: &Path, rows: u64) -> Figures {
    let output = Command::new(path).args(["typed", &rows.to_string()]).output();
    let output = output.unwrap_or_else(|e| panic!("cannot run {}: {e}", path.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    // "… load X Mrows/s wall, cpu N ns/row | live B B/row … [1: p50 X p99 Y us, cpu Z ns/row] …"
    let after = |text: &str, mark: &str| -> f64 {
        let rest = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {text}")).1;
        rest.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    };
    let mut figures = vec![
        ("reference load_cpu_ns_per_row".to_owned(), after(&text, "cpu ")),
        ("reference load_wall_ns_per_row".to_owned(), 1e3 / after(&text, "load ")),
        ("reference load_live_bytes_per_row".to_owned(), after(&text, "live ")),
    ];
    for size in [1, 10, 100, 1000] {
        let part = text.split_once(&format!("[{size}: ")).expect("a figure for each size").1;
        figures.push((format!("reference commit_{size}_p50_us"), after(part, "p50 ")));
        figures.push((format!("reference commit_{size}_p99_us"), after(part, "p99 ")));
        figures.push((format!("reference commit_{size}_cpu_ns_per_row"), after(part, "cpu ")));
    }
    figures
}

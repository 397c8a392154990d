//! The engine lane: commands in, responses out, no socket and no log.
//!
//! On a shared machine a time by itself means little. So the hand-written program that does the
//! same work over typed tuples, the reference, runs in the same rounds, and ratios are what counts:
//!
//! ```text
//! cargo bench --bench engine                                  only our own figures
//! cargo bench --bench engine -- --reference PATH/TO/joinagg   with ratios and targets
//! cargo bench --bench engine -- --smoke                       small and quick: for its checks
//! ```
//!
//! Every measurement is a process of its own, this program run again, so that none finds memory
//! warm that another has left. Each round runs the reference and then our measurements, between
//! two calibrations: sorting, a round trip between two threads, an fdatasync. A round in which one
//! of these has moved by half says nothing, and is void; a run of which too few rounds stand is
//! void as a whole. What is printed are the medians and ranges of the rounds that stand.
//!
//! Each measurement compares what the engine holds at its end with a computation of its own.

mod allocator;
mod calibration;
mod commits;
mod driver;
mod orders;
mod plans;
mod report;
mod rounds;
mod trace;
mod triangles;

use std::path::PathBuf;
use std::process::ExitCode;

use rounds::{Measurement, Rounds};

/// What was asked for.
struct Options {
    rounds: usize,
    rows: u64,
    smoke: bool,
    reference: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut options = Options {
        rounds: 7,
        rows: 1_000_000,
        smoke: false,
        reference: std::env::var_os("WEIR_BENCH_REFERENCE").map(PathBuf::from),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| panic!("{arg} wants a value"));
        match arg.as_str() {
            "--measure" => {
                let (name, rows) = (value(), value());
                return measure(&name, rows.parse().expect("a number of rows"));
            }
            "--rounds" => options.rounds = value().parse().expect("a number of rounds"),
            "--rows" => options.rows = value().parse().expect("a number of rows"),
            "--reference" => options.reference = Some(value().into()),
            "--smoke" => options.smoke = true,
            // What cargo says to benches.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    if options.smoke {
        (options.rounds, options.rows) = (1, 10_000);
    }
    run(&options)
}

/// Runs one measurement in this process.
fn measure(name: &str, rows: u64) -> ExitCode {
    let measurement = Measurement::by_name(name).unwrap_or_else(|| panic!("no measurement {name}"));
    for (key, value) in (measurement.run)(rows) {
        println!("{key} {value}");
    }
    ExitCode::SUCCESS
}

fn run(options: &Options) -> ExitCode {
    let mut rounds = Rounds::new(options.rows, options.reference.clone());
    // Void rounds are made up for, within reason.
    for _ in 0..options.rounds * 3 {
        if rounds.standing() == options.rounds {
            break;
        }
        rounds.run_one(options.smoke);
    }
    report::print(&rounds);
    let (passed, mut failed) = rounds.verdict(!options.smoke);
    if rounds.standing() < options.rounds {
        println!("the run is VOID: {} of {} rounds stand", rounds.standing(), options.rounds);
        failed += 1;
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! Rules beside programs: what a query in Datalog costs, and the same written by hand.
//!
//! The program by hand ([`by_hand`]) computes with differential over typed tuples, as somebody
//! would who needs this one query and nothing else. It runs in the same rounds, and ratios are what
//! counts:
//!
//! ```text
//! cargo bench --bench datalog                               every workload, ours and by hand
//! cargo bench --bench datalog -- --only closure,reach       some of them
//! cargo bench --bench datalog -- --scale 0.1                smaller graphs
//! cargo bench --bench datalog -- --reference PATH/TO/limits the other program by hand as well
//! cargo bench --bench datalog -- --peers PATH/TO/weir-bench-peers   other engines as well
//! cargo bench --bench datalog -- --explain closure          how a query is computed
//! cargo bench --bench datalog -- --smoke                    small and quick: for its checks
//! ```
//!
//! A query is subscribed to while its tables are empty. Then they are loaded in one transaction;
//! then each transaction removes some rows and adds as many, and another one takes that back. One
//! worker; every measurement is a process of its own. What each of them has derived at its end must
//! be the same rows. The other engines (`benches/peers`) are a package of their own.

#[path = "../engine/allocator.rs"]
mod allocator;
mod by_hand;
#[path = "../engine/calibration.rs"]
mod calibration;
#[allow(dead_code)] // The engine's bench writes and reads in more ways.
#[path = "../engine/driver.rs"]
mod driver;
mod figures;
mod graphs;
mod ours;
#[allow(dead_code)] // The engine's bench plans other queries.
#[path = "../engine/plans.rs"]
mod plans;
mod rounds;

use std::path::PathBuf;
use std::process::ExitCode;

use graphs::{WORKLOADS, Workload};

/// What was asked for.
struct Options {
    rounds: usize,
    scale: f64,
    keep: bool,
    only: Option<Vec<String>>,
    reference: Option<PathBuf>,
    peers: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut options = Options {
        rounds: 5,
        scale: 1.0,
        keep: false,
        only: None,
        reference: std::env::var_os("WEIR_BENCH_LIMITS").map(PathBuf::from),
        peers: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| panic!("{arg} wants a value"));
        match arg.as_str() {
            "--measure" => {
                let (program, name, scale) = (value(), value(), value());
                return measure(&program, &name, scale.parse().expect("a number"));
            }
            "--explain" => {
                print!("{}", ours::explain(&Workload::by_name(&value())));
                return ExitCode::SUCCESS;
            }
            "--rounds" => options.rounds = value().parse().expect("a number of rounds"),
            "--scale" => options.scale = value().parse().expect("a number"),
            "--only" => options.only = Some(value().split(',').map(str::to_owned).collect()),
            "--reference" => options.reference = Some(value().into()),
            "--peers" => options.peers = Some(value().into()),
            "--keep" => options.keep = true,
            "--smoke" => (options.rounds, options.scale, options.keep) = (1, 0.01, true),
            // What cargo says to benches.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    run(&options)
}

/// Runs one measurement in this process.
fn measure(program: &str, name: &str, scale: f64) -> ExitCode {
    let workload = Workload::by_name(name).scaled(scale);
    let figures = match program {
        "ours" => ours::measure(&workload),
        "by-hand" => by_hand::measure(&workload),
        other => panic!("no program {other}"),
    };
    figures.print();
    ExitCode::SUCCESS
}

fn run(options: &Options) -> ExitCode {
    let wanted = |w: &&Workload| {
        options.only.as_ref().is_none_or(|only| only.iter().any(|name| name == w.name))
    };
    let workloads: Vec<&Workload> = WORKLOADS.iter().filter(wanted).collect();
    let mut rounds = rounds::Rounds::new(options.scale, options.reference.clone());
    if let Some(path) = &options.peers {
        rounds.add_peers(path);
    }
    // Void rounds are made up for, within reason.
    for _ in 0..options.rounds * 2 {
        if rounds.standing() < options.rounds {
            rounds.run_one(&workloads, options.keep);
        }
    }
    let failed = rounds.report(&workloads, options.scale >= 1.0);
    let enough = rounds.standing() == options.rounds;
    if !enough {
        println!("the run is VOID: {} of {} rounds stand", rounds.standing(), options.rounds);
    }
    if failed == 0 && enough { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! How fast the machine is just now: three things that the engine's speed depends on.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Instant;

/// Nanoseconds of each.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// Sorting half a million numbers.
    pub sort: f64,
    /// A message to another thread and back.
    pub round_trip: f64,
    /// Making a page of a file durable.
    pub fdatasync: f64,
}

/// The factor by which a figure may move within a round.
const MOVED: f64 = 1.5;

impl Calibration {
    /// Measures now.
    pub fn measure() -> Calibration {
        Calibration { sort: sort(), round_trip: round_trip(), fdatasync: fdatasync() }
    }

    /// What has moved by half between two calibrations.
    pub fn moved(&self, later: &Calibration) -> Vec<&'static str> {
        let figures = [
            ("sort", self.sort, later.sort),
            ("round trip", self.round_trip, later.round_trip),
            ("fdatasync", self.fdatasync, later.fdatasync),
        ];
        let far = |(_, a, b): &(&str, f64, f64)| a.max(*b) > a.min(*b) * MOVED;
        figures.into_iter().filter(far).map(|(name, ..)| name).collect()
    }
}

fn median_of(count: usize, mut sample: impl FnMut() -> f64) -> f64 {
    let mut samples: Vec<f64> = (0..count).map(|_| sample()).collect();
    samples.sort_by(f64::total_cmp);
    samples[count / 2]
}

fn sort() -> f64 {
    median_of(7, || {
        let mut state = 1u64;
        let mut numbers: Vec<u64> = (0..500_000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 11
            })
            .collect();
        let start = Instant::now();
        numbers.sort_unstable();
        let elapsed = start.elapsed();
        assert!(numbers.is_sorted());
        elapsed.as_nanos() as f64
    })
}

fn round_trip() -> f64 {
    let (ask, asked) = channel::<u64>();
    let (answer, answered) = channel::<u64>();
    let other = std::thread::spawn(move || {
        for number in asked {
            if answer.send(number).is_err() {
                break;
            }
        }
    });
    let median = median_of(3_000, || {
        let start = Instant::now();
        ask.send(1).expect("the other thread listens");
        answered.recv().expect("the other thread answers");
        start.elapsed().as_nanos() as f64
    });
    drop(ask);
    other.join().expect("the other thread ends when nobody asks");
    median
}

fn fdatasync() -> f64 {
    let mut file = tempfile::tempfile().expect("a temporary file");
    median_of(40, || {
        let start = Instant::now();
        file.write_all(&[7; 4096]).expect("room for a page");
        file.sync_data().expect("a file can be synced");
        start.elapsed().as_nanos() as f64
    })
}

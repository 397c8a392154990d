//! Golden scripts: several sessions at once, time, crashes.
//!
//! Each file of `tests/scripts/` is run with one and with three workers; what is answered has to be
//! what stands there. `UPDATE_GOLDEN=1` rewrites the files instead; the diff is to be read before
//! it is committed. `SCRIPT=name` runs those whose name contains that.
//!
//! A script is blocks with an empty line between them: a command, then what it answers.
//!
//! | command | means |
//! |---|---|
//! | `a> SQL;` | session `a` runs SQL, up to a line that ends with `;` |
//! | `a~ SQL;` | the same, again and again until the answer is that, for half a minute |
//! | `a$ SQL; [x, NULL]` | the same by the extended protocol, with parameters |
//! | `a< COPY … FROM STDIN;` | the lines up to `\.` are the data |
//! | `a& SQL;` | starts it and does not wait |
//! | `a? 3` | waits for 3 more rows of what it started, and shows them |
//! | `a.` | waits for its end, and shows the rest |
//! | `a!` | asks for the end of what it started |
//! | `a-` | goes away without a word |
//! | `stop`, `kill -9`, `kill engine` | ends the server, cleanly or not; or what it supervises |
//! | `start` | starts it again |
//! | `sleep 100` | waits that many milliseconds |
//!
//! Times in nanoseconds print as `t1`, `t2` in order of appearance; `:t1` in SQL is that time.
//! `# comments` stand before a block.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "scripts/flat.rs"]
mod flat;
#[path = "scripts/player.rs"]
mod player;
#[path = "scripts/script.rs"]
mod script;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use player::Player;
use script::Block;

/// For how long an answer may be another one, where it is awaited.
const AWAITED: Duration = Duration::from_secs(30);

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let wanted = std::env::var("SCRIPT").unwrap_or_default();
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "script"))
        .filter(|path| path.file_stem().unwrap().to_str().unwrap().contains(&wanted))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no script has {wanted} in its name");
    files
}

/// What a command answers.
fn answer(player: &mut Player, block: &Block) -> Vec<String> {
    let is_awaited = block.command[0].chars().nth(1) == Some('~');
    let end = Instant::now() + AWAITED;
    loop {
        let answer = player.answer(&block.command);
        if !is_awaited || answer == block.answer || Instant::now() > end {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Runs a script. What differs from the file, where anything does.
fn play(path: &Path, workers: usize) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let blocks = script::parse(&text);
    let mut player = Player::new(workers);
    let answered: Vec<Block> = blocks
        .iter()
        .map(|block| Block { answer: answer(&mut player, block), ..block.clone() })
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, script::print(&answered)).unwrap();
        return Ok(());
    }
    let differing = blocks.iter().zip(&answered).filter(|(old, new)| old.answer != new.answer);
    let shown: Vec<String> = differing
        .map(|(old, new)| {
            let (command, expected) = (old.command.join("\n"), old.answer.join("\n"));
            format!("{command}\n--- expected\n{expected}\n--- answered\n{}", new.answer.join("\n"))
        })
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let name = path.file_name().unwrap().display();
    Err(format!("==== {name}, {workers} workers\n\n{}\n", shown.join("\n\n")))
}

fn play_all(workers: usize) {
    let faults: Vec<String> = files().iter().filter_map(|path| play(path, workers).err()).collect();
    assert!(faults.is_empty(), "{} scripts differ\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn with_one_worker() {
    play_all(1);
}

#[test]
fn with_three_workers() {
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        play_all(3);
    }
}

//! The command line: arguments, what they mean, and the command that does it.

use std::process::ExitCode;

use clap::Parser;
use weir::commands;
use weir::config::{Arguments, Command};
use weir::profile::memory::Counted;

/// Rows are small and many; the system's allocator spends more on each.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        None => commands::serve::run(&arguments.serve),
        Some(Command::Serve(serve)) => commands::serve::run(&serve),
        Some(Command::Top(top)) => commands::top::run::run(&top),
        Some(Command::Trace(trace)) => commands::trace::run(&trace),
        Some(Command::Engine(serve)) => commands::engine::run(&serve),
    }
}

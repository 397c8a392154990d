//! The command line's verbs.
//!
//! Floor 8: may import everything.
//!
//! * [`serve`] — the supervisor, which keeps an engine running
//! * [`engine`] — the server proper
//! * [`top`] — shows what a server does, in a terminal
//! * [`trace`] — records what happens on a server's workers
//! * [`connection`] — the way to a server, for commands that are its clients
//! * [`logging`] — where both say what they do
//! * [`exit`] — what an engine tells its supervisor by its end

pub mod connection;
pub mod engine;
pub mod exit;
pub mod logging;
pub mod serve;
pub mod top;
pub mod trace;

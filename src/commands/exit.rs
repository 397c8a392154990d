//! What an engine tells its supervisor by its end.
//!
//! | end | means | the supervisor |
//! |---|---|---|
//! | exit 0 | stopped when asked | ends as well |
//! | exit 1 | cannot start (locked, damaged or too new data; an address in use) | ends as well |
//! | exit 70 | the log failed: what is on the disk is unknown | starts another one, to recover |
//! | a signal, anything else | crashed | starts another one |

/// Stopped when asked.
pub const STOPPED: u8 = 0;
/// Cannot start, and would not the next time either.
pub const CANNOT_START: u8 = 1;
/// Has to be recovered from its log. `EX_SOFTWARE` of sysexits.
pub const CRASHED: u8 = 70;

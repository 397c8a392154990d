//! Settings of the server that it keeps over restarts: what ALTER SYSTEM has set.
//!
//! They are in the log, as all that is kept. What they mean is the sessions' business.

use crate::coord::coordinator::Coordinator;
use crate::coord::log_writer::LogRequest;
use crate::coord::opening::Opening;
use crate::coord::request::Reply;
use crate::dataflow::command::Command;
use crate::storage::{Change, Transaction};

/// What stands before their names in the log, where the coordinator has settings of its own.
const PREFIX: &str = "system.";

impl Coordinator {
    /// Keeps a setting, or keeps it no more; answers when that is durable.
    pub(super) fn keep_setting(&mut self, name: &str, value: Option<String>, reply: Reply<()>) {
        let time = self.clock.next();
        self.gate.applied(time);
        let change = Change::Setting { name: format!("{PREFIX}{name}"), value };
        self.log.send(LogRequest::Append(Transaction { time, changes: vec![change] }));
        self.when_released(time, move || {
            let _ = reply.send(Ok(()));
        });
    }
}

impl Opening {
    /// The settings that were kept.
    pub fn kept_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let kept = self.settings.iter();
        kept.filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value.as_str())))
    }

    /// Has workers measure what operators do, from the beginning.
    pub fn introspect(&self, on: bool) {
        self.coordinator.workers.send(Command::Introspect(on));
    }
}

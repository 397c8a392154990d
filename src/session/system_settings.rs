//! ALTER SYSTEM: settings of the whole server that can be changed while it runs.
//!
//! Those are the ones of introspection. What is set holds at once, for all, until the
//! server ends: flags say how it starts.

use std::time::Duration;

use crate::error::{Error, Result, SqlState};
use crate::session::introspection::profiling::Profiling;
use crate::session::session::Session;
use crate::session::transaction::Mode;
use crate::session::variables::table::find;
use crate::session::variables::value::Value;

const INTERVAL: &str = "introspection_interval";

impl Session {
    pub(super) fn alter_system(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        if self.mode() == Mode::Block {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "ALTER SYSTEM cannot run inside a transaction block",
            ));
        }
        let key = name.to_ascii_lowercase();
        let Some(setting) = find(&key) else {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        };
        if key != INTERVAL && !Profiling::has(&key) {
            return Err(Error::unsupported(
                format!("ALTER SYSTEM SET {}", setting.name),
                "Only the settings of introspection can be changed while the server runs.",
            ));
        }
        let parsed = value.map(|text| Value::parse(setting.name, &setting.kind, text, None));
        let parsed = parsed.transpose()?;
        if Profiling::has(&key) {
            let value = parsed.unwrap_or_else(|| setting.default.clone());
            self.engine.profiling.send_modify(|profiling| profiling.set(&key, &value));
            return Ok(());
        }
        let interval = match parsed {
            Some(Value::Int(ms)) => Duration::from_millis(u64::try_from(ms).unwrap_or(0)),
            Some(other) => return Err(Error::internal(format!("{INTERVAL} is {other:?}"))),
            None => self.engine.introspection_at_start,
        };
        self.engine.introspection.send_replace(interval);
        Ok(())
    }

    /// Notes what the settings of the server are now, to show them.
    pub(super) fn learn_interval(&mut self) {
        let interval = *self.engine.introspection.borrow();
        let ms = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        self.variables.learn(INTERVAL, Value::Int(ms));
        let profiling = *self.engine.profiling.borrow();
        profiling.all().into_iter().for_each(|(name, value)| self.variables.learn(name, value));
    }
}

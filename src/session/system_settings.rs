//! ALTER SYSTEM: settings of the whole server that can be changed while it runs.
//!
//! Those are the ones of introspection. What is set holds at once and for all, and is kept over
//! restarts until it is reset: then the flag holds that the server was started with, or the
//! default.

use std::time::Duration;

use crate::error::{Error, Result, SqlState};
use crate::session::boot::EngineConfig;
use crate::session::engine::Engine;
use crate::session::introspection::profiling::Profiling;
use crate::session::session::Session;
use crate::session::transaction::Mode;
use crate::session::variables::table::find;
use crate::session::variables::value::Value;

const INTERVAL: &str = "introspection_interval";

/// Has hold again what was kept; what this server does not take is passed over.
pub(super) fn restore<'t>(engine: &Engine, kept: impl Iterator<Item = (&'t str, &'t str)>) {
    for (key, text) in kept {
        let Some(setting) = find(key) else { continue };
        let Ok(value) = Value::parse(setting.name, &setting.kind, text, None) else { continue };
        if Profiling::has(key) {
            engine.profiling.send_modify(|profiling| profiling.set(key, &value));
        } else if let (INTERVAL, Some(interval)) = (key, duration(&value)) {
            engine.introspection.send_replace(interval);
        }
    }
}

/// What the settings of the server are now.
fn of_server(engine: &Engine) -> Vec<(&'static str, Value)> {
    let interval = engine.introspection.borrow().as_millis();
    let ms = i64::try_from(interval).unwrap_or(i64::MAX);
    let mut all = engine.profiling.borrow().all();
    all.push((INTERVAL, Value::Int(ms)));
    all.extend(engine.flags.iter().cloned());
    all
}

/// The flags that the server was started with, as settings.
pub(super) fn flags(config: &EngineConfig) -> Vec<(&'static str, Value)> {
    let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    vec![
        ("checkpoint_log_bytes", int(config.checkpoint_log_bytes)),
        ("data_directory", Value::Text(config.data_dir.display().to_string())),
        ("retain_history", int(config.retain_ms)),
        ("workers", int(config.workers as u64)),
    ]
}

fn duration(value: &Value) -> Option<Duration> {
    match value {
        Value::Int(ms) => Some(Duration::from_millis(u64::try_from(*ms).unwrap_or(0))),
        _ => None,
    }
}

impl Session {
    pub(super) async fn alter_system(&mut self, name: &str, value: Option<&str>) -> Result<()> {
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
            self.engine.client.keep_setting(&key, value.map(str::to_owned)).await?;
            let value = parsed.unwrap_or_else(|| setting.default.clone());
            self.engine.profiling.send_modify(|profiling| profiling.set(&key, &value));
            return Ok(());
        }
        self.engine.client.keep_setting(&key, value.map(str::to_owned)).await?;
        let interval = match parsed {
            Some(value) => duration(&value)
                .ok_or_else(|| Error::internal(format!("{INTERVAL} is no duration")))?,
            None => self.engine.introspection_at_start,
        };
        self.engine.introspection.send_replace(interval);
        Ok(())
    }

    /// Notes what the settings of the server are now, to show them.
    pub(super) fn learn_interval(&mut self) {
        let now = of_server(&self.engine);
        now.into_iter().for_each(|(name, value)| self.variables.learn(name, value));
    }

    /// A setting as it is now; none of that name.
    pub(super) fn setting_now(&self, key: &str) -> Option<String> {
        let now = of_server(&self.engine).into_iter().find(|(name, _)| *name == key);
        match now.zip(find(key)) {
            Some(((_, value), setting)) => Some(value.show(&setting.kind)),
            None => self.variables.get(key).ok(),
        }
    }
}

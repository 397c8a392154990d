//! What one session has set.
//!
//! A value is looked for in three layers: what `SET LOCAL` gave for this transaction, what `SET`
//! gave, and what the startup message gave; under them lies the default of the table. `COMMIT`
//! empties the first layer, `ROLLBACK` puts back the first two as they were before the
//! transaction, and a savepoint keeps them as they were when it was made. The layers are shared
//! until they change, so that a savepoint costs nothing.
//!
//! Three settings belong to a transaction and not to the session: `transaction_isolation`,
//! `transaction_read_only` and `transaction_deferrable`. They are set as with `SET LOCAL`, and
//! where they are not set they answer with the session's default for them.
//!
//! A name with a dot is the client's own: it may hold any text, and once it was set in a session
//! it exists, if only as an empty text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Error, Result, SqlState};
use crate::optimizer::pipeline::{FINISH, SIMPLIFY};
use crate::repr::settings::{ByteaOutput, FormatSettings, IntervalStyle};
use crate::session::variables::startup::requested;
use crate::session::variables::table::{Access, Kind, Setting, find, settings};
use crate::session::variables::value::{Value, split_identifiers};

/// A setting that a client is told of: its name and its new value.
pub type Report = (String, String);

type Values = BTreeMap<String, Value>;

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Variables {
    layers: Arc<Layers>,
    startup: Values,
    /// Names of the client's own that exist.
    custom: BTreeSet<String>,
    /// The layers before the open transaction changed them.
    before: Option<Arc<Layers>>,
    savepoints: Vec<Arc<Layers>>,
    format: FormatSettings,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Layers {
    local: Values,
    session: Values,
}

/// Settings of a transaction, and those that say how they begin.
const OF_TRANSACTION: [(&str, &str); 3] = [
    ("transaction_deferrable", "default_transaction_deferrable"),
    ("transaction_isolation", "default_transaction_isolation"),
    ("transaction_read_only", "default_transaction_read_only"),
];

/// Settings that SHOW ALL leaves out and RESET ALL leaves alone.
const APART: [&str; 4] = ["is_superuser", "role", "seed", "session_authorization"];

fn unrecognized(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Refuses names that no rule of the optimizer has.
fn check_rules(text: &str) -> Result<()> {
    let is_known = |name: &str| SIMPLIFY.iter().chain(FINISH).any(|rule| rule.name == name);
    match rule_names(text).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("invalid value for parameter \"weir.disabled_rules\": \"{text}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_detail(format!("The optimizer has no rule \"{name}\"."))
                .with_hint("EXPLAIN RULES names those that change a plan."))
        }
    }
}

fn rule_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn of_transaction(key: &str) -> Option<&'static str> {
    OF_TRANSACTION.iter().find(|(own, _)| *own == key).map(|(_, default)| *default)
}

impl Variables {
    /// The settings of a session that begins with this startup message.
    ///
    /// # Errors
    ///
    /// Those of [`Variables::set`], and 42601 for a command line that is not understood.
    pub fn new(startup: &[(String, String)]) -> Result<Variables> {
        let mut variables = Variables {
            layers: Arc::default(),
            startup: Values::new(),
            custom: BTreeSet::new(),
            before: None,
            savepoints: Vec::new(),
            format: FormatSettings::default(),
        };
        if let Some((_, user)) = startup.iter().find(|(name, _)| name == "user") {
            let user = Value::Text(user.clone());
            variables.startup.insert("session_authorization".to_owned(), user);
        }
        for (name, value) in requested(startup)? {
            let key = name.to_ascii_lowercase();
            let value = variables.read(&name, &key, &value)?;
            variables.startup.insert(key, value);
        }
        variables.refresh();
        Ok(variables)
    }

    /// The name as SHOW spells it; errors as [`Variables::get`].
    pub fn name(&self, name: &str) -> Result<String> {
        let key = name.to_ascii_lowercase();
        match find(&key) {
            Some(setting) => Ok(setting.name.to_owned()),
            None => self.get(name).map(|_| name.to_owned()),
        }
    }

    /// What SHOW answers.
    ///
    /// # Errors
    ///
    /// 42704: there is no such setting.
    pub fn get(&self, name: &str) -> Result<String> {
        let key = name.to_ascii_lowercase();
        if let Some(setting) = find(&key) {
            return Ok(self.shown(setting));
        }
        match self.found(&key) {
            Some(value) => Ok(value.show(&Kind::Text)),
            None if self.custom.contains(&key) => Ok(String::new()),
            None => Err(unrecognized(name)),
        }
    }

    /// SET, or SET LOCAL, or set_config; no value: DEFAULT, and RESET. Lists (`search_path`,
    /// `DateStyle`) are given in their list form: names that need it are quoted.
    ///
    /// Answers what the client is to be told.
    ///
    /// # Errors
    ///
    /// 42704 there is no such setting, 42602 it is no name for one, 22023 it does not take this
    /// value, 55P02 it cannot be changed, 0A000 Weir does not do what the value asks for.
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<Option<Report>> {
        let key = name.to_ascii_lowercase();
        let setting = find(&key);
        let new = match value {
            Some(text) => Some(self.read(name, &key, text)?),
            None => {
                self.check_changeable(name, &key)?;
                None
            }
        };
        let told = setting.filter(|setting| setting.reported);
        let old = told.map(|setting| self.shown(setting));
        self.keep();
        let layers = Arc::make_mut(&mut self.layers);
        let starts_anew = of_transaction(&key).is_some() && new.is_none();
        if starts_anew {
            layers.local.remove(&key);
        } else if local || of_transaction(&key).is_some() {
            let initial = || match setting {
                Some(setting) => self.startup.get(&key).unwrap_or(&setting.default).clone(),
                None => self.startup.get(&key).cloned().unwrap_or(Value::Text(String::new())),
            };
            layers.local.insert(key.clone(), new.unwrap_or_else(initial));
        } else {
            layers.local.remove(&key);
            match new {
                Some(new) => layers.session.insert(key.clone(), new),
                None => layers.session.remove(&key),
            };
        }
        if setting.is_none() {
            self.custom.insert(key);
        }
        self.refresh();
        Ok(told.zip(old).and_then(|(setting, old)| {
            let now = self.shown(setting);
            (now != old).then(|| (setting.name.to_owned(), now))
        }))
    }

    /// RESET ALL; answers what the client is to be told.
    pub fn reset_all(&mut self) -> Vec<Report> {
        let old = self.reported();
        self.keep();
        let layers = Arc::make_mut(&mut self.layers);
        let stays = |key: &str| APART.contains(&key) || of_transaction(key).is_some();
        layers.local.retain(|key, _| stays(key));
        layers.session.retain(|key, _| stays(key));
        self.refresh();
        self.changes(&old)
    }

    /// Notes the value that a setting of the server has now.
    pub fn learn(&mut self, key: &str, value: Value) {
        self.startup.insert(key.to_owned(), value);
    }

    /// Every setting that SHOW ALL shows: name, value, description.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let shown = settings().iter().filter(|setting| !APART.contains(&setting.key.as_str()));
        shown
            .map(|setting| {
                let description = setting.description.to_owned();
                (setting.name.to_owned(), self.shown(setting), description)
            })
            .collect()
    }

    /// The settings that a client is told of, but `session_authorization`.
    pub fn reported(&self) -> Vec<Report> {
        let reported = settings().iter().filter(|setting| setting.reported);
        reported.map(|setting| (setting.name.to_owned(), self.shown(setting))).collect()
    }

    /// The settings on which the text forms of values depend.
    pub fn format(&self) -> &FormatSettings {
        &self.format
    }

    /// The schemas in which names are looked for, as `user`.
    pub fn search_path(&self, user: &str) -> Vec<String> {
        let mut path = split_identifiers(&self.text("search_path")).unwrap_or_default();
        for name in path.iter_mut().filter(|name| *name == "$user") {
            user.clone_into(name);
        }
        path
    }

    /// Whether COMMIT waits until its work is on disk.
    pub fn synchronous_commit(&self) -> bool {
        self.text("synchronous_commit") != "off"
    }

    /// How many bytes a subscription may hold for a reader that does not keep up.
    pub fn subscribe_buffer_limit(&self) -> u64 {
        self.int("subscribe_buffer_limit") << 10
    }

    /// How many bytes of a query's result may wait to be sent.
    pub fn result_buffer_limit(&self) -> u64 {
        self.int("result_buffer_limit") << 10
    }

    /// How many rounds an iteration may take; none: without limit.
    pub fn recursion_limit(&self) -> Option<u64> {
        Some(self.int("recursion_limit")).filter(|limit| *limit > 0)
    }

    /// How joins are planned, as the setting spells it.
    pub fn join_strategy(&self) -> String {
        self.text("weir.join_strategy")
    }

    /// The optimizer's rules that do not run.
    pub fn disabled_rules(&self) -> BTreeSet<String> {
        rule_names(&self.text("weir.disabled_rules")).map(str::to_owned).collect()
    }

    /// After how many milliseconds a statement is given up; none: never.
    pub fn statement_timeout_ms(&self) -> Option<u64> {
        Some(self.int("statement_timeout")).filter(|limit| *limit > 0)
    }

    /// Whether transactions begin as read-only ones.
    pub fn default_transaction_read_only(&self) -> bool {
        self.text("default_transaction_read_only") == "on"
    }

    /// Whether the open transaction was set to be a read-only one.
    pub fn transaction_read_only(&self) -> bool {
        self.text("transaction_read_only") == "on"
    }

    /// Whether a client wants messages of this severity (`NOTICE`, `WARNING`, `INFO` …) beside
    /// its results.
    pub fn wants_notice(&self, severity: &str) -> bool {
        // PostgreSQL's order, in which LOG comes before NOTICE for clients; INFO always goes out.
        const ORDER: [&str; 9] =
            ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];
        let rank = |word: &str| ORDER.iter().position(|known| known.eq_ignore_ascii_case(word));
        let least = match self.text("client_min_messages").as_str() {
            "info" => rank("log"),
            word => rank(word),
        };
        let own =
            if severity.eq_ignore_ascii_case("debug") { rank("debug1") } else { rank(severity) };
        severity.eq_ignore_ascii_case("info") || own >= least
    }

    /// The transaction is committed; answers what the client is to be told.
    pub fn commit(&mut self) -> Vec<Report> {
        self.before = None;
        self.savepoints.clear();
        if self.layers.local.is_empty() {
            return Vec::new();
        }
        let old = self.reported();
        Arc::make_mut(&mut self.layers).local.clear();
        self.refresh();
        self.changes(&old)
    }

    /// The transaction is undone; answers what the client is to be told.
    pub fn rollback(&mut self) -> Vec<Report> {
        self.savepoints.clear();
        match self.before.take() {
            Some(before) => self.restore(before),
            None => Vec::new(),
        }
    }

    /// Makes a savepoint within the ones that are there.
    pub fn savepoint(&mut self) {
        self.keep();
        self.savepoints.push(self.layers.clone());
    }

    /// Goes back to the savepoint that has `depth` others around it, and keeps it; answers what
    /// the client is to be told.
    pub fn rollback_to(&mut self, depth: usize) -> Vec<Report> {
        self.savepoints.truncate(depth + 1);
        match self.savepoints.get(depth).cloned() {
            Some(layers) => self.restore(layers),
            None => Vec::new(),
        }
    }

    /// Gives up the savepoint that has `depth` others around it, and those within it.
    pub fn release(&mut self, depth: usize) {
        self.savepoints.truncate(depth);
    }

    fn keep(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.layers.clone());
        }
    }

    fn restore(&mut self, layers: Arc<Layers>) -> Vec<Report> {
        if Arc::ptr_eq(&self.layers, &layers) {
            return Vec::new();
        }
        let old = self.reported();
        self.layers = layers;
        self.refresh();
        self.changes(&old)
    }

    fn changes(&self, old: &[Report]) -> Vec<Report> {
        let now = self.reported();
        now.into_iter().zip(old).filter(|(now, old)| now != *old).map(|(now, _)| now).collect()
    }

    /// What a value is set to, apart from the table's default.
    fn found(&self, key: &str) -> Option<&Value> {
        let Layers { local, session } = &*self.layers;
        local.get(key).or_else(|| session.get(key)).or_else(|| self.startup.get(key))
    }

    fn value<'a>(&'a self, setting: &'a Setting) -> &'a Value {
        if let Some(default) = of_transaction(&setting.key)
            && !self.layers.local.contains_key(&setting.key)
            && let Some(default) = find(default)
        {
            return self.value(default);
        }
        self.found(&setting.key).unwrap_or(&setting.default)
    }

    fn shown(&self, setting: &Setting) -> String {
        self.value(setting).show(&setting.kind)
    }

    fn text(&self, key: &str) -> String {
        find(key).map(|setting| self.shown(setting)).unwrap_or_default()
    }

    fn int(&self, key: &str) -> u64 {
        match find(key).map(|setting| self.value(setting)) {
            Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }

    /// Reads a value that may be given to a setting.
    fn read(&self, name: &str, key: &str, text: &str) -> Result<Value> {
        self.check_changeable(name, key)?;
        let Some(setting) = find(key) else { return Ok(Value::Text(text.to_owned())) };
        let current = self.value(setting);
        let new = Value::parse(setting.name, &setting.kind, text, Some(current))?;
        if setting.kind == Kind::Role {
            let own = self.startup.get("session_authorization");
            if new != setting.default && own != Some(&new) {
                let message = format!("role \"{text}\" does not exist");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        } else if setting.access == Access::Fixed && new != setting.default {
            let hint = format!("Leave it at \"{}\".", setting.default.show(&setting.kind));
            return Err(Error::unsupported(format!("{} = \"{text}\"", setting.name), hint));
        }
        if setting.key == "weir.disabled_rules" {
            check_rules(text)?;
        }
        Ok(new)
    }

    fn check_changeable(&self, name: &str, key: &str) -> Result<()> {
        let Some(setting) = find(key) else { return check_custom_name(name) };
        let fixed = |how: &str| {
            let message = format!("parameter \"{}\" cannot be changed{how}", setting.name);
            Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
        };
        match setting.access {
            Access::User | Access::Fixed => Ok(()),
            Access::Internal => fixed(""),
            Access::Server => fixed(" without restarting the server"),
            Access::Refused => Err(Error::unsupported(
                format!("setting \"{}\"", setting.name),
                "Leave it as it is.",
            )),
        }
    }

    /// Brings what is kept parsed up to date.
    fn refresh(&mut self) {
        let mut format = FormatSettings::default();
        for key in ["datestyle", "timezone", "extra_float_digits"] {
            match find(key).map(|setting| self.value(setting)) {
                Some(Value::DateStyle(style)) => format.date_style = *style,
                Some(Value::TimeZone(zone)) => format.time_zone = zone.clone(),
                Some(Value::Int(digits)) => format.extra_float_digits = *digits as i32,
                _ => {}
            }
        }
        if let Ok(style) = IntervalStyle::parse(&self.text("intervalstyle")) {
            format.interval_style = style;
        }
        if let Ok(output) = ByteaOutput::parse(&self.text("bytea_output")) {
            format.bytea_output = output;
        }
        if format != self.format {
            self.format = format;
        }
    }
}

/// A client's own setting has two or more identifiers with dots between them.
fn check_custom_name(name: &str) -> Result<()> {
    if !name.contains('.') {
        return Err(unrecognized(name));
    }
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let continues = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
    let good = |part: &str| part.starts_with(starts) && part.chars().all(continues);
    if name.split('.').all(good) {
        return Ok(());
    }
    let message = format!("invalid configuration parameter name \"{name}\"");
    Err(Error::new(SqlState::INVALID_NAME, message).with_detail(
        "Custom parameter names must be two or more simple identifiers separated by dots.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Variables {
        Variables::new(&[("user".into(), "ann".into())]).unwrap()
    }

    fn set(variables: &mut Variables, name: &str, value: &str) -> Option<Report> {
        variables.set(name, Some(value), false).unwrap()
    }

    #[test]
    fn transactions_undo_and_keep() {
        let mut v = fresh();
        set(&mut v, "TimeZone", "Europe/Berlin");
        v.commit();
        assert_eq!(
            v.set("timezone", Some("5"), true).unwrap(),
            Some(("TimeZone".into(), "<+05>-05".into()))
        );
        assert_eq!(v.format().time_zone.fixed_offset(), Some(5 * 3600));
        assert_eq!(v.commit(), [("TimeZone".into(), "Europe/Berlin".into())]);
        set(&mut v, "work_mem", "8MB");
        v.set("work_mem", Some("9MB"), true).unwrap();
        v.savepoint();
        set(&mut v, "work_mem", "10MB");
        set(&mut v, "datestyle", "german");
        v.savepoint();
        set(&mut v, "my.own", "x");
        assert_eq!(v.rollback_to(0), [("DateStyle".into(), "ISO, MDY".into())]);
        assert_eq!(v.get("work_mem").unwrap(), "9MB");
        assert_eq!(v.get("my.own").unwrap(), "");
        v.commit();
        assert_eq!(v.get("WORK_MEM").unwrap(), "8MB");
        set(&mut v, "work_mem", "1GB");
        v.rollback();
        assert_eq!(v.get("work_mem").unwrap(), "8MB");
        v.set("work_mem", None, false).unwrap();
        assert_eq!(v.get("work_mem").unwrap(), "4MB");
    }

    #[test]
    fn a_transaction_has_settings_of_its_own() {
        let mut v = fresh();
        assert_eq!(v.get("transaction_isolation").unwrap(), "serializable");
        set(&mut v, "transaction_isolation", "Read Committed");
        set(&mut v, "transaction_read_only", "on");
        assert_eq!(v.get("transaction_isolation").unwrap(), "read committed");
        assert!(v.transaction_read_only() && !v.default_transaction_read_only());
        v.commit();
        assert_eq!(v.get("transaction_isolation").unwrap(), "serializable");
        set(&mut v, "default_transaction_read_only", "on");
        assert!(v.transaction_read_only());
    }

    #[test]
    fn startup_is_what_reset_goes_back_to() {
        let startup = [
            ("user".to_owned(), "ann".to_owned()),
            ("client_encoding".to_owned(), "'utf-8'".to_owned()),
            ("extra_float_digits".to_owned(), "2".to_owned()),
            ("options".to_owned(), "-c search_path=a,\\\"$user\\\" -c my.x=1".to_owned()),
        ];
        let mut v = Variables::new(&startup).unwrap();
        assert_eq!(v.search_path("ann"), ["a", "ann"]);
        set(&mut v, "search_path", "");
        set(&mut v, "application_name", "b\u{e4}r");
        assert_eq!(v.get("application_name").unwrap(), "b??r");
        assert!(v.search_path("ann").is_empty());
        assert_eq!(v.reset_all(), [("application_name".into(), String::new())]);
        assert_eq!(v.search_path("ann"), ["a", "ann"]);
        assert_eq!(v.get("my.x").unwrap(), "1");
        assert_eq!(v.format().extra_float_digits, 2);
        assert_eq!(v.get("client_encoding").unwrap(), "UTF8");
        assert_eq!(v.get("session_authorization").unwrap(), "ann");
        assert_eq!(v.reported().len(), 12);
        let strange = [("frobnicate".to_owned(), "1".to_owned())];
        assert_eq!(Variables::new(&strange).unwrap_err().code, SqlState::UNDEFINED_OBJECT);
    }

    #[test]
    fn refusals_are_those_of_postgresql() {
        let mut v = fresh();
        for (name, value, expected) in [
            ("foo", "1", "42704 unrecognized configuration parameter \"foo\""),
            ("a b.c", "1", "42602 invalid configuration parameter name \"a b.c\""),
            ("jit", "maybe", "22023 parameter \"jit\" requires a Boolean value"),
            ("TimeZone", "x", "22023 invalid value for parameter \"TimeZone\": \"x\""),
            ("server_version", "1", "55P02 parameter \"server_version\" cannot be changed"),
            ("lock_timeout", "9x", "22023 invalid value for parameter \"lock_timeout\": \"9x\""),
            ("role", "bob", "22023 role \"bob\" does not exist"),
            ("seed", "1", "0A000 setting \"seed\" is not supported"),
            ("array_nulls", "0", "0A000 array_nulls = \"0\" is not supported"),
            (
                "client_encoding",
                "Latin-1",
                "0A000 invalid value for parameter \"client_encoding\": \"Latin-1\"",
            ),
            (
                "max_connections",
                "1",
                "55P02 parameter \"max_connections\" cannot be changed \
                 without restarting the server",
            ),
            (
                "work_mem",
                "1",
                "22023 1 kB is outside the valid range for parameter \"work_mem\" \
                 (64 .. 2147483647)",
            ),
        ] {
            let error = v.set(name, Some(value), false).unwrap_err();
            assert_eq!(format!("{} {}", error.code, error.message), expected);
        }
        assert_eq!(v.get("foo").unwrap_err().code, SqlState::UNDEFINED_OBJECT);
    }

    #[test]
    fn units_are_read_and_shown() {
        let mut v = fresh();
        for (name, value, shown) in [
            ("statement_timeout", "1.5s", "1500ms"),
            ("statement_timeout", "90s", "90s"),
            ("statement_timeout", "120 s", "2min"),
            ("statement_timeout", "0", "0"),
            ("temp_buffers", "1024", "8MB"),
            ("work_mem", "100.7", "101kB"),
            ("vacuum_cost_delay", "200us", "200us"),
            ("cpu_tuple_cost", "0.00001", "1e-05"),
            ("synchronous_commit", "FALSE", "off"),
            ("client_min_messages", "info", "info"),
        ] {
            set(&mut v, name, value);
            assert_eq!(v.get(name).unwrap(), shown, "{name} = {value}");
        }
        assert_eq!(v.subscribe_buffer_limit(), 256 << 20);
        assert!(!v.synchronous_commit());
        set(&mut v, "statement_timeout", "2s");
        assert_eq!(v.statement_timeout_ms(), Some(2000));
        assert!(v.wants_notice("NOTICE"));
        set(&mut v, "client_min_messages", "warning");
        assert!(!v.wants_notice("NOTICE") && v.wants_notice("WARNING") && v.wants_notice("INFO"));
    }
}

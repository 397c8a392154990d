//! Functions of sequences (`nextval`, `currval`, `lastval`, `setval`) and of the session
//! (`set_config`, `current_setting` of a computed name, `pg_sleep`).
//!
//! They are the only functions that need the session: what they answer depends on what it has
//! called before, and a value may have to be fetched. So they are evaluated by the session alone,
//! inside [`SequenceCalls::evaluate`]; anywhere else they fail.
//!
//! Evaluation is a plain function call and cannot wait. Where a value is not at hand, the call
//! fails, [`SequenceCalls::take_wanted`] says what is missing, and once it was
//! [given](SequenceCalls::give) the expression is evaluated again from its start. What was answered
//! before is answered again then, in the same order, so no value is taken twice, and none is taken
//! that the expression does not ask for (`CASE` guards calls as it guards everything).
//!
//! The front end puts the sequence's id in the place of PostgreSQL's `regclass`, and its name
//! behind that, for messages.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef, Volatility};
use crate::expr::functions::access::{bool, int8, text};
use crate::expr::functions::registry::Family;
use crate::expr::scalar::Expr;
use crate::repr::ScalarType::{Bool, Float8, Int8, Interval, Text, TimestampTz};
use crate::repr::{Datum, GlobalId};

/// The functions, by PostgreSQL's numbers.
pub static FAMILY: Family = Family {
    functions: &[
        FuncDef::new(NEXTVAL, "nextval", &[Int8, Text], Int8, |args, _| {
            call(SequenceCall::Next(id(args[0])))
        })
        .volatile(),
        FuncDef::new(CURRVAL, "currval", &[Int8, Text], Int8, |args, _| {
            call(SequenceCall::Current(id(args[0]), text(args[1]).into()))
        })
        .volatile(),
        FuncDef::new(2559, "lastval", &[], Int8, |_, _| call(SequenceCall::Last)).volatile(),
        FuncDef::new(1576, "setval", &[Int8, Text, Int8], Int8, |args, _| set(args, true))
            .volatile(),
        FuncDef::new(1765, "setval", &[Int8, Text, Int8, Bool], Int8, |args, _| {
            set(args, bool(args[3]))
        })
        .volatile(),
    ],
    operators: &[],
};

/// Functions of the session that have nothing to do with sequences: settings, and waiting.
pub static SESSION: Family = Family {
    functions: &[
        FuncDef::new(2078, "set_config", &[Text, Text, Bool], Text, |args, cx| {
            if args[0].is_null() {
                let message = "SET requires parameter name";
                return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            let value = (!args[1].is_null()).then(|| text(args[1]).into());
            let local = !args[2].is_null() && bool(args[2]);
            told(SequenceCall::Configure { name: text(args[0]).into(), value, local }, cx)
        })
        .lax()
        .volatile(),
        FuncDef::new(2077, "current_setting", &[Text], Text, |args, cx| {
            told(SequenceCall::Setting { name: text(args[0]).into(), missing_ok: false }, cx)
        })
        .volatile(),
        FuncDef::new(3294, "current_setting", &[Text, Bool], Text, |args, cx| {
            let missing_ok = bool(args[1]);
            told(SequenceCall::Setting { name: text(args[0]).into(), missing_ok }, cx)
        })
        .nullable()
        .volatile(),
        FuncDef::new(2626, "pg_sleep", &[Float8], Text, |args, cx| {
            let Datum::Float8(seconds) = args[0] else { return Ok(Datum::Null) };
            // A day that never ends is a century here; nobody waits that long.
            let micros = (seconds * 1e6).clamp(0.0, 3e15);
            told(SequenceCall::Sleep { micros: micros as u64 }, cx)
        })
        .volatile(),
        FuncDef::new(3935, "pg_sleep_for", &[Interval], Text, |args, cx| {
            let Datum::Interval(of) = args[0] else { return Ok(Datum::Null) };
            let days = i64::from(of.months) * 30 + i64::from(of.days);
            let micros = of.micros.saturating_add(days.saturating_mul(86_400_000_000));
            told(SequenceCall::Sleep { micros: micros.max(0) as u64 }, cx)
        })
        .volatile(),
        FuncDef::new(3936, "pg_sleep_until", &[TimestampTz], Text, |args, cx| {
            let Datum::TimestampTz(until) = args[0] else { return Ok(Datum::Null) };
            told(SequenceCall::SleepUntil { until }, cx)
        })
        .volatile(),
    ],
    operators: &[],
};

const NEXTVAL: u32 = 1574;
const CURRVAL: u32 = 1575;

/// Whether these are the names of functions of sequences.
pub fn is_sequence_function(name: &str) -> bool {
    FAMILY.functions.iter().any(|def| def.name == name)
}

/// Whether an expression calls one, and whether one that changes a sequence.
pub fn sequence_calls(expr: &Expr) -> (bool, bool) {
    let (mut any, mut changing) = (false, false);
    expr.visit(&mut |e| {
        if let Expr::Call { func, .. } = e
            && func.volatility == Volatility::Volatile
        {
            let of_session = SESSION.functions.iter().any(|def| def.oid == func.oid);
            any |= of_session || is_sequence_function(func.name);
            changing |= of_session || matches!(func.name, "nextval" | "setval");
        }
    });
    (any, changing)
}

/// The sequences whose next value an evaluation of the expression takes for sure, once for each
/// time that they are named.
pub fn certain_calls(expr: &Expr, found: &mut Vec<GlobalId>) {
    match expr {
        Expr::Call { func, args } => {
            args.iter().for_each(|arg| certain_calls(arg, found));
            if func.oid == NEXTVAL
                && let Some(Expr::Literal(sequence)) = args.first()
            {
                found.push(id(sequence.datum()));
            }
        }
        Expr::Cast { input, .. } | Expr::IsNull(input) => certain_calls(input, found),
        // What guards others is not looked into: a value too few only has to be fetched later.
        _ => {}
    }
}

fn id(datum: Datum<'_>) -> GlobalId {
    GlobalId(int8(datum) as u64)
}

fn set<'a>(args: &[Datum<'a>], is_called: bool) -> Result<Datum<'a>, EvalError> {
    call(SequenceCall::Set { sequence: id(args[0]), value: int8(args[2]), is_called })
}

/// What is asked of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceCall {
    /// The next value.
    Next(GlobalId),
    /// The value that the session was last given; with the name, for the message.
    Current(GlobalId, Box<str>),
    /// The value of the sequence that the session was last given one of.
    Last,
    /// Sets the last value, or the next one.
    Set {
        /// Of which sequence.
        sequence: GlobalId,
        /// The value.
        value: i64,
        /// Whether it counts as given.
        is_called: bool,
    },
    /// Sets a variable of the session; without a value, to what it is by default.
    Configure {
        /// Which one.
        name: Box<str>,
        /// Its value.
        value: Option<Box<str>>,
        /// Whether for the transaction alone.
        local: bool,
    },
    /// What a variable of the session is.
    Setting {
        /// Which one.
        name: Box<str>,
        /// Whether there may be none of that name.
        missing_ok: bool,
    },
    /// Waits.
    Sleep {
        /// How long, in microseconds.
        micros: u64,
    },
    /// Waits for a time.
    SleepUntil {
        /// Microseconds since 2000.
        until: i64,
    },
}

/// What a call answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAnswer {
    /// A value of a sequence.
    Value(i64),
    /// A text, or NULL.
    Text(Option<Box<str>>),
}

/// What a session knows of sequences, and the calls of the expression that it evaluates.
#[derive(Debug, Default)]
pub struct SequenceCalls {
    /// The last value of each sequence that the session used.
    values: HashMap<GlobalId, i64>,
    /// The sequence that it last took a value of.
    last: Option<GlobalId>,
    /// Values that were fetched and not asked for yet.
    stock: HashMap<GlobalId, VecDeque<i64>>,
    /// What this evaluation has asked, and what it was answered.
    journal: Vec<(SequenceCall, Result<SessionAnswer, EvalError>)>,
    /// How much of it this attempt has asked again.
    repeated: usize,
    wanted: Option<SequenceCall>,
}

thread_local! {
    /// The calls of the session that evaluates on this thread now.
    static CURRENT: RefCell<Option<SequenceCalls>> = const { RefCell::new(None) };
}

impl SequenceCalls {
    /// Begins with another row.
    pub fn begin(&mut self) {
        self.journal.clear();
        self.wanted = None;
    }

    /// Begins another statement, while these sequences are there. What was fetched for the last
    /// one is not used.
    pub fn begin_statement(&mut self, is_there: impl Fn(GlobalId) -> bool) {
        self.values.retain(|sequence, _| is_there(*sequence));
        self.stock.clear();
        self.begin();
    }

    /// Evaluates, with the functions of sequences.
    pub fn evaluate<T>(&mut self, f: impl FnOnce() -> T) -> T {
        /// Takes the calls back, also from a panic.
        struct Guard<'a>(&'a mut SequenceCalls);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                *self.0 = CURRENT.take().unwrap_or_default();
            }
        }
        self.repeated = 0;
        CURRENT.set(Some(std::mem::take(self)));
        let _guard = Guard(self);
        f()
    }

    /// The call that the last evaluation failed by, because its answer has to be fetched.
    pub fn take_wanted(&mut self) -> Option<SequenceCall> {
        self.wanted.take()
    }

    /// The answer of a call that was wanted.
    pub fn give(&mut self, call: SequenceCall, answer: SessionAnswer) {
        match (&call, &answer) {
            (SequenceCall::Next(sequence), SessionAnswer::Value(value)) => {
                self.given(*sequence, *value);
            }
            (SequenceCall::Set { sequence, is_called: true, .. }, SessionAnswer::Value(value)) => {
                self.values.insert(*sequence, *value);
            }
            _ => {}
        }
        self.journal.push((call, Ok(answer)));
    }

    /// Values that were fetched before they are asked for.
    pub fn stock(&mut self, sequence: GlobalId, values: impl IntoIterator<Item = i64>) {
        self.stock.entry(sequence).or_default().extend(values);
    }

    /// The session was given a value otherwise: by a default.
    pub fn given(&mut self, sequence: GlobalId, value: i64) {
        self.values.insert(sequence, value);
        self.last = Some(sequence);
    }

    /// The sequence whose value was given last, of several.
    pub fn last_given(&mut self, sequence: GlobalId) {
        self.last = Some(sequence);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = SequenceCalls::default();
    }

    fn answer(&mut self, call: SequenceCall) -> Result<SessionAnswer, EvalError> {
        if self.wanted.is_some() {
            // This attempt is lost, though AND and OR go on after an error.
            return Err(not_fetched());
        }
        if let Some((asked, answer)) = self.journal.get(self.repeated)
            && *asked == call
        {
            self.repeated += 1;
            return answer.clone();
        }
        // By chance (`random()`) the evaluation went another way this time.
        self.journal.truncate(self.repeated);
        let answer = match &call {
            SequenceCall::Next(sequence) => {
                match self.stock.get_mut(sequence).and_then(VecDeque::pop_front) {
                    Some(value) => {
                        self.given(*sequence, value);
                        Ok(value)
                    }
                    None => return Err(self.want(call)),
                }
            }
            SequenceCall::Set { .. }
            | SequenceCall::Configure { .. }
            | SequenceCall::Setting { .. }
            | SequenceCall::Sleep { .. }
            | SequenceCall::SleepUntil { .. } => return Err(self.want(call)),
            SequenceCall::Current(sequence, name) => {
                self.values.get(sequence).copied().ok_or_else(|| {
                    not_yet(format!(
                        "currval of sequence \"{name}\" is not yet defined in this session"
                    ))
                })
            }
            SequenceCall::Last => self
                .last
                .and_then(|sequence| self.values.get(&sequence).copied())
                .ok_or_else(|| not_yet("lastval is not yet defined in this session".into())),
        };
        let answer = answer.map(SessionAnswer::Value);
        self.journal.push((call, answer.clone()));
        self.repeated += 1;
        answer
    }

    fn want(&mut self, call: SequenceCall) -> EvalError {
        self.wanted = Some(call);
        not_fetched()
    }
}

fn not_fetched() -> EvalError {
    EvalError::new(SqlState::INTERNAL_ERROR, "a value of a sequence was not fetched")
}

fn not_yet(message: String) -> EvalError {
    EvalError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

fn call(call: SequenceCall) -> Result<Datum<'static>, EvalError> {
    match asked(call)? {
        SessionAnswer::Value(value) => Ok(Datum::Int8(value)),
        SessionAnswer::Text(_) => Ok(Datum::Null),
    }
}

/// The text that the session answers.
fn told<'a>(call: SequenceCall, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
    match asked(call)? {
        SessionAnswer::Text(Some(text)) => Ok(Datum::Text(cx.arena.alloc_str(&text))),
        _ => Ok(Datum::Null),
    }
}

fn asked(call: SequenceCall) -> Result<SessionAnswer, EvalError> {
    CURRENT.with_borrow_mut(|current| match current {
        Some(calls) => calls.answer(call),
        None => Err(not_here()),
    })
}

/// What a call answers that the session does not evaluate.
pub fn not_here() -> EvalError {
    let mut error = EvalError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "a function of a sequence or of the session in this place is not supported",
    );
    error.hint = Some("Call it in the select list of the outermost query, or in VALUES.".into());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: GlobalId = GlobalId(20_000);

    fn current() -> SequenceCall {
        SequenceCall::Current(S, "s".into())
    }

    #[test]
    fn an_evaluation_that_is_repeated_is_answered_as_before() {
        let mut calls = SequenceCalls::default();
        calls.begin();
        let sum = |calls: &mut SequenceCalls| {
            calls.evaluate(|| {
                let value = |asked| match call(asked) {
                    Ok(Datum::Int8(value)) => Ok(value),
                    Ok(_) => Ok(0),
                    Err(error) => Err(error.code),
                };
                let before = value(current());
                let next = value(SequenceCall::Next(S));
                (before, next, value(current()))
            })
        };
        let undefined = Err(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(sum(&mut calls).1.is_err());
        assert_eq!(calls.take_wanted(), Some(SequenceCall::Next(S)));
        calls.give(SequenceCall::Next(S), SessionAnswer::Value(7));
        assert_eq!(sum(&mut calls), (undefined, Ok(7), Ok(7)));
        assert_eq!(calls.take_wanted(), None);
        // Another row, from the stock.
        calls.begin();
        calls.stock(S, [8]);
        assert_eq!(sum(&mut calls), (Ok(7), Ok(8), Ok(8)));
        assert_eq!(call(SequenceCall::Last).unwrap_err().code, SqlState::FEATURE_NOT_SUPPORTED);
    }
}

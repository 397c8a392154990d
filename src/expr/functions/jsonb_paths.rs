//! jsonb reached and changed along paths: `#>`, `#>>`, `#-`, `jsonb_set`, `jsonb_insert`; lists of
//! keys: `?|`, `?&`, `-`; and objects made of arrays.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{array, bool, jsonb, text};
use crate::expr::functions::arrays::{array_of, subscript_error};
use crate::expr::functions::jsonb::{as_jsonb, as_text, exists};
use crate::expr::functions::registry::Family;
use crate::repr::ScalarType::{self, Bool, Jsonb, Text};
use crate::repr::jsonb::{JsonbArray, JsonbBuilder, JsonbItem, JsonbObject, JsonbRef};
use crate::repr::{ArrayRef, Datum};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

const TEXTS: ScalarType = array_of(Text);

#[cold]
fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn null_not_allowed(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}

/// What lies at the end of a path; nothing where a step is NULL.
fn at_path<'a>(value: JsonbRef<'a>, path: ArrayRef<'a>) -> Option<JsonbRef<'a>> {
    if path.has_nulls() {
        return None;
    }
    value.get_path(path.iter().map(text))
}

/// The keys of a list that are not NULL.
fn keys<'a>(list: Datum<'a>) -> impl Iterator<Item = &'a str> {
    array(list).iter().filter(|key| !key.is_null()).map(text)
}

/// Leaves out members, and elements that are strings, of these names.
fn without<'a>(value: JsonbRef<'a>, list: Datum<'a>, arena: &'a bumpalo::Bump) -> Answer<'a> {
    if array(list).dims.count() > 1 {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let is_listed = |name: &str| keys(list).any(|key| key == name);
    let mut builder = JsonbBuilder::new();
    match value.item() {
        JsonbItem::Object(object) => {
            builder.begin_object();
            for (name, member) in object.iter().filter(|(name, _)| !is_listed(name)) {
                builder.key(name);
                builder.raw(member);
            }
        }
        JsonbItem::Array(items) => {
            builder.begin_array();
            for item in items.iter() {
                if !matches!(item.item(), JsonbItem::String(s) if is_listed(s)) {
                    builder.raw(item);
                }
            }
        }
        _ => return Err(invalid("cannot delete from scalar")),
    }
    builder.end();
    Ok(Datum::Jsonb(builder.finish_in(arena)))
}

/// What happens at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Delete,
    Replace,
    /// Replaces, or adds what is missing.
    Set,
    InsertBefore,
    InsertAfter,
}

impl Change {
    fn adds(self) -> bool {
        matches!(self, Change::Set | Change::InsertBefore | Change::InsertAfter)
    }

    fn inserts(self) -> bool {
        matches!(self, Change::InsertBefore | Change::InsertAfter)
    }
}

/// PostgreSQL's `setPath`: a copy with a change at the end of a path.
struct Setter<'a> {
    path: Vec<Datum<'a>>,
    change: Change,
    /// Not looked at where the change is to delete.
    value: JsonbRef<'a>,
}

impl Setter<'_> {
    fn copy(
        &self,
        of: JsonbRef<'_>,
        level: usize,
        out: &mut JsonbBuilder,
    ) -> Result<(), EvalError> {
        if self.path[level].is_null() {
            let message = format!("path element at position {} is null", level + 1);
            return Err(null_not_allowed(message));
        }
        match of.item() {
            JsonbItem::Array(items) => self.copy_array(items, level, out),
            JsonbItem::Object(members) => self.copy_object(members, level, out),
            _ => {
                out.raw(of);
                Ok(())
            }
        }
    }

    fn is_last(&self, level: usize) -> bool {
        level + 1 == self.path.len()
    }

    fn copy_object(
        &self,
        members: JsonbObject<'_>,
        level: usize,
        out: &mut JsonbBuilder,
    ) -> Result<(), EvalError> {
        let step = text(self.path[level]);
        out.begin_object();
        let mut found = false;
        for (name, member) in members.iter() {
            if name != step {
                out.key(name);
                out.raw(member);
                continue;
            }
            found = true;
            if !self.is_last(level) {
                out.key(name);
                stacker::maybe_grow(32 << 10, 1 << 20, || self.copy(member, level + 1, out))?;
                continue;
            }
            if self.change.inserts() {
                let hint = "Try using the function jsonb_set to replace key value.";
                let error = invalid("cannot replace existing key");
                return Err(EvalError { hint: Some(hint.into()), ..error });
            }
            if self.change != Change::Delete {
                out.key(name);
                out.raw(self.value);
            }
        }
        if !found && self.is_last(level) && self.change.adds() {
            out.key(step);
            out.raw(self.value);
        }
        out.end();
        Ok(())
    }

    fn copy_array(
        &self,
        items: JsonbArray<'_>,
        level: usize,
        out: &mut JsonbBuilder,
    ) -> Result<(), EvalError> {
        let step = text(self.path[level]);
        let number = step.trim_start().parse::<i32>().map_err(|_| {
            let position = level + 1;
            let message =
                format!("path element at position {position} is not an integer: \"{step}\"");
            EvalError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })?;
        let count = items.len() as i64;
        let number = i64::from(number);
        let (place, is_before_all) = match number {
            ..0 if -number > count => (-1, true),
            ..0 => (count + number, false),
            _ => (number.min(count), false),
        };
        let adds = self.is_last(level) && self.change.adds();
        out.begin_array();
        let mut done = adds && (is_before_all || count == 0);
        if done {
            out.raw(self.value);
        }
        for (at, item) in (0..).zip(items.iter()) {
            if at != place {
                out.raw(item);
                continue;
            }
            done = true;
            if !self.is_last(level) {
                stacker::maybe_grow(32 << 10, 1 << 20, || self.copy(item, level + 1, out))?;
                continue;
            }
            match self.change {
                Change::Delete => {}
                Change::Replace | Change::Set => out.raw(self.value),
                Change::InsertBefore => {
                    out.raw(self.value);
                    out.raw(item);
                }
                Change::InsertAfter => {
                    out.raw(item);
                    out.raw(self.value);
                }
            }
        }
        if adds && !done {
            out.raw(self.value);
        }
        out.end();
        Ok(())
    }
}

fn changed<'a>(
    of: Datum<'a>,
    path: Datum<'a>,
    value: JsonbRef<'a>,
    change: Change,
    arena: &'a bumpalo::Bump,
) -> Answer<'a> {
    let (whole, path) = (jsonb(of), array(path));
    if path.dims.count() > 1 {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let count = match whole.item() {
        JsonbItem::Array(items) => items.len(),
        JsonbItem::Object(members) => members.len(),
        _ => {
            let verb = if change == Change::Delete { "delete" } else { "set" };
            return Err(invalid(format!("cannot {verb} path in scalar")));
        }
    };
    if path.is_empty() || count == 0 && !change.adds() {
        return Ok(of);
    }
    let setter = Setter { path: path.iter().collect(), change, value };
    let mut builder = JsonbBuilder::new();
    setter.copy(whole, 0, &mut builder)?;
    Ok(Datum::Jsonb(builder.finish_in(arena)))
}

fn set<'a>(args: &[Datum<'a>], arena: &'a bumpalo::Bump) -> Answer<'a> {
    let creates = args.get(3).is_none_or(|creates| bool(*creates));
    let change = if creates { Change::Set } else { Change::Replace };
    changed(args[0], args[1], jsonb(args[2]), change, arena)
}

/// `jsonb_set`, with a word that says what a value that is NULL does.
fn set_lax<'a>(args: &[Datum<'a>], arena: &'a bumpalo::Bump) -> Answer<'a> {
    let creates = args.get(3).copied().unwrap_or(Datum::Bool(true));
    if args[0].is_null() || args[1].is_null() || creates.is_null() {
        return Ok(Datum::Null);
    }
    let treatment = match args.get(4) {
        Some(Datum::Null) => None,
        Some(word) => Some(text(*word)),
        None => Some("use_json_null"),
    };
    let is_given = !args[2].is_null();
    match treatment {
        None => {}
        _ if is_given => return set(&[args[0], args[1], args[2], creates], arena),
        Some("raise_exception") => {
            let detail =
                "Exception was raised because null_value_treatment is \"raise_exception\".";
            let hint = "To avoid, either change the null_value_treatment argument or ensure that \
                        an SQL NULL is not passed.";
            let error = null_not_allowed("JSON value must not be null");
            return Err(EvalError {
                detail: Some(detail.into()),
                hint: Some(hint.into()),
                ..error
            });
        }
        Some("use_json_null") => {
            let mut null = JsonbBuilder::new();
            null.null();
            let null = Datum::Jsonb(null.finish_in(arena));
            return set(&[args[0], args[1], null, creates], arena);
        }
        Some("delete_key") => {
            return changed(args[0], args[1], jsonb(args[0]), Change::Delete, arena);
        }
        Some("return_target") => return Ok(args[0]),
        _ => {}
    }
    Err(invalid(
        "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
         \"raise_exception\"",
    ))
}

fn insert<'a>(args: &[Datum<'a>], arena: &'a bumpalo::Bump) -> Answer<'a> {
    let after = args.get(3).is_some_and(|after| bool(*after));
    let change = if after { Change::InsertAfter } else { Change::InsertBefore };
    changed(args[0], args[1], jsonb(args[2]), change, arena)
}

/// Puts a member of an object made of texts.
fn put_member(key: Datum<'_>, value: Datum<'_>, out: &mut JsonbBuilder) -> Result<(), EvalError> {
    if key.is_null() {
        return Err(null_not_allowed("null value not allowed for object key"));
    }
    out.key(text(key));
    match value {
        Datum::Null => out.null(),
        value => out.string(text(value)),
    }
    Ok(())
}

/// An object of alternating keys and values.
fn object_of_pairs<'a>(list: ArrayRef<'a>, arena: &'a bumpalo::Bump) -> Answer<'a> {
    match *list.dims.lengths() {
        [] => {}
        [count] if count % 2 != 0 => {
            return Err(subscript_error("array must have even number of elements"));
        }
        [_] | [_, 2] => {}
        [_, _] => return Err(subscript_error("array must have two columns")),
        _ => return Err(subscript_error("wrong number of array subscripts")),
    }
    let mut out = JsonbBuilder::new();
    out.begin_object();
    let mut items = list.iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        put_member(key, value, &mut out)?;
    }
    out.end();
    Ok(Datum::Jsonb(out.finish_in(arena)))
}

/// An object of a list of keys and one of values.
fn object_of_lists<'a>(
    names: ArrayRef<'a>,
    values: ArrayRef<'a>,
    arena: &'a bumpalo::Bump,
) -> Answer<'a> {
    if names.dims.count() > 1 || names.dims.count() != values.dims.count() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if names.len() != values.len() {
        return Err(subscript_error("mismatched array dimensions"));
    }
    let mut out = JsonbBuilder::new();
    out.begin_object();
    for (key, value) in names.iter().zip(values.iter()) {
        put_member(key, value, &mut out)?;
    }
    out.end();
    Ok(Datum::Jsonb(out.finish_in(arena)))
}

/// `#>`, whose function in SQL takes the steps as arguments.
const AT_PATH: u32 = 90_300;
const AT_PATH_TEXT: u32 = 90_301;
const WITHOUT_KEYS: u32 = 90_302;

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(AT_PATH, "jsonb #>", &[Jsonb, TEXTS], Jsonb, |args, cx| {
        Ok(as_jsonb(at_path(jsonb(args[0]), array(args[1])), cx.arena))
    })
    .nullable()
    .total(),
    FuncDef::new(AT_PATH_TEXT, "jsonb #>>", &[Jsonb, TEXTS], Text, |args, cx| {
        Ok(as_text(at_path(jsonb(args[0]), array(args[1])), cx.arena))
    })
    .nullable()
    .total(),
    FuncDef::new(WITHOUT_KEYS, "jsonb -", &[Jsonb, TEXTS], Jsonb, |args, cx| {
        without(jsonb(args[0]), args[1], cx.arena)
    }),
    FuncDef::new(4048, "jsonb_exists_any", &[Jsonb, TEXTS], Bool, |args, _| {
        Ok(Datum::Bool(keys(args[1]).any(|key| exists(jsonb(args[0]), key))))
    })
    .total(),
    FuncDef::new(4049, "jsonb_exists_all", &[Jsonb, TEXTS], Bool, |args, _| {
        Ok(Datum::Bool(keys(args[1]).all(|key| exists(jsonb(args[0]), key))))
    })
    .total(),
    FuncDef::new(3304, "jsonb_delete_path", &[Jsonb, TEXTS], Jsonb, |args, cx| {
        changed(args[0], args[1], jsonb(args[0]), Change::Delete, cx.arena)
    }),
    FuncDef::new(90_303, "jsonb_set", &[Jsonb, TEXTS, Jsonb], Jsonb, |args, cx| {
        set(args, cx.arena)
    }),
    FuncDef::new(3305, "jsonb_set", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, |args, cx| {
        set(args, cx.arena)
    }),
    FuncDef::new(90_304, "jsonb_set_lax", &[Jsonb, TEXTS, Jsonb], Jsonb, |args, cx| {
        set_lax(args, cx.arena)
    })
    .lax()
    .nullable(),
    FuncDef::new(90_305, "jsonb_set_lax", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, |args, cx| {
        set_lax(args, cx.arena)
    })
    .lax()
    .nullable(),
    FuncDef::new(5054, "jsonb_set_lax", &[Jsonb, TEXTS, Jsonb, Bool, Text], Jsonb, |args, cx| {
        set_lax(args, cx.arena)
    })
    .lax()
    .nullable(),
    FuncDef::new(90_306, "jsonb_insert", &[Jsonb, TEXTS, Jsonb], Jsonb, |args, cx| {
        insert(args, cx.arena)
    }),
    FuncDef::new(3579, "jsonb_insert", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, |args, cx| {
        insert(args, cx.arena)
    }),
    FuncDef::new(3263, "jsonb_object", &[TEXTS], Jsonb, |args, cx| {
        object_of_pairs(array(args[0]), cx.arena)
    }),
    FuncDef::new(3264, "jsonb_object", &[TEXTS, TEXTS], Jsonb, |args, cx| {
        object_of_lists(array(args[0]), array(args[1]), cx.arena)
    }),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Jsonb, "#>", TEXTS, AT_PATH),
    OperatorDef::infix(Jsonb, "#>>", TEXTS, AT_PATH_TEXT),
    OperatorDef::infix(Jsonb, "#-", TEXTS, 3304),
    OperatorDef::infix(Jsonb, "?|", TEXTS, 4048),
    OperatorDef::infix(Jsonb, "?&", TEXTS, 4049),
    OperatorDef::infix(Jsonb, "-", TEXTS, WITHOUT_KEYS),
];

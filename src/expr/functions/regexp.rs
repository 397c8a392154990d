//! Functions and operators of regular expressions.

use std::ops::Range;
use std::rc::Rc;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, text};
use crate::expr::functions::like::similar;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::regex::{Flags, Groups, Regex, compiled};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn invalid(parameter: &str, value: i32) -> EvalError {
    let message = format!("invalid value for parameter \"{parameter}\": {value}");
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn positive(parameter: &str, value: i32) -> Result<usize, EvalError> {
    usize::try_from(value).ok().filter(|v| *v > 0).ok_or_else(|| invalid(parameter, value))
}

fn natural(parameter: &str, value: i32) -> Result<usize, EvalError> {
    usize::try_from(value).map_err(|_| invalid(parameter, value))
}

/// An argument, or what stands for it where there is none.
fn int4_or(args: &[Datum<'_>], place: usize, otherwise: i32) -> i32 {
    args.get(place).map_or(otherwise, |arg| int4(*arg))
}

/// The options at a place, among which `g` is none.
pub(super) fn flags_of(
    args: &[Datum<'_>],
    place: usize,
    function: &str,
) -> Result<Flags, EvalError> {
    let flags = args.get(place).map_or(Ok(Flags::default()), |arg| Flags::parse(text(*arg)))?;
    if flags.global {
        let message = format!("{function}() does not support the \"global\" option");
        return Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(flags)
}

/// Matches from the front; behind an empty one the search goes on a character later.
pub(super) struct Matches<'t> {
    regex: Rc<Regex>,
    value: &'t str,
    /// None where the search is over.
    from: Option<usize>,
}

impl<'t> Matches<'t> {
    pub(super) fn new(regex: Rc<Regex>, value: &'t str, start: usize) -> Matches<'t> {
        let mut places = value.char_indices().map(|(at, _)| at).chain([value.len()]);
        Matches { regex, value, from: places.nth(start - 1) }
    }

    fn proceed(&mut self, found: Option<&Range<usize>>) {
        self.from = found.and_then(|found| {
            let skipped = match found.is_empty() {
                true => self.value[found.end..].chars().next()?.len_utf8(),
                false => 0,
            };
            Some(found.end + skipped)
        });
    }

    /// The next match.
    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        let found = self.regex.find_at(self.value, self.from?);
        self.proceed(found.as_ref());
        found
    }

    /// The next match with its groups.
    pub(super) fn next_groups(&mut self) -> Result<Option<Groups>, EvalError> {
        let Some(from) = self.from else { return Ok(None) };
        let groups = self.regex.groups_at(self.value, from)?;
        self.proceed(groups.as_ref().and_then(|groups| groups[0].as_ref()));
        Ok(groups)
    }
}

fn is_match(value: Datum<'_>, pattern: Datum<'_>, flags: Flags) -> Result<bool, EvalError> {
    Ok(compiled(text(pattern), flags)?.is_match(text(value)))
}

/// What `substring` answers: the first group, where there is one, or the match.
fn first_group<'a>(value: &'a str, pattern: &str) -> Answer<'a> {
    let regex = compiled(pattern, Flags::default())?;
    let found = regex.groups_at(value, 0)?;
    let wanted = usize::from(regex.groups() > 0);
    Ok(found
        .and_then(|groups| groups[wanted].clone())
        .map_or(Datum::Null, |r| Datum::Text(&value[r])))
}

/// A replacement: text, and the numbers of groups.
enum Piece<'r> {
    Text(&'r str),
    Group(usize),
}

fn pieces(replacement: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (vec![], replacement);
    while let Some(at) = rest.find('\\') {
        pieces.push(Piece::Text(&rest[..at]));
        let behind = &rest[at + 1..];
        match behind.as_bytes().first() {
            Some(digit @ b'1'..=b'9') => pieces.push(Piece::Group(usize::from(digit - b'0'))),
            Some(b'&') => pieces.push(Piece::Group(0)),
            Some(b'\\') => pieces.push(Piece::Text("\\")),
            // It stands for itself.
            _ => {
                pieces.push(Piece::Text(&rest[at..=at]));
                rest = behind;
                continue;
            }
        }
        rest = &behind[1..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// Replaces the match of a number, or all where it is 0.
fn replace(
    regex: Rc<Regex>,
    value: &str,
    replacement: &str,
    start: usize,
    number: usize,
) -> Result<String, EvalError> {
    let pieces = pieces(replacement);
    let needs_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
    let mut matches = Matches::new(regex, value, start);
    let (mut out, mut done, mut count) = (String::with_capacity(value.len()), 0, 0);
    loop {
        let groups = match needs_groups {
            true => matches.next_groups()?,
            false => matches.next().map(|found| vec![Some(found)]),
        };
        let Some(groups) = groups else { break };
        let Some(whole) = groups[0].clone() else { break };
        count += 1;
        if number > 0 && count != number {
            continue;
        }
        out.push_str(&value[done..whole.start]);
        for piece in &pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Group(group) => {
                    let span = groups.get(*group).cloned().flatten();
                    out.push_str(span.map_or("", |span| &value[span]));
                }
            }
        }
        done = whole.end;
        if number > 0 {
            break;
        }
    }
    out.push_str(&value[done..]);
    Ok(out)
}

/// What lies between the matches, of which empty ones count only behind the one before and
/// before the end (`regexp_split_to_table`; arguments value, pattern, and flags).
pub(super) fn split<'a>(args: &[Datum<'a>], function: &str) -> Result<Vec<&'a str>, EvalError> {
    let value = text(args[0]);
    let flags = flags_of(args, 2, function)?;
    let mut matches = Matches::new(compiled(text(args[1]), flags)?, value, 1);
    let (mut parts, mut begin, mut before) = (Vec::new(), 0, 0);
    while let Some(found) = matches.next() {
        if found.start < value.len() && found.end > before {
            parts.push(&value[begin..found.start]);
            begin = found.end;
        }
        before = found.end;
    }
    parts.push(&value[begin..]);
    Ok(parts)
}

/// `regexp_replace(value, pattern, replacement, flags)`.
fn replace_with_flags<'a>(args: &[Datum<'a>], flags: &str) -> Result<String, EvalError> {
    if let Some(digit) = flags.chars().next().filter(char::is_ascii_digit) {
        let message = format!("invalid regular expression option: \"{digit}\"");
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth \
                    argument to integer explicitly.";
        return Err(EvalError {
            hint: Some(hint.into()),
            ..EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        });
    }
    let flags = Flags::parse(flags)?;
    let regex = compiled(text(args[1]), flags)?;
    replace(regex, text(args[0]), text(args[2]), 1, usize::from(!flags.global))
}

/// `regexp_replace(value, pattern, replacement, start [, number [, flags]])`.
fn replace_from(args: &[Datum<'_>]) -> Result<String, EvalError> {
    let start = positive("start", int4(args[3]))?;
    let number = natural("n", int4_or(args, 4, 1))?;
    let flags = args.get(5).map_or(Ok(Flags::default()), |arg| Flags::parse(text(*arg)))?;
    replace(compiled(text(args[1]), flags)?, text(args[0]), text(args[2]), start, number)
}

/// The match of a number, or one of its groups, from arguments `start`, `number`, `flags`, `group`.
fn nth<'a>(
    args: &[Datum<'a>],
    function: &str,
    [start, number, flags, group]: [usize; 4],
) -> Result<Option<Range<usize>>, EvalError> {
    let from = positive("start", int4_or(args, start, 1))?;
    let number = positive("n", int4_or(args, number, 1))?;
    // `endoption`, which only one function has.
    let option = if function == "regexp_instr" { int4_or(args, 4, 0) } else { 0 };
    if !matches!(option, 0 | 1) {
        return Err(invalid("endoption", option));
    }
    let group = natural("subexpr", int4_or(args, group, 0))?;
    let flags = flags_of(args, flags, function)?;
    let regex = compiled(text(args[1]), flags)?;
    // Without groups, the whole match is the first.
    let group = if group == 1 && regex.groups() == 0 { 0 } else { group };
    if group > regex.groups() {
        return Ok(None);
    }
    let mut matches = Matches::new(regex, text(args[0]), from);
    for _ in 1..number {
        if matches.next().is_none() {
            return Ok(None);
        }
    }
    if group == 0 {
        return Ok(matches.next());
    }
    Ok(matches.next_groups()?.and_then(|groups| groups[group].clone()))
}

fn substr<'a>(args: &[Datum<'a>]) -> Answer<'a> {
    let found = nth(args, "regexp_substr", [2, 3, 4, 5])?;
    Ok(found.map_or(Datum::Null, |span| Datum::Text(&text(args[0])[span])))
}

/// Where a match starts, or where it is over; 0 where there is none.
fn instr<'a>(args: &[Datum<'a>]) -> Answer<'a> {
    let found = nth(args, "regexp_instr", [2, 3, 5, 6])?;
    let at_end = int4_or(args, 4, 0) == 1;
    let place = found.map_or(0, |span| {
        let at = if at_end { span.end } else { span.start };
        text(args[0])[..at].chars().count() as i32 + 1
    });
    Ok(Datum::Int4(place))
}

fn count<'a>(args: &[Datum<'a>]) -> Answer<'a> {
    let start = positive("start", int4_or(args, 2, 1))?;
    let flags = flags_of(args, 3, "regexp_count")?;
    let mut matches = Matches::new(compiled(text(args[1]), flags)?, text(args[0]), start);
    let mut count = 0;
    while matches.next().is_some() {
        count += 1;
    }
    Ok(Datum::Int4(count))
}

macro_rules! operators {
    ($oid:literal $name:literal $ty:ident, $flags:expr, $wanted:literal) => {
        FuncDef::new($oid, $name, &[$ty, Text], Bool, |args, _| {
            Ok(Datum::Bool(is_match(args[0], args[1], $flags)? == $wanted))
        })
    };
}

macro_rules! replaces {
    ($oid:literal $args:expr, |$values:ident| $compute:expr) => {
        FuncDef::new($oid, "regexp_replace", $args, Text, |args, cx| {
            let $values = args;
            Ok(Datum::Text(cx.arena.alloc_str(&$compute)))
        })
    };
}

macro_rules! substrs {
    ($oid:literal $args:expr) => {
        FuncDef::new($oid, "regexp_substr", $args, Text, |args, _| substr(args)).nullable()
    };
}

macro_rules! instrs {
    ($oid:literal $args:expr) => {
        FuncDef::new($oid, "regexp_instr", $args, Int4, |args, _| instr(args))
    };
}

macro_rules! counts {
    ($oid:literal $args:expr) => {
        FuncDef::new($oid, "regexp_count", $args, Int4, |args, _| count(args))
    };
}

const FUNCTIONS: &[FuncDef] = &[
    operators!(1254 "textregexeq" Text, Flags::default(), true),
    operators!(1256 "textregexne" Text, Flags::default(), false),
    operators!(1238 "texticregexeq" Text, Flags::IGNORE_CASE, true),
    operators!(1239 "texticregexne" Text, Flags::IGNORE_CASE, false),
    operators!(79 "nameregexeq" Name, Flags::default(), true),
    operators!(1252 "nameregexne" Name, Flags::default(), false),
    operators!(1240 "nameicregexeq" Name, Flags::IGNORE_CASE, true),
    operators!(1241 "nameicregexne" Name, Flags::IGNORE_CASE, false),
    operators!(1658 "bpcharregexeq" Bpchar, Flags::default(), true),
    operators!(1659 "bpcharregexne" Bpchar, Flags::default(), false),
    operators!(1656 "bpcharicregexeq" Bpchar, Flags::IGNORE_CASE, true),
    operators!(1657 "bpcharicregexne" Bpchar, Flags::IGNORE_CASE, false),
    FuncDef::new(6263, "regexp_like", &[Text, Text], Bool, |args, _| {
        Ok(Datum::Bool(is_match(args[0], args[1], Flags::default())?))
    }),
    FuncDef::new(6264, "regexp_like", &[Text, Text, Text], Bool, |args, _| {
        let flags = flags_of(args, 2, "regexp_like")?;
        Ok(Datum::Bool(is_match(args[0], args[1], flags)?))
    }),
    FuncDef::new(2073, "substring", &[Text, Text], Text, |args, _| {
        first_group(text(args[0]), text(args[1]))
    })
    .nullable(),
    FuncDef::new(2074, "substring", &[Text, Text, Text], Text, |args, _| {
        first_group(text(args[0]), &similar(text(args[1]), Some(text(args[2])))?)
    })
    .nullable(),
    replaces!(2284 & [Text, Text, Text], |args| replace_with_flags(args, "")?),
    replaces!(2285 & [Text, Text, Text, Text], |args| replace_with_flags(args, text(args[3]))?),
    replaces!(6253 & [Text, Text, Text, Int4], |args| replace_from(args)?),
    replaces!(6252 & [Text, Text, Text, Int4, Int4], |args| replace_from(args)?),
    replaces!(6251 & [Text, Text, Text, Int4, Int4, Text], |args| replace_from(args)?),
    substrs!(6265 & [Text, Text]),
    substrs!(6266 & [Text, Text, Int4]),
    substrs!(6267 & [Text, Text, Int4, Int4]),
    substrs!(6268 & [Text, Text, Int4, Int4, Text]),
    substrs!(6269 & [Text, Text, Int4, Int4, Text, Int4]),
    instrs!(6257 & [Text, Text]),
    instrs!(6258 & [Text, Text, Int4]),
    instrs!(6259 & [Text, Text, Int4, Int4]),
    instrs!(6260 & [Text, Text, Int4, Int4, Int4]),
    instrs!(6261 & [Text, Text, Int4, Int4, Int4, Text]),
    instrs!(6262 & [Text, Text, Int4, Int4, Int4, Text, Int4]),
    counts!(6254 & [Text, Text]),
    counts!(6255 & [Text, Text, Int4]),
    counts!(6256 & [Text, Text, Int4, Text]),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Text, "~", Text, 1254),
    OperatorDef::infix(Text, "!~", Text, 1256),
    OperatorDef::infix(Text, "~*", Text, 1238),
    OperatorDef::infix(Text, "!~*", Text, 1239),
    OperatorDef::infix(Name, "~", Text, 79),
    OperatorDef::infix(Name, "!~", Text, 1252),
    OperatorDef::infix(Name, "~*", Text, 1240),
    OperatorDef::infix(Name, "!~*", Text, 1241),
    OperatorDef::infix(Bpchar, "~", Text, 1658),
    OperatorDef::infix(Bpchar, "!~", Text, 1659),
    OperatorDef::infix(Bpchar, "~*", Text, 1656),
    OperatorDef::infix(Bpchar, "!~*", Text, 1657),
];

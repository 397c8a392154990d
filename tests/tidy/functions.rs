//! The length of functions.

use crate::Faults;
use crate::source::Source;

use regex::Regex;

/// Longest function, in lines from `fn` to its closing brace.
const LINES_MAX: usize = 70;
/// Longest dispatcher: a function that is one match with short arms.
const DISPATCHER_LINES_MAX: usize = 150;
/// How many lines of a dispatcher may stand around its match.
const DISPATCHER_AROUND_MAX: usize = 20;
/// How long an arm of a dispatcher may be.
const ARM_LINES_MAX: usize = 10;

/// Fails functions that are too long, in tests too.
pub fn check(source: &Source, faults: &mut Faults<'_>) {
    let function = Regex::new(r"\bfn (\w+)").unwrap();
    for found in function.captures_iter(&source.code) {
        let start = found.get(0).unwrap().start();
        let Some(body) = body(&source.code[start..]) else { continue };
        let (first, last) = (source.line_of(start), source.line_of(start + body.1));
        let lines = last - first + 1;
        if lines <= LINES_MAX {
            continue;
        }
        let text = &source.code[start + body.0..=start + body.1];
        let allowed = if is_dispatcher(text) { DISPATCHER_LINES_MAX } else { LINES_MAX };
        if lines > allowed {
            let what = format!("{} has {lines} lines, {allowed} allowed", &found[1]);
            faults.add("function length", first, what);
        }
    }
}

/// The offsets of a function's braces; none where it has no body.
fn body(code: &str) -> Option<(usize, usize)> {
    let mut brackets = 0;
    for (offset, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 => return None,
            '{' if brackets == 0 => return Some((offset, offset + closing(&code[offset..])?)),
            _ => {}
        }
    }
    None
}

/// The offset of the brace that closes the first one.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (offset, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(offset);
        }
    }
    None
}

fn is_dispatcher(body: &str) -> bool {
    let table = Regex::new(r"\bmatch [^{};]*\{|\bmatch_\w+! ?\{").unwrap();
    let lines = |text: &str| text.matches('\n').count();
    table.find_iter(body).any(|found| {
        let open = found.end() - 1;
        let Some(length) = closing(&body[open..]) else { return false };
        let inner = &body[open + 1..open + length];
        lines(body) - lines(inner) <= DISPATCHER_AROUND_MAX && longest_arm(inner) <= ARM_LINES_MAX
    })
}

/// The most lines between two arrows that stand directly in the match.
fn longest_arm(inner: &str) -> usize {
    let (mut depth, mut line, mut last, mut longest) = (0i32, 0, 0, 0);
    let bytes = inner.as_bytes();
    for (offset, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            b'\n' => line += 1,
            b'=' if depth == 0 && bytes.get(offset + 1) == Some(&b'>') => {
                longest = longest.max(line - last);
                last = line;
            }
            _ => {}
        }
    }
    longest.max(line - last)
}

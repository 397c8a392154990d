//! The tree of a pull whose pattern repeats itself, made of what is known of each entity.
//!
//! The entities come as an object: under its number each has an array, first the object that the
//! pattern makes of it without what repeats, then for each attribute that repeats it the numbers
//! of the entities to which that leads. The tree is a path at a time: an entity that stands above
//! itself is shown by its number alone, so that cycles end. One that is reached by several ways is
//! repeated, which can make a large tree of a small graph; so its size and depth are limited.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::{integer, jsonb};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{Int8, Jsonb};
use crate::repr::jsonb::{JsonbBuilder, JsonbItem, JsonbRef};
use crate::repr::numeric::Numeric;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

/// The most entities that a tree may show.
const ENTITIES_MAX: usize = 100_000;
/// The deepest nesting of entities.
const DEPTH_MAX: usize = 200;

/// An attribute that repeats the pattern.
struct Again<'a> {
    key: &'a str,
    many: bool,
    times: Option<u64>,
}

struct Tree<'a> {
    nodes: JsonbRef<'a>,
    again: Vec<Again<'a>>,
    /// The entities above the one that is being shown.
    path: Vec<String>,
    shown: usize,
}

impl<'a> Tree<'a> {
    /// What is shown of an entity; none where nothing is known. `left`: how often each attribute
    /// may still repeat the pattern.
    fn entity(
        &mut self,
        number: &str,
        left: &[Option<u64>],
    ) -> Result<Option<JsonbBuilder>, EvalError> {
        let Some(JsonbItem::Array(node)) = self.nodes.get(number).map(JsonbRef::item) else {
            return Ok(None);
        };
        self.shown += 1;
        if self.shown > ENTITIES_MAX || self.path.len() >= DEPTH_MAX {
            return Err(EvalError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "a pull shows more than {ENTITIES_MAX} entities, or nests deeper than \
                     {DEPTH_MAX}"
                ),
            ));
        }
        self.path.push(number.to_owned());
        let mut parts = node.iter();
        let mut out = JsonbBuilder::new();
        out.begin_object();
        let mut empty = true;
        if let Some(JsonbItem::Object(own)) = parts.next().map(JsonbRef::item) {
            for (key, value) in own.iter() {
                out.key(key);
                out.raw(value);
                empty = false;
            }
        }
        for (at, children) in parts.enumerate() {
            if left.get(at) == Some(&Some(0)) {
                continue;
            }
            let mut left = left.to_vec();
            left[at] = left[at].map(|times| times - 1);
            let shown = self.children(children, &left)?;
            if shown.is_empty() {
                continue;
            }
            empty = false;
            out.key(self.again[at].key);
            match (self.again[at].many, shown.as_slice()) {
                (false, [one]) => out.raw(JsonbRef(one.finish())),
                (_, several) => {
                    out.begin_array();
                    several.iter().for_each(|child| out.raw(JsonbRef(child.finish())));
                    out.end();
                }
            }
        }
        out.end();
        self.path.pop();
        Ok((!empty).then_some(out))
    }

    fn children(
        &mut self,
        children: JsonbRef<'a>,
        left: &[Option<u64>],
    ) -> Result<Vec<JsonbBuilder>, EvalError> {
        let JsonbItem::Array(children) = children.item() else { return Ok(vec![]) };
        let mut shown = Vec::with_capacity(children.len());
        for child in children.iter() {
            let JsonbItem::String(number) = child.item() else { continue };
            if self.path.iter().any(|above| above == number) {
                let mut cycle = JsonbBuilder::new();
                cycle.begin_object();
                cycle.key("db/id");
                cycle.number(&Numeric::from(number.parse::<i64>().unwrap_or_default()));
                cycle.end();
                shown.push(cycle);
            } else {
                shown.extend(self.entity(number, left)?);
            }
        }
        Ok(shown)
    }
}

fn again(spec: JsonbRef<'_>) -> Vec<Again<'_>> {
    let JsonbItem::Array(spec) = spec.item() else { return vec![] };
    let parts = spec.iter().filter_map(|part| {
        let JsonbItem::String(key) = part.index(0)?.item() else { return None };
        let many = matches!(part.index(1)?.item(), JsonbItem::Bool(true));
        let times = part.index(2).and_then(JsonbRef::as_text);
        Some(Again { key, many, times: times.and_then(|times| times.parse().ok()) })
    });
    parts.collect()
}

fn tree<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
    let again = again(jsonb(args[2]));
    let left: Vec<Option<u64>> = again.iter().map(|part| part.times).collect();
    let mut tree = Tree { nodes: jsonb(args[0]), again, path: vec![], shown: 0 };
    let JsonbItem::Object(nodes) = tree.nodes.item() else { return Ok(Datum::Null) };
    let width = nodes.iter().next().and_then(|(_, node)| match node.item() {
        JsonbItem::Array(parts) => parts.len().checked_sub(1),
        _ => None,
    });
    if width.is_some_and(|width| width != left.len()) {
        return Err(EvalError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "the entities of a tree do not fit its attributes",
        ));
    }
    Ok(match tree.entity(&integer(args[1]).to_string(), &left)? {
        Some(tree) => Datum::Jsonb(tree.finish_in(cx.arena)),
        None => Datum::Null,
    })
}

const FUNCTIONS: &[FuncDef] =
    &[FuncDef::new(90_920, "weir_pull_tree", &[Jsonb, Int8, Jsonb], Jsonb, tree).nullable()];

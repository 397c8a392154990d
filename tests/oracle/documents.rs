//! Random expressions over jsonb, and from it.
//!
//! Numbers in documents are integers, so that equal documents are spelled alike.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

pub fn document(rng: &mut StdRng) -> String {
    let n = rng.random_range(0..3);
    let text = match rng.random_range(0..9) {
        0 => "null".to_string(),
        1 => n.to_string(),
        2 => format!("\"{}\"", ["a", "b", ""][n]),
        3 => format!("[{n}, \"a\"]"),
        4 => "[]".to_string(),
        5 => format!("{{\"a\": {n}}}"),
        6 => format!("{{\"b\": [{n}, null], \"a\": \"x\"}}"),
        7 => format!("{{\"a\": {{\"b\": {n}}}}}"),
        _ => "{}".to_string(),
    };
    format!("'{text}'::jsonb")
}

impl Scope {
    /// A document.
    pub fn document(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Doc), next(Type::Doc), next(Type::Int));
        let text = next(Type::Text);
        match rng.random_range(0..15) {
            0 => format!("({a} -> 'a')"),
            1 => format!("({a} -> {n})"),
            2 => format!("({a} #> '{{a,b}}')"),
            3 => format!("({a} || {b})"),
            4 => format!("jsonb_build_object('a', {n}, 'b', {text})"),
            5 => format!("jsonb_build_array({a}, {n})"),
            6 => format!("to_jsonb({text})"),
            7 => format!("CASE WHEN jsonb_typeof({a}) = 'object' THEN {a} - 'a' END"),
            8 => format!("jsonb_set('{{\"a\": 1}}', '{{a}}', {a})"),
            9 => format!("jsonb_strip_nulls({a})"),
            10 => format!("jsonb_path_query_array({a}, '$[*] ? (@ > 0)')"),
            11 => format!("jsonb_path_query_first({a}, '$.** ? (@.type() == \"number\")')"),
            12 => format!("jsonb_path_query_first({a}, '$.a + $n', jsonb_build_object('n', {n}))"),
            13 => format!("jsonb_path_query_array({a}, 'strict $.a')"),
            _ => format!("CASE WHEN jsonb_typeof({a}) = 'array' THEN {a} - 0 END"),
        }
    }

    /// A text out of a document.
    pub fn of_document(&self, rng: &mut StdRng, depth: usize) -> String {
        let a = self.expression(rng, Type::Doc, depth);
        match rng.random_range(0..4) {
            0 => format!("({a} ->> 'a')"),
            1 => format!("jsonb_typeof({a})"),
            2 => format!("({a} #>> '{{b,0}}')"),
            _ => format!("{a}::text"),
        }
    }

    /// Whether something holds of documents.
    pub fn about_document(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b) = (next(Type::Doc), next(Type::Doc));
        match rng.random_range(0..7) {
            0 => format!("({a} @> {b})"),
            4 => format!("({a} @? '$.a ? (@ >= 1)')"),
            5 => format!("({a} @@ '$[*] == \"a\" || exists($.b)')"),
            6 => format!("jsonb_path_exists({a}, 'strict $.a.b')"),
            1 => format!("({a} ? 'a')"),
            2 => format!("({a} ?| '{{a,b}}')"),
            _ => format!("({a} <@ {b})"),
        }
    }
}

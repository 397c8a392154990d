//! Every function, operator and cast of PostgreSQL's catalog over the types that are known here,
//! called with values from the edges of each type.
//!
//! What Weir does not have is counted, and named; what it has answers as PostgreSQL does, by text
//! or by SQLSTATE, where all calls are in one statement and where each is a constant of its own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::Rng;
use rand::rngs::StdRng;

use crate::answer::{Answer, Verdict, compare};
use crate::support::weir::Weir;
use crate::support::wire::{Client, Outcome, Report};

/// Calls of one signature in a round.
const CALLS: usize = 14;

/// The values that a type is tried with; NULL is one more for each.
const VALUES: &[(&str, &[&str])] = &[
    ("smallint", &["0", "1", "-1", "7", "32767", "-32768"]),
    ("integer", &["0", "1", "2", "-1", "5", "10", "2147483647", "-2147483648"]),
    ("bigint", &["0", "1", "-3", "64", "9223372036854775807", "-9223372036854775808"]),
    ("real", &["0", "-0", "1.5", "-2.25", "3.4e38", "1e-40", "NaN", "Infinity", "-Infinity"]),
    (
        "double precision",
        &["0", "-0", "0.5", "-1.5", "1", "100.25", "1e300", "5e-324", "NaN", "Infinity"],
    ),
    (
        "numeric",
        &["0", "1", "1.00", "-2.5", "3.14159", "123456789012345678901234567890", "1e-20", "NaN"],
    ),
    (
        "text",
        &["", "a", "abc", "Ab c", " x ", "é🎈", "a%b_c", "10", "-3.5", "a.b", "2024-02-29", "day"],
    ),
    ("character varying", &["", "abc", "Ab ", "é"]),
    ("character", &["", "a ", "abc"]),
    ("boolean", &["true", "false"]),
    ("bytea", &["\\x", "\\x00", "\\x616263", "\\xff00ff"]),
    (
        "date",
        &["2024-02-29", "1970-01-01", "0044-03-15 BC", "infinity", "-infinity", "5874897-12-31"],
    ),
    ("time without time zone", &["00:00", "12:34:56.789012", "24:00"]),
    ("time with time zone", &["00:00+00", "12:34:56.789012-03:30", "24:00+15"]),
    (
        "timestamp without time zone",
        &["2024-02-29 12:34:56.789012", "1999-12-31 23:59:59.999999", "infinity", "0044-03-15 BC"],
    ),
    (
        "timestamp with time zone",
        &["2024-02-29 12:34:56.789012+02", "1970-01-01 00:00+00", "-infinity", "0044-03-15 BC"],
    ),
    (
        "interval",
        &["0", "1 day", "24:00", "-1 mon 2 days 03:04:05.6", "1 year", "30 days", "1 mon"],
    ),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("json", &["null", "1", "{\"a\": 1, \"b\": [1, 2]}", "[1,  \"x\", null]", "\"s\"", "[]", "{}"]),
    (
        "jsonb",
        &["null", "1.50", "{\"a\": 1, \"b\": [1, 2]}", "[1, \"x\", null]", "\"s\"", "[]", "{}"],
    ),
    ("jsonpath", &["$", "$.a", "$.b[*]", "strict $.c", "$.b[*] ? (@ > 1)", "$.a == 1"]),
    ("integer[]", &["{}", "{1}", "{3,1,2,1}", "{NULL,5}", "{{1,2},{3,4}}", "[0:1]={7,8}"]),
    ("text[]", &["{}", "{a}", "{b,NULL,\"x y\"}", "{a,1,b,2}", "{{a,1},{b,2}}"]),
    ("bit", &["1", "0"]),
    ("bit varying", &["", "1", "10110", "0000000000"]),
    ("macaddr", &["08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"]),
    ("inet", &["10.1.2.3", "10.1.2.0/24", "::1", "2001:db8::/32", "192.168.0.1/16"]),
    ("cidr", &["10.0.0.0/8", "10.1.2.0/24", "2001:db8::/32"]),
    ("int4range", &["empty", "[1,5)", "(,3]", "[4,)", "[5,9)"]),
    ("int8range", &["empty", "[1,5)", "(,)"]),
    ("numrange", &["empty", "[1.0,5)", "(1,5]", "(,2.5)"]),
    ("daterange", &["empty", "[2024-01-01,2024-02-01)", "[2024-01-31,)"]),
    ("tstzrange", &["empty", "[2024-01-01 00:00+00,2024-02-01 00:00+02]", "(,infinity]"]),
    ("tsrange", &["empty", "[2024-01-01,2024-02-01]", "(2024-01-31,)"]),
    ("int4multirange", &["{}", "{[1,5)}", "{[1,3),[5,9)}", "{(,)}"]),
    ("int8multirange", &["{}", "{[1,5)}", "{[1,3),[5,9223372036854775807)}"]),
    ("datemultirange", &["{}", "{[2024-01-01,2024-02-01),[2024-03-01,)}"]),
    ("nummultirange", &["{}", "{[1.5,2.5],(3,4)}"]),
    ("oid", &["0", "1", "4294967295"]),
    ("\"char\"", &["a", "", "\\377"]),
    ("name", &["", "abc", "Ab c"]),
];

/// How Weir says that it has no such thing.
const ABSENT: [&str; 6] = ["42883", "42704", "0A000", "42601", "42725", "42846"];

/// Calls whose answers are PostgreSQL's own slips: overflows that nobody looks at, and a zone of
/// which the end is not read.
const SLIPS: [(&str, &str); 12] = [
    ("\"age\"", "infinity"),
    ("\"make_interval\"", "2147483647"),
    ("\"make_interval\"", "-2147483648"),
    ("\"make_interval\"", "1e300"),
    ("\"inetmi_int8\"", "-9223372036854775808"),
    ("({0} - {1})", "-9223372036854775808'::bigint"),
    ("\"width_bucket\"", "2147483647"),
    ("\"timezone\"", "-3.5"),
    ("\"date_trunc\"", "-3.5"),
    // Half a character, which is no text.
    ("\"bpchar\"", "\\377"),
    ("({0}::character)", "\\377"),
    ("({0}::character)", "''::\"char\""),
];

/// What a polymorphic parameter is tried with.
const POLYMORPHIC: &[(&str, &str)] = &[
    ("anyelement", "integer"),
    ("anyarray", "integer[]"),
    ("anynonarray", "integer"),
    ("anycompatible", "integer"),
    ("anycompatiblenonarray", "integer"),
    ("anycompatiblearray", "integer[]"),
    ("anyrange", "int4range"),
    ("anymultirange", "int4multirange"),
    ("anycompatiblerange", "int4range"),
    ("anycompatiblemultirange", "int4multirange"),
    ("\"any\"", "text"),
];

const FUNCTIONS: &str = "SELECT proname, array_to_string(ARRAY(SELECT format_type(t, NULL) \
    FROM unnest(proargtypes) WITH ORDINALITY x(t, n) ORDER BY n), '|') FROM pg_proc \
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset \
    AND provolatile <> 'v' AND provariadic = 0 AND pronargs > 0 \
    AND proname !~ '^(acl|pg_|has_|current|inet_[cs]|txid_|to_reg|hash|gin|gist|brin|sp|ts)' \
    AND prorettype NOT IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype) \
    ORDER BY 1, 2";
const OPERATORS: &str = "SELECT oprname, format_type(oprleft, NULL), format_type(oprright, NULL), \
    oprleft = 0 FROM pg_operator ORDER BY 1, 2, 3";
const CASTS: &str = "SELECT format_type(castsource, NULL), format_type(casttarget, NULL) \
    FROM pg_cast ORDER BY 1, 2";

/// What is called: its text with `{0}`, `{1}`, … for what it is given, of these types.
struct Signature {
    text: String,
    types: Vec<&'static str>,
}

impl Signature {
    /// None where a type is none of ours.
    fn new(text: String, names: &[&str]) -> Option<Signature> {
        let known = |name: &&str| {
            let plain = POLYMORPHIC.iter().find(|(general, _)| general == name);
            let plain = plain.map_or(*name, |(_, plain)| plain);
            VALUES.iter().find(|(ty, _)| *ty == plain).map(|(ty, _)| *ty)
        };
        let types = names.iter().map(known).collect::<Option<Vec<_>>>()?;
        Some(Signature { text, types })
    }

    fn of(&self, arguments: &[String]) -> String {
        let mut text = self.text.clone();
        for (n, argument) in arguments.iter().enumerate() {
            text = text.replace(&format!("{{{n}}}"), argument);
        }
        text
    }

    fn is_slip(&self, call: &[String]) -> bool {
        SLIPS.iter().any(|(name, value)| {
            self.text.starts_with(name) && call.iter().any(|argument| argument.contains(value))
        })
    }

    /// Some of what it can be called with.
    fn draw(&self, rng: &mut StdRng) -> Vec<String> {
        let one = |ty: &&'static str| {
            let values = VALUES.iter().find(|(name, _)| name == ty).map_or(&[][..], |(_, v)| v);
            match values.get(rng.random_range(0..values.len() * 10 / 9 + 1)) {
                Some(value) => format!("'{}'::{ty}", value.replace('\'', "''")),
                None => format!("NULL::{ty}"),
            }
        };
        self.types.iter().map(one).collect()
    }
}

/// What was seen of all signatures.
#[derive(Debug, Default)]
pub struct Seen {
    pub signatures: usize,
    pub calls: usize,
    /// What Weir does not have, by what it answers.
    pub missing: BTreeMap<String, Vec<String>>,
    pub faults: Vec<String>,
}

/// All signatures over types that are known here.
fn signatures(postgres: &mut Client) -> Vec<Signature> {
    let mut ask = |sql: &str| {
        let rows = postgres.run(sql).rows(sql).into_iter();
        rows.map(|row| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for row in ask(FUNCTIONS) {
        let types: Vec<&str> = row[1].split('|').collect();
        let holes: Vec<String> = (0..types.len()).map(|n| format!("{{{n}}}")).collect();
        all.extend(Signature::new(format!("\"{}\"({})", row[0], holes.join(", ")), &types));
    }
    for row in ask(OPERATORS) {
        let (text, types) = match row[3].as_str() {
            "t" => (format!("({} {{0}})", row[0]), vec![row[2].as_str()]),
            _ => (format!("({{0}} {} {{1}})", row[0]), vec![row[1].as_str(), row[2].as_str()]),
        };
        all.extend(Signature::new(text, &types));
    }
    for row in ask(CASTS) {
        all.extend(Signature::new(format!("({{0}}::{})", row[1]), &[row[0].as_str()]));
    }
    for (ty, _) in VALUES {
        all.extend(Signature::new("({0}::text)".to_string(), &[ty]));
        all.extend(Signature::new(format!("({{0}}::{ty})"), &["text"]));
    }
    all
}

/// Weir, asked again by a new session where one broke.
struct Ours<'a> {
    weir: &'a Weir,
    client: Client,
}

impl Ours<'_> {
    fn ask(&mut self, sql: &str) -> Answer {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.client.run(sql)));
        Answer::of(outcome.unwrap_or_else(|_| {
            self.client = self.weir.client();
            let fields = [('C', "XX000"), ('M', "the session broke")];
            let fields = fields.map(|(name, text)| (name, text.to_string())).into();
            Outcome { error: Some(Report { fields }), ..Outcome::default() }
        }))
    }
}

/// Calls each signature on both.
pub fn call_all(weir: &Weir, theirs: &mut Client, rng: &mut StdRng, rounds: usize) -> Seen {
    let mut seen = Seen::default();
    let mut ours = Ours { weir, client: weir.client() };
    for signature in signatures(theirs) {
        let nulls: Vec<String> = signature.types.iter().map(|ty| format!("NULL::{ty}")).collect();
        let probe = format!("SELECT {}", signature.of(&nulls));
        let (our_probe, their_probe) = (ours.ask(&probe), theirs.run(&probe));
        if their_probe.error.is_some_and(|error| error.code().starts_with("42")) {
            continue;
        }
        if let Some(error) = our_probe.error
            && ABSENT.contains(&error.code())
        {
            let types = signature.types.join(", ");
            let what = format!("{} over {types}", signature.text);
            seen.missing.entry(error.code().to_string()).or_default().push(what);
            continue;
        }
        seen.signatures += 1;
        let calls: Vec<Vec<String>> = (0..CALLS * rounds)
            .map(|_| signature.draw(rng))
            .filter(|call| !signature.is_slip(call))
            .collect();
        seen.calls += calls.len();
        seen.faults.extend(check(&mut ours, theirs, &signature, &calls));
    }
    seen
}

/// The first difference of a signature.
fn check(
    ours: &mut Ours<'_>,
    theirs: &mut Client,
    signature: &Signature,
    calls: &[Vec<String>],
) -> Option<String> {
    let names: Vec<String> = (0..signature.types.len()).map(|n| format!("a{n}")).collect();
    let rows = calls.iter().enumerate().map(|(n, call)| format!("({n}, {})", call.join(", ")));
    let together = format!(
        "SELECT n, {} AS r FROM (VALUES {}) v(n, {})",
        signature.of(&names),
        rows.collect::<Vec<_>>().join(", "),
        names.join(", ")
    );
    let answer = Answer::of(theirs.run(&together));
    if answer.error.is_none()
        && let Verdict::Equal = compare("", &ours.ask(&together), &answer)
    {
        return None;
    }
    calls.iter().find_map(|call| {
        let sql = format!("SELECT {} AS r", signature.of(call));
        let (own, answer) = (ours.ask(&sql), Answer::of(theirs.run(&sql)));
        let code = |answer: &Answer| answer.error.as_ref().map(|error| error.code().to_string());
        // What PostgreSQL did not expect itself is an error of its own, as in `compare`.
        let is_internal = code(&answer).is_some_and(|code| code == "XX000");
        if is_internal || code(&own).is_some_and(|code| code == "0A000") {
            return None;
        }
        if code(&own) == code(&answer) {
            return match compare(&sql, &own, &answer) {
                Verdict::Different(what) => Some(what),
                _ => None,
            };
        }
        let spell = |answer: &Answer| match &answer.error {
            Some(error) => error.to_string(),
            None => format!("{:?}", answer.rows),
        };
        Some(format!("{sql}\n  Weir: {}\n  PostgreSQL: {}", spell(&own), spell(&answer)))
    })
}

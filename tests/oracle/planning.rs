//! How the optimizer goes about a query: joins planned in some way, a rule left out. Whatever is
//! drawn here, answers have to be the same.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use weir::optimizer::pipeline::{FINISH, SIMPLIFY};

/// Rules that spare computations, and so what fails in them: PostgreSQL spares it too. The last two
/// bring plans into the shapes that the others know.
const SPARING: [&str; 5] =
    ["projection_pushdown", "union_cancelling", "redundant_joins", "fuse", "union_flattening"];

/// Statements that set it.
pub fn somehow(rng: &mut StdRng) -> String {
    let joins = ["auto", "auto", "linear", "delta", "wco"].choose(rng).unwrap();
    let rules = SIMPLIFY.iter().chain(FINISH).map(|rule| rule.name);
    let rules: Vec<&str> = rules.filter(|rule| !SPARING.contains(rule)).collect();
    let without = if rng.random_bool(0.3) { rules.choose(rng).unwrap() } else { "" };
    format!("SET weir.join_strategy = '{joins}'; SET weir.disabled_rules = '{without}'")
}

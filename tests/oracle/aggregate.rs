//! Random aggregates that look at more than a sum, and random grouping sets.

use rand::Rng;

use crate::expression::Scope;
use crate::query::{Maker, Type};

impl Maker<'_> {
    /// A statistic, bits, or an aggregate that depends on an order, which is told fully.
    pub fn rich_aggregate(&mut self, scope: &Scope) -> (String, Type) {
        let any = Type::ALL[self.rng.random_range(0..Type::ALL.len())];
        let number = [Type::Int, Type::Big, Type::Numeric][self.rng.random_range(0..3)];
        let mut of = |ty, depth| scope.expression(self.rng, ty, depth);
        let (value, exact, text) = (of(any, 1), of(number, 1), of(Type::Text, 1));
        let (int, condition) = (of(Type::Int, 1), of(Type::Bool, 1));
        // What a float is computed from, PostgreSQL rounds; columns alone are added exactly.
        let (y, x) = (of(Type::Float, 0), of(Type::Float, 0));
        let direction = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"];
        let direction = direction[self.rng.random_range(0..direction.len())];
        let distinct = if self.rng.random_bool(0.3) { "DISTINCT " } else { "" };
        let spread = ["variance", "var_pop", "stddev", "stddev_pop"][self.rng.random_range(0..4)];
        let bits = ["bit_and", "bit_or", "bit_xor"][self.rng.random_range(0..3)];
        let pair = ["regr_count", "covar_pop", "covar_samp", "regr_sxx", "regr_avgy", "regr_slope"]
            [self.rng.random_range(0..6)];
        let fraction = ["0", "0.25", "0.5", "0.9", "1"][self.rng.random_range(0..5)];
        let rank = ["rank", "dense_rank"][self.rng.random_range(0..2)];
        let share = ["percent_rank", "cume_dist"][self.rng.random_range(0..2)];
        match self.rng.random_range(0..11) {
            0 => (format!("{spread}({distinct}{exact})"), Type::Numeric),
            1 => (format!("{spread}({distinct}{y})"), Type::Float),
            2 if any == Type::Bits => (format!("{bits}({distinct}{value})::varbit"), any),
            2 if any == Type::Range => (format!("range_agg({distinct}{value})"), Type::Multi),
            2 if any == Type::Multi => (format!("range_intersect_agg({distinct}{value})"), any),
            2 => (format!("{bits}({distinct}{int})"), Type::Int),
            3 if pair == "regr_count" => (format!("{pair}({distinct}{y}, {x})"), Type::Big),
            3 => (format!("{pair}({distinct}{y}, {x})"), Type::Float),
            4 => {
                let call = format!("string_agg({distinct}{text}, ',' ORDER BY {text}{direction})");
                (call, Type::Text)
            }
            5 => {
                let call = format!("string_agg({text}, {text} ORDER BY {int}{direction}, {text})");
                (call, Type::Text)
            }
            6 => (
                format!("jsonb_agg({distinct}{text} ORDER BY {text}{direction})::text"),
                Type::Text,
            ),
            7 => (format!("mode() WITHIN GROUP (ORDER BY {value}{direction})"), any),
            8 => {
                let call = "percentile_disc";
                (format!("{call}({fraction}) WITHIN GROUP (ORDER BY {value}{direction})"), any)
            }
            9 => {
                let call = "percentile_cont";
                (format!("{call}({fraction}) WITHIN GROUP (ORDER BY {y}{direction})"), Type::Float)
            }
            _ => {
                let (call, ty) = match self.rng.random_bool(0.5) {
                    true => (rank, Type::Big),
                    false => (share, Type::Float),
                };
                let filter = format!("FILTER (WHERE {condition})");
                (format!("{call}(3) WITHIN GROUP (ORDER BY {int}{direction}) {filter}"), ty)
            }
        }
    }

    /// GROUP BY over the first `count` columns of the select list.
    pub fn grouping(&mut self, count: usize) -> String {
        let numbers: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        let all = numbers.join(", ");
        let one = self.rng.random_range(1..=count);
        match self.rng.random_range(0..7) {
            0 => format!("GROUP BY ROLLUP ({all})"),
            1 => format!("GROUP BY CUBE ({all})"),
            2 => format!("GROUP BY GROUPING SETS (({all}), {one}, ())"),
            3 => format!("GROUP BY GROUPING SETS (ROLLUP ({all}), {one})"),
            4 => format!("GROUP BY {one}, CUBE ({all})"),
            5 => format!("GROUP BY DISTINCT ROLLUP ({all}), ROLLUP ({one})"),
            _ => format!("GROUP BY ROLLUP (({all}))"),
        }
    }
}

//! What is true, false or unknown. Faults inside are always silent, and unknown.

use crate::expr::jsonpath::run::{Fault, Run};
use crate::expr::jsonpath::value::Value;
use crate::repr::jsonpath::{Chain, Item, Operator};
use crate::repr::regex;

/// True, false, or unknown.
type Truth = Result<Option<bool>, Fault>;

impl<'v> Run<'v> {
    /// Whether a predicate that is a whole chain holds.
    pub(super) fn predicate(&mut self, chain: &'v [Item], value: Value<'v>) -> Truth {
        match chain {
            [item] => self.holds(item, value),
            _ => Ok(None),
        }
    }

    /// Whether a predicate holds.
    pub(super) fn holds(&mut self, item: &'v Item, value: Value<'v>) -> Truth {
        stacker::maybe_grow(128 << 10, 1 << 20, || self.holds_here(item, value))
    }

    fn holds_here(&mut self, item: &'v Item, value: Value<'v>) -> Truth {
        match item {
            Item::Binary(Operator::And, operands) => {
                let left = self.predicate(&operands.0, value)?;
                if left == Some(false) {
                    return Ok(left);
                }
                let right = self.predicate(&operands.1, value)?;
                Ok(if right == Some(true) { left } else { right })
            }
            Item::Binary(Operator::Or, operands) => {
                let left = self.predicate(&operands.0, value)?;
                if left == Some(true) {
                    return Ok(left);
                }
                let right = self.predicate(&operands.1, value)?;
                Ok(if right == Some(false) { left } else { right })
            }
            Item::Not(inner) => Ok(self.predicate(inner, value)?.map(|holds| !holds)),
            Item::IsUnknown(inner) => Ok(Some(self.predicate(inner, value)?.is_none())),
            Item::Exists(inner) => self.quietly(|run| run.any(inner, value)),
            Item::Binary(Operator::StartsWith, operands) => {
                self.some_pair(operands, value, false, |_, left, right| {
                    let both = left.as_str().zip(right.as_str());
                    Ok(both.map(|(whole, initial)| whole.starts_with(initial)))
                })
            }
            Item::Binary(operator, operands) => {
                let operator = *operator;
                self.some_pair(operands, value, true, move |run, left, right| {
                    Ok(left.is(operator, right, run.query.zone)?)
                })
            }
            Item::LikeRegex(test) => {
                let regex = regex::compiled(&test.pattern, test.flags.of_regex()?)?;
                let tested = self.quietly(|run| run.operand(&test.operand, value, true))?;
                let Some(tested) = tested else { return Ok(None) };
                let answers =
                    tested.iter().map(|find| Ok(find.as_str().map(|s| regex.is_match(s))));
                self.some(answers)
            }
            _ => Ok(None),
        }
    }

    /// Runs without raising faults; nothing where there is one.
    fn quietly<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let throws = std::mem::replace(&mut self.throws, false);
        let answer = run(self);
        self.throws = throws;
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Fault::Silent) => Ok(None),
            Err(raised) => Err(raised),
        }
    }

    /// Whether a test holds for some pair of finds.
    fn some_pair(
        &mut self,
        operands: &'v (Chain, Chain),
        value: Value<'v>,
        unwrap_right: bool,
        test: impl Fn(&Self, Value<'v>, Value<'v>) -> Truth,
    ) -> Truth {
        let left = self.quietly(|run| run.operand(&operands.0, value, true))?;
        let Some(left) = left else { return Ok(None) };
        let right = self.quietly(|run| run.operand(&operands.1, value, unwrap_right))?;
        let Some(right) = right else { return Ok(None) };
        let run = &*self;
        let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (*left, *right)));
        run.some(pairs.map(|(left, right)| test(run, left, right)))
    }

    /// Whether some of many tests holds. In lax mode the first that does decides; in strict mode
    /// the first that is unknown.
    fn some(&self, tests: impl Iterator<Item = Truth>) -> Truth {
        let (mut holds, mut unknown) = (false, false);
        for test in tests {
            match test? {
                None if !self.lax => return Ok(None),
                None => unknown = true,
                Some(true) if self.lax => return Ok(Some(true)),
                Some(answer) => holds |= answer,
            }
        }
        Ok(match (holds, unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }
}

//! EXPLAIN WHY NOT: for each rule that might derive a fact, the first part of its body that fails.
//!
//! A body is followed literal by literal with what the fact says of its variables, and each step
//! has the bindings that are left; the step that leaves none is where the rule fails. A rule that
//! gets through derives another value for the group: the least is less, the count is another.

use serde_json::{Value, json};

use crate::error::Result;
use crate::plan::relation::Relation;
use crate::plan::why::{Kind, Proof, Rule, Step, Variable};
use crate::repr::{Row, ScalarType};
use crate::session::why::{Held, Search, held, matched};

/// How many bindings are counted.
const COUNTED_MAX: u64 = 100;

/// How many are shown.
const SHOWN_MAX: usize = 3;

/// The bindings that are left behind a step.
struct Left {
    variables: Vec<Variable>,
    types: Vec<ScalarType>,
    rows: Vec<Row>,
}

impl Search<'_> {
    /// Tells for each rule where it fails.
    pub(super) async fn refute(&mut self, fact: &Row) -> Result<()> {
        let types = self.types(0);
        let what = self.spelled_fact(&self.why.name, &types, fact);
        let note = Some("does not hold".to_owned());
        self.proofs.push(Proof { what, note, ..Proof::default() });
        let values = held(&types, fact);
        for rule in self.why.predicates[0].rules.clone() {
            for steps in &rule.steps {
                let number = self.proofs.len();
                let what = rule.text.clone();
                self.proofs.push(Proof { kind: Kind::Rule, what, ..Proof::default() });
                self.proofs[0].from.push(number);
                let through = self.follow(number, steps, &values).await?;
                if through {
                    self.proofs[number].note = self.other(&rule, &values).await?;
                }
            }
        }
        Ok(())
    }

    /// Follows a body; answers whether it has bindings up to its end.
    async fn follow(&mut self, rule: usize, steps: &[Step], values: &[Held<'_>]) -> Result<bool> {
        let mut before: Option<Left> = None;
        if let Some(what) = self.differing(steps, values) {
            // A variable that stands in two columns of the head has two values.
            self.fails_in_head(rule, what);
            return Ok(false);
        }
        for step in steps {
            let pairs: Vec<_> = step.head.iter().map(|(at, head)| (*at, values[*head])).collect();
            let bindings = matched(step.bindings.clone(), &pairs)?;
            let types = step.bindings.typ().scalars();
            let some = bindings.top_k(vec![], vec![], Some(COUNTED_MAX + 1), 0);
            let some = self.among(some, None).await?;
            let mut rows = self.rows(some, usize::MAX).await?;
            rows.sort();
            let known = self.known(before.as_ref(), step, values);
            let what = step.shown.filled(|name| {
                known.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
            });
            let mut proof = Proof { kind: Kind::Condition, what, ..Proof::default() };
            proof.details.push(("Literal", json!(step.shown.filled(|_| None))));
            let failed = rows.is_empty();
            if step.is_of_constants() {
                if failed {
                    self.fails_in_head(rule, step.shown.filled(|_| None));
                    return Ok(false);
                }
                continue;
            }
            if failed {
                proof.note = Some("fails".to_owned());
                proof.details.push(("Fails", json!(true)));
            } else {
                let left = Left { variables: step.variables.clone(), types, rows };
                self.tell(&mut proof, &left);
                before = Some(left);
            }
            let number = self.proofs.len();
            self.proofs.push(proof);
            self.proofs[rule].from.push(number);
            if failed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells of a rule that its head is of other facts.
    fn fails_in_head(&mut self, rule: usize, what: String) {
        let note = Some("fails in the head".to_owned());
        let details = vec![("Literal", json!("head")), ("Fails", json!(true))];
        let number = self.proofs.len();
        self.proofs.push(Proof { kind: Kind::Condition, what, note, details, ..Proof::default() });
        self.proofs[rule].from.push(number);
    }

    /// What a variable would have to be at once, where the fact gives it two values.
    fn differing(&self, steps: &[Step], values: &[Held<'_>]) -> Option<String> {
        let names = &steps.last()?.names;
        names.iter().enumerate().find_map(|(at, (name, column))| {
            let first =
                self.literal(values[*names[..at].iter().find(|(n, _)| n == name).map(|(_, c)| c)?]);
            let other = self.literal(values[*column]);
            (first != other).then(|| format!("{first} = {other}"))
        })
    }

    /// The values of variables that have one alone: by the fact, or in all bindings so far.
    fn known(
        &self,
        before: Option<&Left>,
        step: &Step,
        values: &[Held<'_>],
    ) -> Vec<(String, String)> {
        let mut known = vec![];
        if let Some(left) = before.filter(|left| left.rows.len() <= COUNTED_MAX as usize) {
            for (at, variable) in left.variables.iter().enumerate() {
                let mut texts =
                    left.rows.iter().map(|row| self.literal(held(&left.types, row)[at]));
                let first = texts.next();
                if let Some(first) = first
                    && texts.all(|text| text == first)
                {
                    known.push((variable.name.clone(), first));
                }
            }
        }
        for (name, head) in &step.names {
            if known.iter().all(|(own, _)| own != name) {
                known.push((name.clone(), self.literal(values[*head])));
            }
        }
        known
    }

    /// Says of a step for which bindings it holds.
    fn tell(&self, proof: &mut Proof, left: &Left) {
        let bindings = left.rows.iter().map(|row| held(&left.types, row));
        let shown: Vec<Vec<Held<'_>>> = bindings.take(SHOWN_MAX).collect();
        let texts: Vec<String> =
            shown.iter().map(|values| self.bindings(&left.variables, values)).collect();
        let count = left.rows.len();
        let many = match count as u64 > COUNTED_MAX {
            true => format!("more than {COUNTED_MAX}"),
            false => count.to_string(),
        };
        let more = if count > SHOWN_MAX { "; \u{2026}" } else { "" };
        let texts = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        proof.note = Some(match (count, texts.is_empty()) {
            (_, true) => "holds".to_owned(),
            (1, _) => format!("holds for {}", texts[0]),
            _ => format!("holds for {many} bindings: {}{more}", texts.join("; ")),
        });
        let examples = shown.iter().map(|values| self.binding(&left.variables, values));
        proof.details.push(("Bindings", json!(count)));
        proof.details.push(("Examples", Value::Array(examples.collect())));
    }

    /// What a rule derives in the place of a fact.
    async fn other(&mut self, rule: &Rule, values: &[Held<'_>]) -> Result<Option<String>> {
        let (relation, keys): (Relation, Vec<usize>) = match &rule.groups {
            Some(groups) => (groups.derived.clone(), groups.keys.clone()),
            None => {
                let Some(lattice) = &self.why.predicates[0].lattice else { return Ok(None) };
                let keys = lattice.iter().enumerate().filter(|(_, folds)| !**folds);
                let keys = keys.map(|(at, _)| at).collect();
                (self.why.predicates[0].content.clone(), keys)
            }
        };
        let pairs: Vec<_> = keys.iter().map(|at| (*at, values[*at])).collect();
        let relation = self.among(matched(relation, &pairs)?, None).await?;
        let found = self.rows(relation, 1).await?.pop();
        let types = self.types(0);
        Ok(found.map(|row| {
            let fact = self.spelled_fact(&self.why.name, &types, &row);
            format!("derives {fact} in its place")
        }))
    }
}

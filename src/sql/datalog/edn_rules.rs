//! What in a query in EDN is a rule of its own: `not` of more than one clause, `not-join`,
//! `or-join`, and the rules that `:rules` or `%` bring.
//!
//! A clause with variables of its own becomes a rule over those that it shares with what is around
//! it, and an atom in its place. A shared variable that nothing in it gives a value gets the values
//! that the clauses around it give; the clause's own variables of the same names are renamed then.

use std::collections::BTreeSet;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::Result;
use crate::sql::datalog::edn::{Form, Kind, Spelled, fault_at, is_variable, symbol, unsupported};

impl Spelled<'_> {
    /// `(not clause …)`.
    pub(super) fn not(&mut self, clause: &Form, first: &Form, inner: &[Form]) -> Result<()> {
        let others = self.around.iter().filter(|other| !holds(other, clause));
        let outside: BTreeSet<String> = others.flat_map(variables).collect();
        let own: BTreeSet<String> = inner.iter().flat_map(variables).collect();
        let plain = own.iter().all(|name| outside.contains(name) || self.inputs.contains(name));
        if let [only] = inner
            && plain
        {
            self.put(first, Token::ExclamationMark);
            return self.clause(only);
        }
        let shared = own.into_iter().filter(|name| outside.contains(name));
        let shared: Vec<Form> =
            shared.map(|name| Form { kind: Kind::Symbol(name), ..first.clone() }).collect();
        self.put(first, Token::ExclamationMark);
        self.apart(clause, &shared, &[inner.to_vec()])
    }

    /// `(not-join [variable …] clause …)` and `(or-join [variable …] clause …)`.
    pub(super) fn join(&mut self, clause: &Form, name: &str, parts: &[Form]) -> Result<()> {
        let Some((Form { kind: Kind::Vector(shared), .. }, inner)) = parts.split_first() else {
            return Err(fault_at(clause, &format!("{name} begins with [variable \u{2026}]")));
        };
        let shared = flat(shared)?;
        if inner.is_empty() {
            return Err(fault_at(clause, &format!("{name} has clauses behind its variables")));
        }
        if name == "not-join" {
            self.put(clause, Token::ExclamationMark);
            return self.apart(clause, &shared, &[inner.to_vec()]);
        }
        let branches: Vec<Vec<Form>> = inner
            .iter()
            .map(|branch| match &branch.kind {
                Kind::List(parts) if parts.first().and_then(symbol) == Some("and") => {
                    parts[1..].to_vec()
                }
                _ => vec![branch.clone()],
            })
            .collect();
        self.apart(clause, &shared, &branches)
    }

    /// A rule for each branch, and an atom that reads them.
    fn apart(&mut self, clause: &Form, shared: &[Form], branches: &[Vec<Form>]) -> Result<()> {
        self.made += 1;
        let name = format!("clause {}", self.made);
        let is_input = |form: &&Form| self.inputs.iter().any(|own| symbol(form) == Some(own));
        let mut args: Vec<Form> = shared.iter().filter(|form| !is_input(form)).cloned().collect();
        if args.is_empty() {
            args.push(Form { kind: Kind::Number("1".to_owned()), ..clause.clone() });
        }
        for branch in branches {
            let bound: BTreeSet<String> = branch.iter().flat_map(given).collect();
            let open =
                |form: &Form| is_variable(form) && !bound.contains(symbol(form).unwrap_or(""));
            let mut body = vec![];
            if args.iter().any(open) {
                let others = self.around.iter().filter(|other| !holds(other, clause));
                body.extend(others.filter(|other| !given(other).is_empty()).cloned());
            }
            let names: BTreeSet<String> = body.iter().flat_map(variables).collect();
            let renamed = |name: &str| {
                let own = shared.iter().any(|form| symbol(form) == Some(name));
                (names.contains(name) && !own).then(|| format!("{name} of {}", self.made))
            };
            let inner: Vec<Form> = branch.iter().map(|form| rename(form, &renamed)).collect();
            body.extend(inner);
            let around = std::mem::replace(&mut self.around, body.clone());
            let spelled = self.rule(clause, &name, &args, &body);
            self.around = around;
            spelled?;
        }
        self.call(clause, &name, &args)
    }

    /// `name(args) <- body.`, before what is being spelled.
    fn rule(&mut self, place: &Form, name: &str, args: &[Form], body: &[Form]) -> Result<()> {
        let before = std::mem::take(&mut self.tokens);
        let spelled = self.head_and_body(place, name, args, body);
        let rule: Vec<TokenWithSpan> = std::mem::replace(&mut self.tokens, before);
        self.rules.extend(rule);
        spelled
    }

    /// `name(args) <- body.`
    pub(super) fn head_and_body(
        &mut self,
        place: &Form,
        name: &str,
        args: &[Form],
        body: &[Form],
    ) -> Result<()> {
        self.call(place, name, args)?;
        self.arrow(place);
        self.clauses(body, &Token::Comma)?;
        self.put(place, Token::Period);
        Ok(())
    }

    /// Rules as Datomic has them: `[[(name ?x [?y]) clause …] …]`.
    pub(super) fn given_rules(&mut self, rules: &[Form]) -> Result<()> {
        let inputs = std::mem::take(&mut self.inputs);
        for rule in rules {
            let Kind::Vector(parts) = &rule.kind else {
                return Err(fault_at(rule, "a rule is [(name \u{2026}) clause \u{2026}]"));
            };
            let Some((Form { kind: Kind::List(head), .. }, body)) = parts.split_first() else {
                return Err(fault_at(rule, "a rule begins with its head, (name \u{2026})"));
            };
            let Some((name, args)) = head.split_first() else {
                return Err(fault_at(rule, "the head of a rule has a name"));
            };
            let Some(name) = symbol(name).filter(|name| !name.starts_with('?')) else {
                return Err(fault_at(rule, "the head of a rule has a name"));
            };
            if body.is_empty() {
                return Err(fault_at(rule, "a rule has clauses behind its head"));
            }
            let args = flat(args)?;
            self.around = body.to_vec();
            self.rule(rule, name, &args, body)?;
        }
        self.inputs = inputs;
        Ok(())
    }
}

/// Variables, also those of vectors among them, which a caller has to bind.
fn flat(forms: &[Form]) -> Result<Vec<Form>> {
    let mut out = vec![];
    for form in forms {
        match &form.kind {
            Kind::Vector(inner) => out.extend(inner.iter().cloned()),
            _ => out.push(form.clone()),
        }
    }
    match out.iter().find(|form| !is_variable(form)) {
        Some(other) => Err(unsupported("something else than a variable here", other.from)),
        None => Ok(out),
    }
}

/// Whether a form is another one or has it somewhere in it.
fn holds(form: &Form, other: &Form) -> bool {
    form.from <= other.from && other.to <= form.to
}

/// The variables in a form.
fn variables(form: &Form) -> Vec<String> {
    match &form.kind {
        Kind::Symbol(name) if name.starts_with('?') => vec![name.clone()],
        Kind::List(forms) | Kind::Vector(forms) | Kind::Map(forms) => {
            forms.iter().flat_map(variables).collect()
        }
        _ => vec![],
    }
}

/// The variables that a clause gives values.
fn given(clause: &Form) -> Vec<String> {
    match &clause.kind {
        Kind::Vector(parts) => match parts.as_slice() {
            [Form { kind: Kind::List(_), .. }, rest @ ..] => {
                rest.iter().flat_map(variables).collect()
            }
            parts => parts.iter().flat_map(variables).collect(),
        },
        Kind::List(parts) => match parts.first().and_then(symbol) {
            Some("not" | "not-join") => vec![],
            Some("or-join") => parts.get(1).map(variables).unwrap_or_default(),
            Some("or" | "and") => parts[1..].iter().flat_map(given).collect(),
            _ => parts.iter().flat_map(variables).collect(),
        },
        _ => vec![],
    }
}

fn rename(form: &Form, name: &impl Fn(&str) -> Option<String>) -> Form {
    let all = |forms: &[Form]| forms.iter().map(|form| rename(form, name)).collect();
    let kind = match &form.kind {
        Kind::Symbol(own) => Kind::Symbol(name(own).unwrap_or_else(|| own.clone())),
        Kind::List(forms) => Kind::List(all(forms)),
        Kind::Vector(forms) => Kind::Vector(all(forms)),
        Kind::Map(forms) => Kind::Map(all(forms)),
        other => other.clone(),
    };
    Form { kind, ..form.clone() }
}

//! Random programs of rules, as trees; and their text.
//!
//! A program is strata: each derives from tables and the strata before it and, in a recursion, from
//! itself. Only what is whole is negated or aggregated; in a recursion nothing is computed but a
//! least or greatest value, so that each one ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rand::Rng;
use rand::rngs::StdRng;

/// The tables and their columns.
pub const TABLES: &[(&str, &[&str])] =
    &[("e", &["a", "b"]), ("f", &["a", "b", "w"]), ("n", &["a"])];

/// How many variables a rule has at most.
const VARIABLES: usize = 4;

/// Rules in the order of their strata.
pub struct Program {
    pub strata: Vec<Stratum>,
    pub rules: Vec<Rule>,
}

/// Predicates that are derived together.
pub struct Stratum {
    pub names: Vec<String>,
    pub recursive: bool,
}

/// A rule.
#[derive(Clone)]
pub struct Rule {
    pub name: String,
    pub head: Vec<Head>,
    pub body: Vec<Literal>,
    /// Which spellings its text has.
    pub style: u32,
}

/// A term of a head.
#[derive(Clone, Debug)]
pub enum Head {
    Variable(usize),
    Constant(i64),
    /// An aggregate of the sum of some variables.
    Fold(Fold, Vec<usize>),
}

/// An aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fold {
    Count,
    Sum,
    Min,
    Max,
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum Literal {
    Positive(Atom),
    Negative(Atom),
    /// There is no way in which all of these hold.
    Without(Vec<Atom>),
    Less(Arg, Arg),
    Differ(Arg, Arg),
    /// The first variable is the second and that much more.
    Plus(usize, usize, i64),
    Either(Box<Literal>, Box<Literal>),
}

/// A predicate with arguments.
#[derive(Clone, Debug)]
pub struct Atom {
    pub name: String,
    pub args: Vec<Arg>,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Arg {
    Any,
    Constant(i64),
    Variable(usize),
}

impl Fold {
    /// Whether it is the join of a lattice.
    pub fn is_lattice(self) -> bool {
        matches!(self, Fold::Min | Fold::Max)
    }

    /// The aggregate of some values.
    pub fn of(self, values: &[Option<i64>]) -> Option<i64> {
        let known = values.iter().flatten().copied();
        match self {
            Fold::Count => Some(known.count() as i64),
            Fold::Sum => known.reduce(|a, b| a + b),
            Fold::Min => known.min(),
            Fold::Max => known.max(),
        }
    }
}

impl Head {
    /// The value of a term; of an aggregate what it is of.
    pub fn value(&self, binding: &BTreeMap<usize, Option<i64>>) -> Option<i64> {
        match self {
            Head::Variable(variable) => binding[variable],
            Head::Constant(value) => Some(*value),
            Head::Fold(_, of) => of.iter().try_fold(0, |sum, v| binding[v].map(|v| sum + v)),
        }
    }
}

/// What a rule may read: names and arities.
type Readable = Vec<(String, usize)>;

impl Program {
    /// A program by chance.
    pub fn random(rng: &mut StdRng) -> Program {
        let mut program = Program { strata: vec![], rules: vec![] };
        let mut whole: Readable =
            TABLES.iter().map(|(name, columns)| ((*name).to_owned(), columns.len())).collect();
        for number in 0..rng.random_range(1..4) {
            let new = match rng.random_range(0..5) {
                0 | 1 => program.recursion(rng, number, &whole),
                2 => program.lattice(rng, number),
                _ => program.plain(rng, number, &whole),
            };
            whole.extend(new);
        }
        program
    }

    /// What may be asked of it, mostly with a constant.
    pub fn question(&self, rng: &mut StdRng) -> Rule {
        let arity = |name: &str| self.rules.iter().find(|r| r.name == name).unwrap().head.len();
        let own: Readable = self.names().into_iter().map(|n| (n.clone(), arity(&n))).collect();
        let mut whole: Readable =
            TABLES.iter().map(|(name, columns)| ((*name).to_owned(), columns.len())).collect();
        whole.extend(own.iter().cloned());
        let (mut body, bound) = random_body(rng, &whole, &own, true);
        if rng.random_bool(0.7) {
            // One of the variables is known.
            let known = any(rng, &bound);
            let value = Arg::Constant(rng.random_range(0..6));
            for literal in &mut body {
                let Literal::Positive(Atom { args, .. }) = literal else { continue };
                for arg in args {
                    if matches!(arg, Arg::Variable(variable) if *variable == known) {
                        *arg = value.clone();
                    }
                }
            }
            let mut all = BTreeSet::new();
            for literal in &body {
                match literal {
                    Literal::Positive(atom) => {
                        all.extend(atom.args.iter().filter_map(|a| match a {
                            Arg::Variable(variable) => Some(*variable),
                            _ => None,
                        }))
                    }
                    Literal::Plus(variable, from, _) if *from != known => {
                        all.insert(*variable);
                    }
                    _ => {}
                }
            }
            // What names it elsewhere is left out, as far as it is not an atom.
            let names = |arg: &Arg| matches!(arg, Arg::Variable(v) if !all.contains(v));
            body.retain(|literal| match literal {
                Literal::Less(a, b) | Literal::Differ(a, b) => !names(a) && !names(b),
                Literal::Plus(variable, ..) => all.contains(variable),
                Literal::Negative(atom) => !atom.args.iter().any(names),
                _ => true,
            });
            let bound: Vec<usize> = all.into_iter().collect();
            if bound.is_empty() {
                let head = vec![Head::Constant(1)];
                return Rule { name: "find".into(), head, body, style: rng.random() };
            }
            let arity = rng.random_range(1..3);
            let head = random_head(rng, arity, &bound);
            return Rule { name: "find".into(), head, body, style: rng.random() };
        }
        let arity = rng.random_range(1..3);
        let mut head = random_head(rng, arity, &bound);
        if rng.random_bool(0.3) {
            head[arity - 1] = Head::Fold(Fold::Count, vec![any(rng, &bound)]);
        }
        Rule { name: "find".into(), head, body, style: rng.random() }
    }

    /// The predicates, in the order in which they are derived.
    pub fn names(&self) -> Vec<String> {
        self.strata.iter().flat_map(|stratum| stratum.names.clone()).collect()
    }

    /// A predicate that does not read itself.
    fn plain(&mut self, rng: &mut StdRng, number: usize, whole: &Readable) -> Readable {
        let (name, arity) = (format!("p{number}"), rng.random_range(1..4));
        let folds = [Fold::Count, Fold::Sum, Fold::Min, Fold::Max];
        let fold = rng.random_bool(0.4).then(|| folds[rng.random_range(0..4)]);
        for _ in 0..rng.random_range(1..4) {
            let (mut body, bound) = random_body(rng, whole, &[], true);
            let mut head = random_head(rng, arity, &bound);
            if let Some(fold) = fold.filter(|_| rng.random_bool(0.8)) {
                head[arity - 1] = Head::Fold(fold, vec![any(rng, &bound)]);
            }
            if rng.random_bool(0.3) {
                body.extend(either(rng, whole, &bound));
            }
            self.rules.push(Rule { name: name.clone(), head, body, style: rng.random() });
        }
        self.strata.push(Stratum { names: vec![name.clone()], recursive: false });
        vec![(name, arity)]
    }

    /// One or two predicates that read each other.
    fn recursion(&mut self, rng: &mut StdRng, number: usize, whole: &Readable) -> Readable {
        let count = rng.random_range(1..3);
        let members: Readable =
            (0..count).map(|n| (format!("r{number}_{n}"), rng.random_range(1..3))).collect();
        for (at, (name, arity)) in members.iter().enumerate() {
            for step in 0..rng.random_range(2..4) {
                // The first rule begins, the second closes the cycle.
                let inside = match step {
                    0 => &[][..],
                    1 => std::slice::from_ref(&members[(at + 1) % count]),
                    _ => &members[..],
                };
                let (body, bound) = random_body(rng, whole, inside, false);
                let head = random_head(rng, *arity, &bound);
                self.rules.push(Rule { name: name.clone(), head, body, style: rng.random() });
            }
        }
        let names = members.iter().map(|(name, _)| name.clone()).collect();
        self.strata.push(Stratum { names, recursive: true });
        members
    }

    /// Least or greatest values along edges.
    fn lattice(&mut self, rng: &mut StdRng, number: usize) -> Readable {
        let name = format!("l{number}");
        let least = rng.random_bool(0.6);
        let fold = if least { Fold::Min } else { Fold::Max };
        let atom = |name: &str, args: &[usize]| {
            let args = args.iter().map(|v| Arg::Variable(*v)).collect();
            Literal::Positive(Atom { name: name.to_owned(), args })
        };
        let mut rule = |head: Vec<Head>, body: Vec<Literal>| {
            self.rules.push(Rule { name: name.clone(), head, body, style: rng.random() });
        };
        match number % 3 {
            0 => rule(vec![Head::Variable(0), Head::Constant(0)], vec![atom("n", &[0])]),
            1 => rule(vec![Head::Variable(0), Head::Fold(fold, vec![0])], vec![atom("n", &[0])]),
            _ => rule(vec![Head::Variable(0), Head::Fold(fold, vec![1])], vec![atom("e", &[0, 1])]),
        }
        // A greatest value that grew along a cycle would never end.
        let (value, step) = match least {
            true => (vec![1, 3], atom("f", &[0, 2, 3])),
            false => (vec![1], atom("e", &[0, 2])),
        };
        let next = vec![Head::Variable(2), Head::Fold(fold, value)];
        rule(next, vec![atom(&name, &[0, 1]), step]);
        self.strata.push(Stratum { names: vec![name.clone()], recursive: true });
        vec![(name, 2)]
    }
}

fn any(rng: &mut StdRng, bound: &[usize]) -> usize {
    bound[rng.random_range(0..bound.len())]
}

fn random_head(rng: &mut StdRng, arity: usize, bound: &[usize]) -> Vec<Head> {
    let term = |_| match rng.random_range(0..14) {
        0 => Head::Constant(rng.random_range(0..6)),
        _ => Head::Variable(any(rng, bound)),
    };
    (0..arity).map(term).collect()
}

fn random_args(rng: &mut StdRng, arity: usize) -> Vec<Arg> {
    let arg = |_| match rng.random_range(0..10) {
        0 => Arg::Constant(rng.random_range(0..6)),
        1 => Arg::Any,
        _ => Arg::Variable(rng.random_range(0..VARIABLES)),
    };
    (0..arity).map(arg).collect()
}

/// A body and the variables that it binds. `inside`: what it has to read one of.
fn random_body(
    rng: &mut StdRng,
    whole: &Readable,
    inside: &[(String, usize)],
    computes: bool,
) -> (Vec<Literal>, Vec<usize>) {
    let mut body = vec![];
    let mut bound: BTreeSet<usize> = BTreeSet::new();
    let count = rng.random_range(1..4);
    for at in 0..count {
        let readable = if at == 0 && !inside.is_empty() { inside } else { whole };
        let (name, arity) = readable[rng.random_range(0..readable.len())].clone();
        let mut args = random_args(rng, arity);
        if at == 0 && !args.iter().any(|arg| matches!(arg, Arg::Variable(_))) {
            args[0] = Arg::Variable(0);
        }
        bound.extend(args.iter().filter_map(|arg| match arg {
            Arg::Variable(variable) => Some(*variable),
            _ => None,
        }));
        body.push(Literal::Positive(Atom { name, args }));
    }
    let mut bound: Vec<usize> = bound.into_iter().collect();
    if rng.random_bool(0.35) {
        let (name, arity) = whole[rng.random_range(0..whole.len())].clone();
        let arg = |arg| match arg {
            Arg::Variable(variable) if !bound.contains(&variable) => Arg::Any,
            other => other,
        };
        let args = random_args(rng, arity).into_iter().map(arg).collect();
        body.push(Literal::Negative(Atom { name, args }));
    }
    if rng.random_bool(0.15) {
        let atom = |rng: &mut StdRng| {
            let (name, arity) = whole[rng.random_range(0..whole.len())].clone();
            let arg = |arg| match arg {
                // A variable of its own.
                Arg::Variable(variable) if !bound.contains(&variable) => {
                    Arg::Variable(VARIABLES + 1)
                }
                other => other,
            };
            let args = random_args(rng, arity).into_iter().map(arg).collect();
            Atom { name, args }
        };
        body.push(Literal::Without(vec![atom(rng), atom(rng)]));
    }
    if rng.random_bool(0.25) {
        let a = Arg::Variable(any(rng, &bound));
        let b = match rng.random_bool(0.5) {
            true => Arg::Constant(rng.random_range(0..6)),
            false => Arg::Variable(any(rng, &bound)),
        };
        let less = rng.random_bool(0.5);
        body.push(if less { Literal::Less(a, b) } else { Literal::Differ(a, b) });
    }
    if computes && rng.random_bool(0.2) {
        let from = any(rng, &bound);
        body.push(Literal::Plus(VARIABLES, from, rng.random_range(1..3)));
        bound.push(VARIABLES);
    }
    (body, bound)
}

/// One of two atoms over one variable that has a value.
fn either(rng: &mut StdRng, whole: &Readable, bound: &[usize]) -> Option<Literal> {
    let variable = any(rng, bound);
    let mut side = || {
        let (name, arity) = whole[rng.random_range(0..whole.len())].clone();
        let mut args = vec![Arg::Any; arity];
        args[rng.random_range(0..arity)] = Arg::Variable(variable);
        let atom = Atom { name, args };
        Box::new(if rng.random_bool(0.8) {
            Literal::Positive(atom)
        } else {
            Literal::Negative(atom)
        })
    };
    Some(Literal::Either(side(), side()))
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Any => f.write_str("_"),
            Arg::Constant(value) => write!(f, "{value}"),
            Arg::Variable(variable) => write!(f, "V{variable}"),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Head::Variable(variable) => write!(f, "V{variable}"),
            Head::Constant(value) => write!(f, "{value}"),
            Head::Fold(fold, of) => {
                let name = format!("{fold:?}").to_lowercase();
                let of: Vec<_> = of.iter().map(|variable| format!("V{variable}")).collect();
                write!(f, "{name}({})", of.join(" + "))
            }
        }
    }
}

impl Atom {
    fn text(&self, style: u32) -> String {
        let columns = TABLES.iter().find(|(name, _)| *name == self.name);
        let named = columns.filter(|_| style & 1 == 1);
        let args = self.args.iter().enumerate().filter_map(|(at, arg)| match (named, arg) {
            (Some(_), Arg::Any) => None,
            (Some((_, columns)), arg) => Some(format!("{} => {arg}", columns[at])),
            (None, arg) => Some(arg.to_string()),
        });
        let args: Vec<_> = args.collect();
        match (args.is_empty(), columns) {
            // Without arguments there is nothing to name.
            (true, Some((name, columns))) => {
                format!("{name}({})", vec!["_"; columns.len()].join(", "))
            }
            _ => format!("{}({})", self.name, args.join(", ")),
        }
    }
}

impl Literal {
    pub fn text(&self, style: u32) -> String {
        match self {
            Literal::Positive(atom) => atom.text(style),
            Literal::Negative(atom) => {
                let not = if style & 2 == 2 { "NOT " } else { "!" };
                format!("{not}{}", atom.text(style))
            }
            Literal::Without(atoms) => {
                let not = if style & 2 == 2 { "NOT " } else { "!" };
                let atoms: Vec<_> = atoms.iter().map(|atom| atom.text(style)).collect();
                format!("{not}({})", atoms.join(", "))
            }
            Literal::Less(a, b) => format!("{a} < {b}"),
            Literal::Differ(a, b) => format!("{a} != {b}"),
            Literal::Plus(variable, from, more) => match style & 4 {
                0 => format!("V{variable} = V{from} + {more}"),
                _ => format!("V{from} + {more} = V{variable}"),
            },
            Literal::Either(a, b) => {
                let or = if style & 8 == 8 { "OR" } else { "|" };
                format!("({} {or} {})", a.text(style), b.text(style))
            }
        }
    }
}

impl Rule {
    /// Its text as a query.
    pub fn find(&self) -> String {
        let head: Vec<_> = self.head.iter().map(Head::to_string).collect();
        let body: Vec<_> = self.body.iter().map(|l| l.text(self.style)).collect();
        format!("FIND {} WHERE {}", head.join(", "), body.join(", "))
    }
}

impl Rule {
    /// How it is written.
    pub fn text(&self) -> String {
        let head: Vec<_> = self.head.iter().map(Head::to_string).collect();
        // What is written first need not be what is matched first.
        let mut body: Vec<_> = self.body.iter().map(|l| l.text(self.style)).collect();
        if self.style & 16 == 16 {
            body.reverse();
        }
        let arrow = if self.style & 32 == 32 { "<-" } else { ":-" };
        format!("{}({}) {arrow} {}", self.name, head.join(", "), body.join(", "))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            write!(f, "{}. ", rule.text())?;
        }
        Ok(())
    }
}

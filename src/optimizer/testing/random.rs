//! Random tables and relations, small enough to meet coincidences.

use rand::prelude::*;

use super::evaluate::Bag;
use super::shapes::{T, U, col, divide, eq, int, lt, plus, t, u};
use crate::expr::aggregate::{AggFunc, Aggregate, ArgOrder, Spread};
use crate::expr::func::Func;
use crate::expr::scalar::Expr;
use crate::expr::table::{Part, TableFunc};
use crate::expr::window::testing::{random_call, random_frame};
use crate::plan::relation::{
    Binding, ColumnOrder, Equivalence, Relation, RelationType, RoundLimit,
};
use crate::repr::value::pack;
use crate::repr::{ColumnType, Datum, GlobalId, ScalarType};

pub struct Random(pub StdRng);

impl Random {
    pub fn tables(&mut self) -> std::collections::BTreeMap<GlobalId, Bag> {
        let mut tables = std::collections::BTreeMap::new();
        for (id, has_key) in [(T, true), (U, false)] {
            let mut bag = Bag::default();
            for at in 0..self.0.random_range(0..6) {
                let key = if has_key { at - 1 } else { self.0.random_range(-1..3) };
                let number = match self.0.random_range(0..4) {
                    0 => Datum::Null,
                    _ => Datum::Int4(self.0.random_range(-1..3)),
                };
                let text = match self.0.random_range(0..4) {
                    0 => Datum::Null,
                    _ => Datum::Text(["", "a", "b"][self.0.random_range(0..3)]),
                };
                bag.add(pack(&[Datum::Int4(key), number, text]), 1);
            }
            tables.insert(id, bag);
        }
        tables
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// An int4 over the columns of that type.
    fn number(&mut self, types: &[ScalarType], depth: u32) -> Expr {
        let ints: Vec<usize> = (0..types.len()).filter(|c| types[*c] == ScalarType::Int4).collect();
        let roll = if depth == 0 { self.0.random_range(0..2) } else { self.0.random_range(0..8) };
        match (roll, ints.choose(&mut self.0)) {
            (2 | 3, Some(c)) => col(*c),
            (4, _) => plus(self.number(types, depth - 1), self.number(types, depth - 1)),
            (5, _) => divide(self.number(types, depth - 1), self.number(types, depth - 1)),
            (6, _) => Expr::Case {
                branches: vec![(self.predicate(types, depth - 1), self.number(types, depth - 1))],
                otherwise: Box::new(self.number(types, depth - 1)),
            },
            (7, _) => {
                Expr::Coalesce(vec![self.number(types, depth - 1), self.number(types, depth - 1)])
            }
            (1, Some(c)) => col(*c),
            _ if self.chance(10) => Expr::null(ScalarType::Int4),
            _ => int(self.0.random_range(-1..3)),
        }
    }

    fn predicate(&mut self, types: &[ScalarType], depth: u32) -> Expr {
        let roll = if depth == 0 { self.0.random_range(0..4) } else { self.0.random_range(0..8) };
        let next = depth.saturating_sub(1);
        match roll {
            0 | 1 | 4 => eq(self.number(types, next), self.number(types, next)),
            2 => lt(self.number(types, next), self.number(types, next)),
            3 => self.number(types, next).is_null(),
            5 => Expr::and(vec![self.predicate(types, next), self.predicate(types, next)]),
            6 => Expr::or(vec![self.predicate(types, next), self.predicate(types, next)]),
            _ => self.predicate(types, next).not(),
        }
    }

    pub fn relation(&mut self, depth: u32) -> Relation {
        if depth == 0 {
            return match self.0.random_range(0..7) {
                0 => self.constant(),
                1..4 => u(),
                _ => t(),
            };
        }
        match self.0.random_range(0..14) {
            0 | 1 => {
                let input = self.relation(depth - 1);
                let types = input.typ().scalars();
                let count = self.0.random_range(1..3);
                let predicates = (0..count).map(|_| self.predicate(&types, 2)).collect();
                input.filter(predicates)
            }
            2 => {
                let input = self.relation(depth - 1);
                let mut types = input.typ().scalars();
                let mut exprs = Vec::new();
                for _ in 0..self.0.random_range(1..3) {
                    exprs.push(self.number(&types, 2));
                    types.push(ScalarType::Int4);
                }
                input.map(exprs)
            }
            3 => self.projected(depth - 1),
            4..7 => self.join(depth - 1),
            7 => {
                let input = self.relation(depth - 1);
                if self.chance(50) { input.distinct() } else { self.reduce(input) }
            }
            8 if self.chance(50) => self.windows(depth - 1),
            8 => self.top_k(depth - 1),
            9 => {
                let (a, b) = self.alike(depth - 1);
                match self.0.random_range(0..3) {
                    0 => Relation::union(vec![a, b]),
                    1 => Relation::union(vec![a, b.negate()]).threshold(),
                    _ => Relation::union(vec![a.clone(), b, a]),
                }
            }
            10 => {
                let value = self.relation(depth - 1);
                let id = self.0.random_range(1_000..1_000_000_000);
                let get = Relation::local(id, value.typ());
                let other = self.relation(depth - 1);
                let body = Relation::join(vec![get.clone(), other, get], Vec::new());
                let arity = value.arity();
                let total = body.arity();
                let types = body.typ().scalars();
                let class = Equivalence::null_safe(vec![col(0), col(total - arity)]);
                let Relation::Join { inputs, .. } = body else { unreachable!("just made") };
                let classes = if types.is_empty() || arity == 0 { vec![] } else { vec![class] };
                value.let_in(id, Relation::join(inputs, classes))
            }
            11 => self.flat_map(depth - 1),
            12 if self.chance(50) => self.mutual(depth - 1),
            12 => self.let_rec(depth - 1),
            _ => self.relation(depth - 1),
        }
    }

    /// Pairs followed along pairs, for some rounds at most.
    fn let_rec(&mut self, depth: u32) -> Relation {
        let (base, along) = self.alike(depth.min(1));
        let id = self.0.random_range(1_000..1_000_000_000);
        let columns = vec![ColumnType::nullable(ScalarType::Int4); 2];
        let local = Relation::local(id, RelationType::new(columns.clone()));
        let class = Equivalence::new(vec![col(1), col(2)]);
        let mut next = Relation::join(vec![local.clone(), along], vec![class]).project(vec![0, 3]);
        if self.chance(30) {
            let types = [ScalarType::Int4, ScalarType::Int4];
            next = next.filter(vec![self.predicate(&types, 1)]);
        }
        let value = Relation::union(vec![base, next]);
        let value = if self.chance(70) { value.distinct() } else { value };
        let limit = Some(RoundLimit { rounds: self.0.random_range(1..4), fails: false, of: None });
        let body = if self.chance(30) { local.clone().cross(local) } else { local };
        let bindings = vec![Binding { id, value, columns }];
        Relation::LetRec { bindings, limit, body: Box::new(body) }
    }

    /// Bindings of pairs that read each other, also by what they leave out and by groups.
    fn mutual(&mut self, depth: u32) -> Relation {
        let int4 = ScalarType::Int4;
        let columns = vec![ColumnType::nullable(int4); 2];
        let ids: Vec<u64> = (0..self.0.random_range(2..4))
            .map(|_| self.0.random_range(1_000..1_000_000_000))
            .collect();
        let locals: Vec<Relation> =
            ids.iter().map(|id| Relation::local(*id, RelationType::new(columns.clone()))).collect();
        let mut bindings = Vec::new();
        for &id in &ids {
            let (base, along) = self.alike(depth.min(1));
            let other = locals.choose(&mut self.0).expect("not empty").clone();
            let value = match self.0.random_range(0..4) {
                0 => {
                    let class = Equivalence::new(vec![col(1), col(2)]);
                    let next = Relation::join(vec![other, along], vec![class]);
                    Relation::union(vec![base, next.project(vec![0, 3])])
                }
                1 => Relation::union(vec![base, other.negate()]).threshold(),
                2 => {
                    let of = |func| Aggregate::of(func, col(1));
                    let aggregates = vec![of(AggFunc::Sum(int4)), of(AggFunc::Max(int4))];
                    let groups =
                        Relation::union(vec![base, other]).reduce(vec![col(0)], aggregates);
                    let few = Expr::literal(Datum::Int8(2), ScalarType::Int8);
                    let few = Expr::call_by_oid(469, vec![col(1), few]);
                    groups.filter(vec![few]).project(vec![0, 2])
                }
                _ => Relation::union(vec![other, base]),
            };
            let value = if self.chance(60) { value.distinct() } else { value };
            bindings.push(Binding { id, value, columns: columns.clone() });
        }
        let limit = Some(RoundLimit { rounds: self.0.random_range(1..5), fails: false, of: None });
        let body = match self.chance(50) {
            true => locals[0].clone(),
            false => Relation::union(locals),
        };
        Relation::LetRec { bindings, limit, body: Box::new(body) }
    }

    /// Short series, alone or two side by side.
    fn flat_map(&mut self, depth: u32) -> Relation {
        let input = self.relation(depth);
        let types = input.typ().scalars();
        let series = Func::by_oid(1067).expect("generate_series of two int4");
        let (mut parts, mut args) = (Vec::new(), Vec::new());
        for _ in 0..self.0.random_range(1..3) {
            parts.push(Part::of(series));
            args.extend([self.number(&types, 1), self.number(&types, 1)]);
        }
        input.flat_map(TableFunc { parts, ordinality: self.chance(30) }, args)
    }

    fn constant(&mut self) -> Relation {
        let mut ty = super::shapes::table_type();
        ty.keys.clear();
        let rows = (0..self.0.random_range(0..3)).map(|_| {
            let key = Datum::Int4(self.0.random_range(0..3));
            (pack(&[key, Datum::Null, Datum::Text("a")]), 1)
        });
        let rows: Vec<_> = rows.collect();
        Relation::constant(rows, ty)
    }

    fn projected(&mut self, depth: u32) -> Relation {
        let input = self.relation(depth);
        let arity = input.arity();
        let outputs = match arity {
            0 => Vec::new(),
            _ => (0..self.0.random_range(1..4)).map(|_| self.0.random_range(0..arity)).collect(),
        };
        input.project(outputs)
    }

    fn join(&mut self, depth: u32) -> Relation {
        let count = self.0.random_range(2..4);
        let inputs: Vec<Relation> = (0..count).map(|_| self.relation(depth.min(2))).collect();
        let types: Vec<ScalarType> = inputs.iter().flat_map(|i| i.typ().scalars()).collect();
        let mut classes = Vec::new();
        for _ in 0..self.0.random_range(1..4) {
            let of = *[ScalarType::Int4, ScalarType::Int4, ScalarType::Text]
                .choose(&mut self.0)
                .expect("not empty");
            let columns: Vec<usize> = (0..types.len()).filter(|c| types[*c] == of).collect();
            if columns.is_empty() {
                continue;
            }
            let size = self.0.random_range(2..4);
            let mut exprs: Vec<Expr> =
                (0..size).map(|_| col(*columns.choose(&mut self.0).expect("not empty"))).collect();
            if self.chance(15) && of == ScalarType::Int4 {
                exprs.push(int(self.0.random_range(0..3)));
            }
            // Front ends make no equivalence of what can fail.
            let computed = self.number(&types, 1);
            if self.chance(15) && of == ScalarType::Int4 && !computed.is_fallible() {
                exprs.push(computed);
            }
            classes.push(Equivalence { exprs, null_safe: self.chance(30) });
        }
        Relation::join(inputs, classes)
    }

    /// An aggregate that looks at rows in order, or one of its kin.
    fn ordered(&mut self, mut args: Vec<Expr>) -> Aggregate {
        let int4 = ScalarType::Int4;
        if args.is_empty() {
            args.push(int(1));
        }
        let (ty, sample) = (int4, self.chance(50));
        let func = match self.0.random_range(0..5) {
            0 => AggFunc::JsonbAgg,
            1 => AggFunc::Mode(int4),
            2 => AggFunc::BitXor(int4),
            3 => AggFunc::Variance(Spread { ty, sample }),
            _ => {
                args.push(Expr::literal(Datum::Float8(0.4), ScalarType::Float8));
                AggFunc::PercentileDisc(int4)
            }
        };
        let order = vec![ArgOrder { arg: 0, descending: self.chance(50), nulls_first: false }];
        Aggregate { func, args, order, distinct: false, filter: None }
    }

    fn reduce(&mut self, input: Relation) -> Relation {
        let types = input.typ().scalars();
        let keys = self.0.random_range(0..3);
        let key = (0..keys).map(|_| self.number(&types, 1)).collect();
        let mut aggregates = Vec::new();
        for _ in 0..self.0.random_range(0..3) {
            let int4 = ScalarType::Int4;
            let funcs = [
                AggFunc::CountStar,
                AggFunc::Count,
                AggFunc::Sum(int4),
                AggFunc::Min(int4),
                AggFunc::Max(int4),
            ];
            let func = *funcs.choose(&mut self.0).expect("not empty");
            let is_star = func == AggFunc::CountStar;
            let args = if is_star { vec![] } else { vec![self.number(&types, 1)] };
            let filter = self.chance(30).then(|| self.predicate(&types, 1));
            let distinct = !is_star && self.chance(30);
            if self.chance(20) {
                aggregates.push(Aggregate { distinct, filter, ..self.ordered(args) });
                continue;
            }
            aggregates.push(Aggregate { func, args, order: vec![], distinct, filter });
        }
        input.reduce(key, aggregates)
    }

    fn top_k(&mut self, depth: u32) -> Relation {
        let input = self.relation(depth);
        let arity = input.arity();
        if arity == 0 {
            return input;
        }
        let group: Vec<usize> =
            (0..self.0.random_range(0..2)).map(|_| self.0.random_range(0..arity)).collect();
        let order = (0..self.0.random_range(0..3))
            .map(|_| ColumnOrder {
                column: self.0.random_range(0..arity),
                descending: self.0.random(),
                nulls_first: self.0.random(),
            })
            .collect();
        if self.chance(50) {
            let bound = Expr::literal(Datum::Int8(self.0.random_range(-1..3)), ScalarType::Int8);
            let oid = [467, 469, 471].choose(&mut self.0).copied().expect("not empty");
            let ranked = input.rank(group, order);
            return ranked.filter(vec![Expr::call_by_oid(oid, vec![col(arity), bound])]);
        }
        let limit = self.chance(70).then(|| self.0.random_range(0..3));
        let mut top = input.top_k(group, order, limit, self.0.random_range(0..2));
        if let Relation::TopK { ties, .. } = &mut top {
            *ties = limit.is_some() && self.chance(30);
        }
        top
    }

    fn windows(&mut self, depth: u32) -> Relation {
        let input = self.relation(depth);
        let types = input.typ().scalars();
        let arity = types.len();
        if arity == 0 {
            return input;
        }
        let partition: Vec<usize> =
            (0..self.0.random_range(0..2)).map(|_| self.0.random_range(0..arity)).collect();
        let order: Vec<ColumnOrder> = (0..self.0.random_range(0..3))
            .map(|_| ColumnOrder {
                column: self.0.random_range(0..arity),
                descending: self.0.random(),
                nulls_first: self.0.random(),
            })
            .collect();
        let by_int4 = order.first().is_some_and(|o| types[o.column] == ScalarType::Int4);
        let calls = (0..self.0.random_range(1..3)).map(|_| {
            let (arg, filter) = (self.number(&types, 1), self.predicate(&types, 1));
            let filter = self.chance(30).then_some(filter);
            let frame = random_frame(&mut self.0, order.len(), by_int4);
            random_call(&mut self.0, arg, filter, frame)
        });
        let calls: Vec<_> = calls.collect();
        let types: Vec<_> = calls.iter().map(|c| c.output_type(&input.typ().columns)).collect();
        let windows = input.window(partition, order, calls);
        if self.chance(50) {
            return windows;
        }
        let all = windows.typ().scalars();
        debug_assert_eq!(all.len(), arity + types.len());
        let predicate = self.predicate(&all, 1);
        windows.filter(vec![predicate])
    }

    /// Two relations of one type.
    fn alike(&mut self, depth: u32) -> (Relation, Relation) {
        let pick = |relation: Relation, random: &mut Random| {
            let types = relation.typ().scalars();
            let arity = types.len();
            let exprs = vec![random.number(&types, 1), random.number(&types, 0)];
            relation.map(exprs).project(vec![arity, arity + 1])
        };
        let (a, b) = (self.relation(depth), self.relation(depth));
        (pick(a, self), pick(b, self))
    }
}

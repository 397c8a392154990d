//! What PostgreSQL 15 answered about pairs of documents: their order, whether the first contains
//! the second, and the first printed on many lines.

use bumpalo::Bump;

use super::{JsonbBuilder, JsonbRef};

const ANSWERS: &str = include_str!("oracle.tsv");

#[test]
fn order_containment_and_print_are_those_of_postgresql() {
    let arena = Bump::new();
    for line in ANSWERS.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [a, b, order, contains, pretty] = fields[..] else { panic!("five fields: {line}") };
        let a = JsonbRef::parse(a, &arena).unwrap();
        let b = JsonbRef::parse(b, &arena).unwrap();
        assert_eq!((a.compare(b) as i32).to_string(), order, "{a} {b}");
        assert_eq!(i32::from(a.contains(b)).to_string(), contains, "{a} @> {b}");
        let pretty: String = serde_json::from_str(pretty).unwrap();
        assert_eq!(a.pretty(), pretty);
        assert_eq!(JsonbRef::parse(&a.to_string(), &arena).unwrap().0, a.0, "{a}");
    }
}

#[test]
fn members_and_elements_are_found() {
    let arena = Bump::new();
    let members: Vec<String> = (0..500).map(|i| format!("\"k{i}\": [{i}, \"é\"]")).collect();
    let json = JsonbRef::parse(&format!("{{{}}}", members.join(",")), &arena).unwrap();
    for i in 0..500 {
        let key = format!("k{i}");
        let value = json.get(&key).unwrap();
        assert_eq!(value.index(0).unwrap().to_string(), i.to_string());
        assert_eq!(value.index(-1).unwrap().to_string(), "\"é\"");
        assert!(value.index(2).is_none() && value.index(-3).is_none());
        assert_eq!(json.get_path([key.as_str(), "-2"]).unwrap().to_string(), i.to_string());
    }
    assert!(json.get("k500").is_none());
}

#[test]
fn depth_costs_no_stack() {
    let arena = Bump::new();
    let nest = |depth| format!("{}1.0{}", "[".repeat(depth), "]".repeat(depth));
    let deep = JsonbRef::parse(&nest(6_000), &arena).unwrap();
    assert_eq!(deep.to_string(), nest(6_000));
    assert!(deep.compare(deep).is_eq() && deep.contains(deep));
    assert!(JsonbRef::parse(&nest(1_000_000), &arena).is_err());
    let mut builder = JsonbBuilder::new();
    builder.raw(deep);
    assert_eq!(builder.finish(), deep.0);
}

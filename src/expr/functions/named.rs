//! Names of parameters, and what stands for those that are left out: what `f(name => value)`
//! needs.

/// The parameters of a function.
#[derive(Debug)]
pub struct Signature {
    name: &'static str,
    /// Names, and the text of what stands for one that is left out.
    params: &'static [(&'static str, Option<&'static str>)],
}

/// The place of an argument, or the text of what stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The argument at a place, as they were written.
    Argument(usize),
    /// A literal.
    Default(&'static str),
}

type Params = &'static [(&'static str, Option<&'static str>)];

const PATH: Params =
    &[("target", None), ("path", None), ("vars", Some("{}")), ("silent", Some("f"))];
const FIELD: Params = &[("from_json", None), ("field_name", None)];
const ELEMENT: Params = &[("from_json", None), ("element_index", None)];

#[rustfmt::skip]
const SIGNATURES: &[Signature] = &[
    Signature { name: "json_array_element", params: ELEMENT },
    Signature { name: "json_array_element_text", params: ELEMENT },
    Signature { name: "json_object_field", params: FIELD },
    Signature { name: "json_object_field_text", params: FIELD },
    Signature { name: "jsonb_array_element", params: ELEMENT },
    Signature { name: "jsonb_array_element_text", params: ELEMENT },
    Signature { name: "jsonb_insert", params: &[
        ("jsonb_in", None), ("path", None), ("replacement", None), ("insert_after", Some("f")),
    ] },
    Signature { name: "jsonb_object_field", params: FIELD },
    Signature { name: "jsonb_object_field_text", params: FIELD },
    Signature { name: "jsonb_path_exists", params: PATH },
    Signature { name: "jsonb_path_exists_tz", params: PATH },
    Signature { name: "jsonb_path_match", params: PATH },
    Signature { name: "jsonb_path_match_tz", params: PATH },
    Signature { name: "jsonb_path_query", params: PATH },
    Signature { name: "jsonb_path_query_array", params: PATH },
    Signature { name: "jsonb_path_query_array_tz", params: PATH },
    Signature { name: "jsonb_path_query_first", params: PATH },
    Signature { name: "jsonb_path_query_first_tz", params: PATH },
    Signature { name: "jsonb_path_query_tz", params: PATH },
    Signature { name: "jsonb_set", params: &[
        ("jsonb_in", None), ("path", None), ("replacement", None),
        ("create_if_missing", Some("t")),
    ] },
    Signature { name: "jsonb_set_lax", params: &[
        ("jsonb_in", None), ("path", None), ("replacement", None),
        ("create_if_missing", Some("t")), ("null_value_treatment", Some("use_json_null")),
    ] },
    Signature { name: "make_date", params: &[("year", None), ("month", None), ("day", None)] },
    Signature { name: "make_interval", params: &[
        ("years", Some("0")), ("months", Some("0")), ("weeks", Some("0")), ("days", Some("0")),
        ("hours", Some("0")), ("mins", Some("0")), ("secs", Some("0")),
    ] },
    Signature { name: "make_time", params: &[("hour", None), ("min", None), ("sec", None)] },
    Signature { name: "make_timestamp", params: &[
        ("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None),
        ("sec", None),
    ] },
    Signature { name: "make_timestamptz", params: &[
        ("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None),
        ("sec", None),
    ] },
    Signature { name: "make_timestamptz", params: &[
        ("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None),
        ("sec", None), ("timezone", None),
    ] },
    Signature { name: "parse_ident", params: &[("str", None), ("strict", Some("t"))] },
];

/// In which order the arguments are given, of which the last ones have names; none where no
/// function of that name has parameters so called.
pub fn arranged(function: &str, positional: usize, names: &[&str]) -> Option<Vec<Given>> {
    SIGNATURES.iter().filter(|s| s.name == function).find_map(|s| s.arranged(positional, names))
}

impl Signature {
    fn arranged(&self, positional: usize, names: &[&str]) -> Option<Vec<Given>> {
        let is_param = |name: &&str| self.params.iter().skip(positional).any(|p| p.0 == *name);
        if positional > self.params.len() || !names.iter().all(is_param) {
            return None;
        }
        let given = self.params.iter().enumerate().map(|(at, (param, default))| {
            let named = names.iter().position(|name| name == param);
            match named {
                _ if at < positional => Some(Given::Argument(at)),
                Some(place) => Some(Given::Argument(positional + place)),
                None => default.map(Given::Default),
            }
        });
        given.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_places() {
        use Given::{Argument, Default};
        let zero = Default("0");
        let days = arranged("make_interval", 1, &["days"]).unwrap();
        assert_eq!(days, [Argument(0), zero, zero, Argument(1), zero, zero, zero]);
        assert_eq!(
            arranged("make_date", 0, &["day", "year", "month"]),
            Some(vec![Argument(1), Argument(2), Argument(0)])
        );
        assert_eq!(arranged("make_date", 1, &["year", "day"]), None);
        assert_eq!(arranged("make_date", 1, &["month"]), None);
        assert_eq!(arranged("make_interval", 0, &["dayz"]), None);
    }
}

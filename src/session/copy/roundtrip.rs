//! What is written in a format is read back the same, whatever the values and the options.

use bumpalo::Bump;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::plan::statement::{CopyFormat, CopyHeader, CopyOptions};
use crate::repr::settings::FormatSettings;
use crate::repr::text::parse_text;
use crate::repr::value::pack;
use crate::repr::{ColumnType, Datum, RangeKind, Row, ScalarType};
use crate::session::copy::reader::tests::options;
use crate::session::copy::{CopyReader, CopyWriter};

/// Pieces of texts that formats find hard.
const PIECES: &[&str] = &[
    "a",
    "é",
    "\u{1f600}",
    "\\",
    "\\.",
    "\\N",
    "N",
    "\"",
    "'",
    ",",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "|",
    "\u{1}",
    "\u{b}",
    "\u{c}",
    "\u{8}",
    " ",
    "\\x41",
    "\\101",
    "\"\"",
    "\n\\.\n",
];

/// An array's text form with every element quoted, of one or of two dimensions.
fn array_of(ty: ScalarType, random: &mut StdRng) -> String {
    let mut row = |count: usize| {
        let items: Vec<_> = (0..count)
            .map(|_| match random.random_bool(0.2) {
                true => "NULL".to_owned(),
                false => {
                    let text = text_of(ty, random);
                    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
                }
            })
            .collect();
        format!("{{{}}}", items.join(","))
    };
    match row(1).len() % 3 {
        0 => row(0),
        1 => row(3),
        _ => format!("[0:1][5:6]={{{},{}}}", row(2), row(2)),
    }
}

fn text_of(ty: ScalarType, random: &mut StdRng) -> String {
    let samples: &[&str] = match ty {
        ScalarType::Bool => &["t", "f"],
        ScalarType::Int2 => &["0", "-32768", "32767"],
        ScalarType::Int4 => &["0", "-2147483648", "17"],
        ScalarType::Int8 => &["-9223372036854775808", "9223372036854775807"],
        ScalarType::Float4 => &["0.1", "-0", "NaN", "Infinity", "1e-30"],
        ScalarType::Float8 => &["0.1", "-0", "-Infinity", "1e300", "5e-324"],
        ScalarType::Numeric => &["0.00", "-1.50", "NaN", "123456789012345678901234567890.1"],
        ScalarType::Date => &["2000-01-01", "infinity", "0044-03-15 BC", "9999-12-31"],
        ScalarType::Time => &["00:00", "24:00", "12:34:56.789012"],
        ScalarType::Timestamp => &["2000-01-01", "-infinity", "1969-12-31 23:59:59.999999"],
        ScalarType::TimestampTz => &["2000-01-01 00:00+00", "infinity", "2020-02-29 01:02:03+05"],
        ScalarType::Interval => &["0", "1 year -2 days 03:04:05.6", "-1 mon"],
        ScalarType::Uuid => &["00000000-0000-0000-0000-00000000abcd"],
        ScalarType::Jsonb => &["null", "{\"a\\n\": [1.0, \"\\\\\"], \"\": {}}", "\"\\t,\\\"\""],
        ScalarType::Bytea => &["\\x", "\\x00ff5c2c220a"],
        ScalarType::TimestampNs => &["2020-02-29 01:02:03.000000001+05", "1970-01-01"],
        ScalarType::JsonPath => &["$", "strict $.\"a\\tb\"?(@ > 1)"],
        ScalarType::Oid | ScalarType::Xid => &["0", "4294967295"],
        ScalarType::Char => &["", "a", "\\"],
        ScalarType::RegProc
        | ScalarType::RegProcedure
        | ScalarType::RegOper
        | ScalarType::RegOperator
        | ScalarType::RegClass
        | ScalarType::RegType
        | ScalarType::RegRole
        | ScalarType::RegNamespace => &["-", "4294967295"],
        ScalarType::Json => &["null", " {\"a\\n\":  [1.0, \"\\\\\"]}", "\"\\t,\\\"\""],
        ScalarType::Bit | ScalarType::Varbit => &["", "1", "10110011101"],
        ScalarType::Inet => &["10.1.2.3", "10.1.2.3/8", "::ffff:1.2.3.4/120"],
        ScalarType::Cidr => &["10.0.0.0/8", "2001:db8::/32"],
        ScalarType::Range(RangeKind::Int4 | RangeKind::Int8) => &["empty", "[1,5)", "(,)"],
        ScalarType::Range(RangeKind::Num) => &["(1.50,2]", "[NaN,]", "empty"],
        ScalarType::Range(_) => &["(,2000-01-01)", "[2000-01-01,2001-01-01)"],
        ScalarType::Multirange(RangeKind::Int4 | RangeKind::Int8) => &["{}", "{[1,2),[4,)}"],
        ScalarType::Multirange(RangeKind::Num) => &["{(1.5,2.0],(2.0,3]}", "{}"],
        ScalarType::Multirange(_) => &["{[2000-01-01,2001-01-01),[2002-01-01,)}"],
        ScalarType::TimeTz => &["00:00+00", "24:00-15:59:59", "12:34:56.789012+05:30"],
        ScalarType::Macaddr => &["08:00:2b:01:02:03"],
        ScalarType::Array(element) => return array_of(element.scalar(), random),
        ScalarType::Enum(_) | ScalarType::Record(_) => panic!("no built-in type"),
        ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Name => {
            let count = random.random_range(0..5);
            return (0..count).map(|_| *PIECES.choose(random).unwrap()).collect();
        }
    };
    (*samples.choose(random).unwrap()).to_owned()
}

fn random_options(random: &mut StdRng, columns: usize) -> CopyOptions {
    let format = *[CopyFormat::Text, CopyFormat::Csv, CopyFormat::Binary].choose(random).unwrap();
    let mut chosen = options(format);
    if format == CopyFormat::Binary {
        return chosen;
    }
    chosen.header =
        *[CopyHeader::None, CopyHeader::Names, CopyHeader::Match].choose(random).unwrap();
    if format == CopyFormat::Csv {
        chosen.delimiter = *b",\t|;".choose(random).unwrap();
        chosen.quote = *b"\"'".choose(random).unwrap();
        chosen.escape = if random.random_bool(0.5) { chosen.quote } else { b'\\' };
        chosen.null = (*["", "N", "\\N"].choose(random).unwrap()).to_owned();
        if random.random_bool(0.3) {
            chosen.force_quote = Some(vec![random.random_range(0..columns)]);
        }
    } else {
        chosen.delimiter = *b",\t|;".choose(random).unwrap();
    }
    chosen
}

fn read_back(
    options: &CopyOptions,
    columns: Vec<(String, ColumnType)>,
    bytes: &[u8],
    random: &mut StdRng,
) -> Vec<Row> {
    let settings = FormatSettings::default();
    let mut reader = CopyReader::new(options, columns, "t", &settings).unwrap();
    let mut rows = Vec::new();
    let mut rest = bytes;
    loop {
        while let Some(row) = reader.next().unwrap() {
            rows.push(row);
        }
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(random.random_range(1..=rest.len()));
        reader.push(piece);
        rest = after;
    }
    reader.finish();
    while let Some(row) = reader.next().unwrap() {
        rows.push(row);
    }
    rows
}

#[test]
fn what_is_written_is_read_back() {
    let mut random = StdRng::seed_from_u64(15);
    let settings = FormatSettings::default();
    for round in 0..400 {
        let arena = Bump::new();
        let width = random.random_range(1..6);
        let types: Vec<_> =
            (0..width).map(|_| *ScalarType::ALL.choose(&mut random).unwrap()).collect();
        let names = types.iter().enumerate();
        let columns: Vec<_> =
            names.map(|(at, ty)| (format!("c\t{at}"), ColumnType::nullable(*ty))).collect();
        let options = random_options(&mut random, width);
        let mut writer = CopyWriter::new(&options, columns.clone(), &settings);
        let (mut bytes, mut rows) = (Vec::new(), Vec::new());
        writer.header(&mut bytes);
        for _ in 0..random.random_range(0..6) {
            let mut datums = Vec::new();
            for ty in &types {
                let text = arena.alloc_str(&text_of(*ty, &mut random));
                datums.push(match random.random_bool(0.2) {
                    true => Datum::Null,
                    false => parse_text(*ty, -1, text, &settings, &arena).unwrap(),
                });
            }
            writer.row(&datums, &mut bytes);
            rows.push(pack(&datums));
        }
        writer.trailer(&mut bytes);
        let back = read_back(&options, columns, &bytes, &mut random);
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(back, rows, "round {round} {types:?} {options:?}\n{shown}");
    }
}

//! Queries in EDN, as Datomic has them: `[:find ?x (count ?y) :in $ ?a :where [?x :edge/to ?y]]`.
//!
//! A query is read into forms and then spelled as rules, whose tokens have the places of the forms
//! that they come from; so there is one parser and one meaning. An attribute `:edge/to` is the
//! relation `edge.to` of an entity and a value, a call `(path ?x ?y)` the relation `path`. What
//! `:in` names is `$1`, `$2`, … in that order; `$` and `%`, the database and its rules, are always
//! there. More rules may stand in a section `:rules`, or in the string that USING gives for `%`.
//!
//! Aggregates keep Datomic's meaning: they range over the set of the variables that are found,
//! widened by `:with`. So the body derives that set by a rule, and the query asks the rule.

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

use crate::error::{Error, Result, SqlState};
use crate::sql::datalog::edn_facts::pulled;
use crate::sql::parse::position::Lines;

/// The rule that derives the variables that are found.
const FOUND: &str = "what is found";

/// The deepest nesting of forms.
const DEPTH_MAX: usize = 200;

/// A form, and the characters that it is.
#[derive(Clone, Debug)]
pub struct Form {
    /// What it is.
    pub kind: Kind,
    /// Its first character, from 0.
    pub from: u32,
    /// The one behind its last.
    pub to: u32,
}

/// What a form is.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    List(Vec<Form>),
    Vector(Vec<Form>),
    Map(Vec<Form>),
    Keyword(String),
    Symbol(String),
    Text(String),
    Number(String),
}

/// The tokens of the rules that a query in EDN is. `base`: the character before which it begins.
///
/// Errors: 42601 with the place, 0A000 for forms that are not there.
pub fn tokens(lines: &Lines, text: &str, base: u32) -> Result<Vec<TokenWithSpan>> {
    tokens_with(lines, text, base, &mut vec![])
}

/// The same. `given`: what stands for the inputs; the one for `%`, a string of rules, is taken.
pub fn tokens_with(
    lines: &Lines,
    text: &str,
    base: u32,
    given: &mut Vec<&[TokenWithSpan]>,
) -> Result<Vec<TokenWithSpan>> {
    let form = form_of(text, base)?;
    let mut spelled = Spelled {
        lines,
        tokens: vec![],
        rules: vec![],
        inputs: vec![],
        around: vec![],
        made: 0,
        dated: vec![],
        unwritten: false,
    };
    spelled.query(&form, given)?;
    spelled.dated_rules();
    let mut tokens = spelled.rules;
    tokens.extend(spelled.tokens);
    Ok(tokens)
}

/// Whether a form is a query rather than a transaction: it says what to find, or nothing that a
/// transaction could say.
pub fn is_query(form: &Form) -> bool {
    let is_find = |form: &Form| matches!(&form.kind, Kind::Keyword(name) if name == "find");
    match &form.kind {
        Kind::Vector(forms) => {
            forms.first().is_some_and(|first| !matches!(first.kind, Kind::Vector(_) | Kind::Map(_)))
        }
        Kind::Map(forms) => forms.iter().step_by(2).any(is_find),
        _ => true,
    }
}

/// The one form that a text is.
///
/// Errors: 42601 with the place, 0A000 for forms that are not there.
pub fn form_of(text: &str, base: u32) -> Result<Form> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0, base };
    let form = reader.form(0)?;
    reader.blanks();
    if reader.at < reader.chars.len() {
        return Err(reader.fault());
    }
    Ok(form)
}

/// A string with blanks in the place of comments, if it begins with queries in EDN: in those a
/// semicolon is no end of a statement.
pub fn without_comments(text: &str) -> std::borrow::Cow<'_, str> {
    let begins = |rest: &str| rest.trim_start().starts_with(['[', '{']);
    if !begins(text) || !text.contains(';') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut in_text, mut comment, mut escaped) = (0usize, false, false, false);
    for (at, c) in text.char_indices() {
        comment = comment && c != '\n';
        if comment {
            out.push(' ');
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            ';' if depth > 0 => {
                comment = true;
                out.push(' ');
                continue;
            }
            ';' if !begins(&text[at + 1..]) => {
                out.push_str(&text[at..]);
                return out.into();
            }
            _ => {}
        }
        out.push(c);
    }
    out.into()
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    base: u32,
}

impl Reader {
    fn place(&self) -> u32 {
        self.base + self.at as u32
    }

    fn fault(&self) -> Error {
        let message = match self.chars.get(self.at) {
            Some(c) => format!("syntax error at or near \"{c}\""),
            None => "syntax error at end of input".to_owned(),
        };
        Error::new(SqlState::SYNTAX_ERROR, message).at(Some(self.place() + 1))
    }

    /// Passes white space, commas and comments.
    fn blanks(&mut self) {
        while let Some(c) = self.chars.get(self.at) {
            match c {
                ';' => {
                    while self.chars.get(self.at).is_some_and(|c| *c != '\n') {
                        self.at += 1;
                    }
                }
                ',' => self.at += 1,
                c if c.is_whitespace() => self.at += 1,
                _ => break,
            }
        }
    }

    fn form(&mut self, depth: usize) -> Result<Form> {
        self.blanks();
        if depth > DEPTH_MAX {
            return Err(crate::sql::parse::limits::too_deep());
        }
        let from = self.place();
        let kind = match self.chars.get(self.at) {
            Some('[') => Kind::Vector(self.forms(']', depth)?),
            Some('(') => Kind::List(self.forms(')', depth)?),
            Some('{') => Kind::Map(self.forms('}', depth)?),
            Some('"') => Kind::Text(self.text()?),
            Some('#' | '\\' | '^' | '\'' | '`' | '~' | '@') => {
                return Err(unsupported("this form of EDN", from));
            }
            Some(_) => self.word()?,
            None => return Err(self.fault()),
        };
        Ok(Form { kind, from, to: self.place() })
    }

    fn forms(&mut self, close: char, depth: usize) -> Result<Vec<Form>> {
        self.at += 1;
        let mut forms = vec![];
        loop {
            self.blanks();
            match self.chars.get(self.at) {
                Some(c) if *c == close => {
                    self.at += 1;
                    return Ok(forms);
                }
                Some(_) => forms.push(self.form(depth + 1)?),
                None => return Err(self.fault()),
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            self.at += 1;
            match self.chars.get(self.at) {
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => {
                    self.at += 1;
                    text.push(match self.chars.get(self.at) {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(c @ ('"' | '\\')) => *c,
                        _ => return Err(self.fault()),
                    });
                }
                Some(c) => text.push(*c),
                None => return Err(self.fault()),
            }
        }
    }

    fn word(&mut self) -> Result<Kind> {
        let is_part = |c: &char| !c.is_whitespace() && !"[](){},;\"".contains(*c);
        let rest = &self.chars[self.at..];
        let word: String = rest.iter().take_while(|c| is_part(c)).collect();
        if word.is_empty() {
            return Err(self.fault());
        }
        self.at += word.chars().count();
        let digits = word.trim_start_matches(['-', '+']);
        Ok(match word.strip_prefix(':') {
            Some(name) => Kind::Keyword(name.to_owned()),
            None if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                let number = word.trim_start_matches('+').trim_end_matches(['N', 'M']);
                if number.parse::<f64>().is_err() {
                    self.at -= word.chars().count();
                    return Err(self.fault());
                }
                Kind::Number(number.to_owned())
            }
            None => Kind::Symbol(word),
        })
    }
}

pub(super) fn unsupported(what: &str, from: u32) -> Error {
    Error::unsupported(what, "Write the query as rules: FIND \u{2026} WHERE \u{2026}.")
        .at(Some(from + 1))
}

pub(super) fn fault_at(form: &Form, message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(Some(form.from + 1))
}

/// Tokens that were spelled, and the names of the inputs.
pub(super) struct Spelled<'a> {
    lines: &'a Lines,
    pub(super) tokens: Vec<TokenWithSpan>,
    /// Rules that stand before them.
    pub(super) rules: Vec<TokenWithSpan>,
    pub(super) inputs: Vec<String>,
    /// The clauses among which the one stands that is being spelled.
    pub(super) around: Vec<Form>,
    /// How many clauses have become rules.
    pub(super) made: usize,
    /// The attributes that are asked for the transactions of their facts.
    pub(super) dated: Vec<(String, Form)>,
    /// Whether what is spelled is not written there.
    pub(super) unwritten: bool,
}

impl Spelled<'_> {
    pub(super) fn put(&mut self, form: &Form, token: Token) {
        let end = self.lines.location(form.to);
        // A form ends where its last character does, also at the end of a line.
        let end = match form.to.checked_sub(1).map(|last| self.lines.location(last)) {
            Some(last) => Location::new(last.line, last.column + 1),
            None => end,
        };
        let start = self.lines.location(form.from);
        let span = Span::new(start, if self.unwritten { start } else { end });
        self.tokens.push(TokenWithSpan { token, span });
    }

    pub(super) fn name(&mut self, form: &Form, name: &str) {
        let keyword = sqlparser::keywords::Keyword::NoKeyword;
        self.put(form, Token::Word(Word { value: name.into(), quote_style: Some('"'), keyword }));
    }

    pub(super) fn word(&mut self, form: &Form, word: &str) {
        self.put(form, Token::make_word(word, None));
    }

    /// A query: a vector or a map of its sections.
    fn query(&mut self, form: &Form, given: &mut Vec<&[TokenWithSpan]>) -> Result<()> {
        let mut sections: Vec<(String, Vec<Form>)> = vec![];
        match &form.kind {
            Kind::Vector(forms) => {
                for part in forms {
                    match (&part.kind, sections.last_mut()) {
                        (Kind::Keyword(name), _) => sections.push((name.clone(), vec![])),
                        (_, Some((_, inside))) => inside.push(part.clone()),
                        (_, None) => return Err(fault_at(part, "a query begins with :find")),
                    }
                }
            }
            Kind::Map(forms) => {
                for pair in forms.chunks(2) {
                    let [key, value] = pair else {
                        return Err(fault_at(form, "a map with a key that has no value"));
                    };
                    match (&key.kind, &value.kind) {
                        (Kind::Keyword(name), Kind::Vector(inside)) => {
                            sections.push((name.clone(), inside.clone()));
                        }
                        _ => return Err(fault_at(key, "a section of a query is :name [\u{2026}]")),
                    }
                }
            }
            _ => return Err(fault_at(form, "a query in EDN is a vector or a map")),
        }
        for (name, inside) in &sections {
            if !["find", "with", "in", "where", "rules"].contains(&name.as_str()) {
                let from = inside.first().map_or(form.from, |first| first.from);
                return Err(unsupported(&format!("the section :{name}"), from));
            }
        }
        let section = |name: &str| {
            let named = sections.iter().filter(|(other, _)| other == name);
            named.flat_map(|(_, inside)| inside.clone()).collect::<Vec<_>>()
        };
        let inputs = section("in");
        self.read_inputs(&inputs)?;
        for rules in section("rules") {
            self.given_rules(std::slice::from_ref(&rules))?;
        }
        self.rules_of_using(&inputs, given)?;
        self.whole(form, &section("find"), &section("with"), &section("where"))
    }

    fn read_inputs(&mut self, inputs: &[Form]) -> Result<()> {
        for input in inputs {
            match &input.kind {
                Kind::Symbol(name) if name == "$" || name == "%" => {}
                Kind::Symbol(name) if name.starts_with('?') => self.inputs.push(name.clone()),
                _ => return Err(unsupported("this input of a query", input.from)),
            }
        }
        Ok(())
    }

    /// The rules that USING gives for `%`, as a string.
    fn rules_of_using(&mut self, inputs: &[Form], given: &mut Vec<&[TokenWithSpan]>) -> Result<()> {
        let named = inputs.iter().filter(|input| symbol(input) != Some("$"));
        let Some(at) = named.clone().position(|input| symbol(input) == Some("%")) else {
            return Ok(());
        };
        if given.len() != named.count() {
            return Ok(());
        }
        let [TokenWithSpan { token: Token::SingleQuotedString(text), span }] = given.remove(at)
        else {
            return Err(unsupported("rules that are no string", inputs[0].from));
        };
        let base = self.lines.position(span.start).unwrap_or(0);
        match form_of(text, base)?.kind {
            Kind::Vector(rules) => self.given_rules(&rules),
            _ => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "rules in EDN are a vector").at(Some(base)))
            }
        }
    }

    /// `found(variables) <- where. FIND find WHERE found(variables)`.
    fn whole(&mut self, form: &Form, find: &[Form], with: &[Form], body: &[Form]) -> Result<()> {
        let (Some(first), Some(_)) = (find.first(), body.first()) else {
            return Err(fault_at(form, "a query has :find and :where"));
        };
        let mut variables: Vec<Form> = vec![];
        for term in find {
            match &term.kind {
                Kind::Symbol(name) if name.starts_with('?') => variables.push(term.clone()),
                Kind::List(call) if matches!(call.as_slice(), [_, one] if is_variable(one)) => {
                    variables.push(call[1].clone());
                }
                Kind::List(call) if pulled(call).is_some() => variables.push(call[1].clone()),
                _ => return Err(unsupported("this form of :find", term.from)),
            }
        }
        variables.extend(with.iter().cloned());
        let mut seen: Vec<String> = vec![];
        variables.retain(|form| {
            let name = symbol(form).unwrap_or_default().to_owned();
            let new = !seen.contains(&name) && !self.inputs.contains(&name);
            seen.push(name);
            new
        });
        if variables.is_empty() {
            return Err(unsupported("a query that finds nothing but its inputs", first.from));
        }
        self.around = body.to_vec();
        self.head_and_body(form, FOUND, &variables, body)?;
        self.word(form, "FIND");
        for (at, term) in find.iter().enumerate() {
            if at > 0 {
                self.put(term, Token::Comma);
            }
            self.found(term)?;
        }
        self.put(form, Token::make_keyword("WHERE"));
        self.call(form, FOUND, &variables)
    }

    /// A term of `:find`.
    fn found(&mut self, term: &Form) -> Result<()> {
        let Kind::List(call) = &term.kind else { return self.term(term) };
        if let Some((entity, pattern)) = pulled(call) {
            self.word(term, "pull");
            self.put(term, Token::LParen);
            self.term(entity)?;
            self.put(term, Token::Comma);
            let text = self.lines.slice(pattern.from, pattern.to).to_owned();
            self.put(pattern, Token::SingleQuotedString(text));
            self.put(term, Token::RParen);
            return Ok(());
        }
        let [function, argument] = call.as_slice() else {
            return Err(unsupported("this form of :find", term.from));
        };
        let name = symbol(function).unwrap_or_default();
        let (name, distinct) = match name {
            "count-distinct" => ("count", true),
            name => (name, false),
        };
        self.word(function, name);
        self.put(function, Token::LParen);
        if distinct {
            self.put(function, Token::make_keyword("DISTINCT"));
        }
        self.term(argument)?;
        self.put(term, Token::RParen);
        self.put(term, Token::make_keyword("AS"));
        self.word(function, name);
        Ok(())
    }

    /// The arrow of a rule, whose two signs stick together.
    pub(super) fn arrow(&mut self, form: &Form) {
        self.put(form, Token::Lt);
        let arrow = self.tokens.last().map(|token| token.span);
        self.put(form, Token::Minus);
        if let (Some(span), Some(minus)) = (arrow, self.tokens.last_mut()) {
            minus.span = Span::new(span.end, span.end);
        }
    }

    pub(super) fn clauses(&mut self, clauses: &[Form], between: &Token) -> Result<()> {
        for (at, clause) in clauses.iter().enumerate() {
            if at > 0 {
                self.put(clause, between.clone());
            }
            self.clause(clause)?;
        }
        Ok(())
    }

    pub(super) fn clause(&mut self, clause: &Form) -> Result<()> {
        match &clause.kind {
            Kind::Vector(parts) => match parts.as_slice() {
                [Form { kind: Kind::List(call), .. }] => self.expression(clause, call),
                [Form { kind: Kind::List(call), .. }, to] if is_variable(to) => {
                    self.term(to)?;
                    self.put(clause, Token::Eq);
                    self.expression(clause, call)
                }
                parts => self.pattern(clause, parts),
            },
            Kind::List(parts) => self.call_clause(clause, parts),
            _ => Err(fault_at(clause, "a clause is a pattern [\u{2026}] or a call (\u{2026})")),
        }
    }

    /// `[?e :edge/to ?v]`.
    fn pattern(&mut self, clause: &Form, parts: &[Form]) -> Result<()> {
        let parts = match parts {
            [source, rest @ ..] if symbol(source) == Some("$") => rest,
            parts => parts,
        };
        let (entity, attribute, rest) = match parts {
            [entity, attribute, rest @ ..] if rest.len() <= 3 => (entity, attribute, rest),
            _ => return Err(unsupported("this pattern", clause.from)),
        };
        let Kind::Keyword(name) = &attribute.kind else {
            return Err(unsupported("a pattern without an attribute", attribute.from));
        };
        self.relation(attribute, name, rest.len().saturating_sub(1));
        self.put(clause, Token::LParen);
        self.term(entity)?;
        for term in rest {
            self.put(clause, Token::Comma);
            self.term(term)?;
        }
        if rest.is_empty() {
            self.put(clause, Token::Comma);
            self.word(clause, "_");
        }
        self.put(clause, Token::RParen);
        Ok(())
    }

    /// A name with its schema. It is one where its tokens stick together.
    pub(super) fn qualified(&mut self, place: &Form, schema: &str, name: &str) {
        let point = place.from + 1 + schema.chars().count() as u32;
        let point = point.min(place.to.saturating_sub(2)).max(place.from + 1);
        // What has no place has it together.
        let unwritten = self.unwritten;
        let part = |from, to| match unwritten {
            true => place.clone(),
            false => Form { from, to, ..place.clone() },
        };
        self.name(&part(place.from, point), schema);
        self.put(&part(point, point + 1), Token::Period);
        self.name(&part(point + 1, place.to), name);
    }

    /// `(path ?x ?y)`, `(not …)`, `(or …)`, `(and …)`.
    fn call_clause(&mut self, clause: &Form, parts: &[Form]) -> Result<()> {
        let Some((first, rest)) = parts.split_first() else {
            return Err(fault_at(clause, "an empty clause"));
        };
        match symbol(first) {
            Some("not") if !rest.is_empty() => self.not(clause, first, rest),
            Some(connective @ ("or" | "and")) if !rest.is_empty() => {
                let is_or = connective == "or";
                let between = if is_or { Token::Pipe } else { Token::Comma };
                let before = self.around.len();
                self.around.extend(rest.iter().filter(|_| !is_or).cloned());
                self.put(first, Token::LParen);
                self.clauses(rest, &between)?;
                self.put(clause, Token::RParen);
                self.around.truncate(before);
                Ok(())
            }
            Some(name @ ("not-join" | "or-join")) => self.join(clause, name, rest),
            Some(name @ ("not" | "or" | "and")) => {
                Err(fault_at(first, &format!("{name} has clauses in it")))
            }
            Some(name) if !name.starts_with('?') => self.call_at(first, clause, name, rest),
            _ => Err(fault_at(first, "a call begins with the name of a rule")),
        }
    }

    pub(super) fn call(&mut self, place: &Form, name: &str, args: &[Form]) -> Result<()> {
        match name.split_once('/') {
            Some((schema, name)) if !schema.is_empty() && !name.is_empty() => {
                self.qualified(place, schema, name);
            }
            _ => self.name(place, name),
        }
        self.put(place, Token::LParen);
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.put(arg, Token::Comma);
            }
            self.term(arg)?;
        }
        self.put(place, Token::RParen);
        Ok(())
    }

    /// The call of a relation, whose text is the whole clause.
    fn call_at(&mut self, first: &Form, clause: &Form, name: &str, args: &[Form]) -> Result<()> {
        self.call(first, name, args)?;
        if let Some(last) = self.tokens.pop() {
            self.put(clause, last.token);
        }
        Ok(())
    }

    /// `(< ?x 5)`, `(+ ?x 1)`, `(upper ?x)`.
    fn expression(&mut self, place: &Form, call: &[Form]) -> Result<()> {
        let Some((first, args)) = call.split_first() else {
            return Err(fault_at(place, "an empty call"));
        };
        let name = symbol(first).unwrap_or_default();
        let infix = match name {
            "<" => Some(Token::Lt),
            "<=" => Some(Token::LtEq),
            ">" => Some(Token::Gt),
            ">=" => Some(Token::GtEq),
            "=" | "==" => Some(Token::Eq),
            "!=" | "not=" => Some(Token::Neq),
            "+" => Some(Token::Plus),
            "-" => Some(Token::Minus),
            "*" => Some(Token::Mul),
            "/" => Some(Token::Div),
            _ => None,
        };
        match (infix, args) {
            (Some(infix), [left, right]) => {
                self.operand(left)?;
                self.put(first, infix);
                self.operand(right)
            }
            (Some(_), _) => Err(unsupported("an operator of more or less than two", first.from)),
            (None, [only]) if matches!(name, "ground" | "identity") => self.operand(only),
            (None, _) if name.is_empty() => Err(fault_at(first, "a call begins with a function")),
            (None, args) => {
                self.word(first, name);
                self.put(first, Token::LParen);
                for (at, arg) in args.iter().enumerate() {
                    if at > 0 {
                        self.put(arg, Token::Comma);
                    }
                    self.operand(arg)?;
                }
                self.put(place, Token::RParen);
                Ok(())
            }
        }
    }

    fn operand(&mut self, form: &Form) -> Result<()> {
        match &form.kind {
            Kind::List(call) => {
                self.put(form, Token::LParen);
                self.expression(form, call)?;
                self.put(form, Token::RParen);
                Ok(())
            }
            _ => self.term(form),
        }
    }

    /// A variable or a constant.
    fn term(&mut self, form: &Form) -> Result<()> {
        match &form.kind {
            Kind::Number(number) => match number.strip_prefix('-') {
                Some(digits) => {
                    self.put(form, Token::Minus);
                    self.put(form, Token::Number(digits.to_owned(), false));
                }
                None => self.put(form, Token::Number(number.clone(), false)),
            },
            Kind::Text(text) => self.put(form, Token::SingleQuotedString(text.clone())),
            Kind::Symbol(name) if name == "_" => self.word(form, "_"),
            Kind::Symbol(name) if ["true", "false"].contains(&name.as_str()) => {
                self.put(form, Token::make_keyword(name));
            }
            Kind::Symbol(name) if name == "nil" => self.put(form, Token::make_keyword("NULL")),
            Kind::Symbol(name) if name.starts_with('?') && name.len() > 1 => {
                match self.inputs.iter().position(|input| input == name) {
                    Some(at) => self.put(form, Token::Placeholder(format!("${}", at + 1))),
                    None => self.word(form, &name[1..]),
                }
            }
            _ => return Err(unsupported("this term", form.from)),
        }
        Ok(())
    }
}

pub(super) fn symbol(form: &Form) -> Option<&str> {
    match &form.kind {
        Kind::Symbol(name) => Some(name),
        _ => None,
    }
}

pub(super) fn is_variable(form: &Form) -> bool {
    symbol(form).is_some_and(|name| name.starts_with('?'))
}

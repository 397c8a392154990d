//! Which rows of which page are shown, in which order.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Duration;

use super::pages::{Column, Kind, OPERATORS, PAGES, Page};

/// A row as the server sent it: its name, and a text or NULL for each column.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Names it.
    pub key: String,
    /// A cell for each column of the page.
    pub cells: Vec<Cell>,
}

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Nothing,
    /// Words.
    Text(String),
    /// A number, as its column means it.
    Number(f64),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn compare(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Number(one), Cell::Number(other)) => one.total_cmp(other),
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            (Cell::Nothing, Cell::Nothing) => Ordering::Equal,
            (Cell::Nothing, _) => Ordering::Less,
            (_, Cell::Nothing) => Ordering::Greater,
            (Cell::Number(_), Cell::Text(_)) => Ordering::Less,
            (Cell::Text(_), Cell::Number(_)) => Ordering::Greater,
        }
    }
}

/// What the user looks at.
#[derive(Debug)]
pub struct View {
    /// Which of the pages.
    pub page: usize,
    /// The object whose operators are shown instead, and what it is called.
    pub object: Option<(String, String)>,
    /// The column by which rows are sorted, and whether the greatest come first.
    pub sort: (usize, bool),
    /// Only rows with this in a text are shown.
    pub filter: String,
    /// Whether the filter is being typed.
    pub is_typing: bool,
    /// Which of the shown rows is chosen.
    pub chosen: usize,
    /// The line that says how the server is.
    pub summary: String,
    /// What went wrong the last time.
    pub fault: Option<String>,
    rows: Vec<Row>,
    /// The sums so far, by row and column.
    before: HashMap<(String, usize), f64>,
}

impl Default for View {
    fn default() -> View {
        let (summary, filter) = (String::new(), String::new());
        let mut view = View {
            page: 0,
            object: None,
            sort: (0, true),
            filter,
            is_typing: false,
            chosen: 0,
            summary,
            fault: None,
            rows: Vec::new(),
            before: HashMap::new(),
        };
        view.turn_to(0);
        view
    }
}

impl View {
    /// The page that is shown.
    pub fn shown_page(&self) -> &'static Page {
        if self.object.is_some() { &OPERATORS } else { &PAGES[self.page] }
    }

    /// The query of the page that is shown.
    pub fn query(&self) -> String {
        let object = self.object.as_ref().map_or("0", |(object, _)| object);
        self.shown_page().sql.replace("$object", object)
    }

    /// Turns to a page.
    pub fn turn_to(&mut self, page: usize) {
        self.page = page % PAGES.len();
        self.object = None;
        self.begin();
    }

    fn begin(&mut self) {
        self.sort = (self.shown_page().sort, true);
        self.chosen = 0;
        self.rows.clear();
        self.before.clear();
    }

    /// Goes to the operators of the relation that is chosen, or back.
    pub fn enter(&mut self) {
        if self.page != 0 || self.object.is_some() {
            return;
        }
        let chosen = self.shown().into_iter().nth(self.chosen);
        if let Some(Row { key, cells }) = chosen {
            let name = match cells.into_iter().next() {
                Some(Cell::Text(name)) => name,
                _ => key.clone(),
            };
            // It goes into a query.
            if key.bytes().all(|byte| byte.is_ascii_digit()) {
                self.object = Some((key, name));
                self.begin();
            }
        }
    }

    /// Goes back: from a filter, or from operators.
    pub fn leave(&mut self) {
        if !self.filter.is_empty() {
            self.filter.clear();
        } else if self.object.take().is_some() {
            self.begin();
        }
    }

    /// Sorts by the column that is so many further.
    pub fn sort_by(&mut self, further: isize) {
        let count = self.shown_page().columns.len() as isize;
        let column = (self.sort.0 as isize + further).rem_euclid(count.max(1));
        self.sort.0 = column as usize;
    }

    /// Chooses the row that is so many further.
    pub fn choose(&mut self, further: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(further).min(last);
    }

    /// Takes the answer to the query of the page, `since` the one before it.
    pub fn take(&mut self, answer: Vec<Vec<Option<String>>>, since: Duration) {
        let columns = self.shown_page().columns;
        let mut before = HashMap::new();
        let mut rows = Vec::with_capacity(answer.len());
        for mut texts in answer {
            if texts.len() != columns.len() + 1 {
                continue;
            }
            let key = texts.remove(0).unwrap_or_default();
            let cell = |(place, (text, column)): (usize, (Option<String>, &Column))| {
                let Some(text) = text else { return Cell::Nothing };
                let number = match column.kind {
                    Kind::Text => return Cell::Text(text),
                    _ => text.parse::<f64>().unwrap_or(0.0),
                };
                if column.kind != Kind::Rate {
                    return Cell::Number(number);
                }
                before.insert((key.clone(), place), number);
                match self.before.get(&(key.clone(), place)) {
                    Some(old) if !since.is_zero() => {
                        Cell::Number((number - old).max(0.0) / 1e9 / since.as_secs_f64())
                    }
                    _ => Cell::Nothing,
                }
            };
            let cells = texts.into_iter().zip(columns).enumerate().map(cell).collect();
            rows.push(Row { key, cells });
        }
        for (place, _) in columns.iter().enumerate().filter(|(_, c)| c.kind == Kind::Share) {
            let sum: f64 = rows.iter().filter_map(|row: &Row| row.cells[place].number()).sum();
            for row in &mut rows {
                let part = row.cells[place].number().filter(|_| sum > 0.0).map(|part| part / sum);
                row.cells[place] = part.map_or(Cell::Nothing, Cell::Number);
            }
        }
        self.rows = rows;
        self.before = before;
        self.fault = None;
        self.choose(0);
    }

    /// The rows that are shown, in order.
    pub fn shown(&self) -> Vec<Row> {
        let filter = self.filter.to_lowercase();
        let has = |cell: &Cell| match cell {
            Cell::Text(text) => text.to_lowercase().contains(&filter),
            _ => false,
        };
        let is_shown = |row: &&Row| filter.is_empty() || row.cells.iter().any(has);
        let mut rows: Vec<Row> = self.rows.iter().filter(is_shown).cloned().collect();
        let (column, descending) = self.sort;
        rows.sort_by(|one, other| {
            let order = match (one.cells.get(column), other.cells.get(column)) {
                (Some(one), Some(other)) => one.compare(other),
                _ => Ordering::Equal,
            };
            let order = if descending { order.reverse() } else { order };
            order.then_with(|| one.key.cmp(&other.key))
        });
        rows
    }
}

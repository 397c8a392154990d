//! The picture: a line about the server, the pages, the rows, the keys.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell as Field, Paragraph, Row as TableRow, Table, TableState};

use super::pages::{Column, Kind, PAGES};
use super::view::{Cell, View};

const KEYS: &str = "Tab page  ↑↓ choose  Enter operators  ←→ sort  r reverse  / filter  p profile  \
    q quit";

/// Draws it all.
pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let parts = [1, 1, 0, 1].map(|height| match height {
        0 => Constraint::Min(2),
        height => Constraint::Length(height),
    });
    let [summary, pages, table, keys] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(view.summary.as_str()), summary);
    frame.render_widget(Paragraph::new(titles(view)), pages);
    rows(frame, view, table);
    let last = match &view.fault {
        Some(fault) => Line::styled(fault.as_str(), Style::new().add_modifier(Modifier::BOLD)),
        None if view.is_typing => Line::raw(format!("filter: {}▏", view.filter)),
        None => Line::raw(KEYS),
    };
    frame.render_widget(Paragraph::new(last), keys);
}

fn titles(view: &View) -> Line<'_> {
    let mut spans = Vec::new();
    for (number, page) in PAGES.iter().enumerate() {
        let is_shown = number == view.page;
        let style = if is_shown { Modifier::REVERSED } else { Modifier::empty() };
        let text = match &view.object {
            Some((_, name)) if is_shown => format!(" {} › {name} ", page.name),
            _ => format!(" {} ", page.name),
        };
        spans.push(Span::styled(text, Style::new().add_modifier(style)));
    }
    if !view.filter.is_empty() {
        spans.push(Span::raw(format!("  only “{}”", view.filter)));
    }
    Line::from(spans)
}

fn rows(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let page = view.shown_page();
    let shown = view.shown();
    if shown.is_empty() && view.filter.is_empty() {
        frame.render_widget(Paragraph::new(format!("\n  {}", page.empty)), area);
        return;
    }
    let heading = |(number, column): (usize, &Column)| {
        let mark = match view.sort {
            (sorted, true) if sorted == number => "▾",
            (sorted, false) if sorted == number => "▴",
            _ => "",
        };
        field(format!("{}{mark}", column.name), column)
    };
    let headings = page.columns.iter().enumerate().map(heading);
    let header = TableRow::new(headings).style(Style::new().add_modifier(Modifier::BOLD));
    let body = shown.iter().map(|row| {
        let cells = row.cells.iter().zip(page.columns);
        TableRow::new(cells.map(|(cell, column)| field(shown_cell(cell, column.kind), column)))
    });
    let widths = page.columns.iter().map(|column| match column.width {
        0 => Constraint::Min(12),
        width => Constraint::Length(width),
    });
    let table = Table::new(body, widths)
        .header(header)
        .column_spacing(2)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(Some(view.chosen));
    frame.render_stateful_widget(table, area, &mut state);
}

fn field(text: String, column: &Column) -> Field<'static> {
    let alignment = match column.kind {
        Kind::Text => Alignment::Left,
        _ => Alignment::Right,
    };
    Field::new(Text::raw(text).alignment(alignment))
}

fn shown_cell(cell: &Cell, kind: Kind) -> String {
    match (cell, kind) {
        (Cell::Nothing, _) => String::new(),
        (Cell::Text(text), _) => text.clone(),
        (Cell::Number(number), Kind::Bytes) => bytes(*number),
        (Cell::Number(number), Kind::Nanos) => nanos(*number),
        (Cell::Number(part), Kind::Rate | Kind::Part | Kind::Share) => {
            format!("{:.1}%", part * 100.0)
        }
        (Cell::Number(number), _) => format!("{number:.0}"),
    }
}

/// Bytes as people write them.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut number, mut unit) = (bytes, 0);
    while number >= 999.5 && unit + 1 < UNITS.len() {
        (number, unit) = (number / 1000.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && number < 99.95);
    format!("{number:.digits$} {}", UNITS[unit])
}

/// A time as people write it.
pub fn nanos(nanos: f64) -> String {
    match nanos {
        0.0 => "0".to_owned(),
        n if n < 1e6 => format!("{:.0} µs", n / 1e3),
        n if n < 1e9 => format!("{:.1} ms", n / 1e6),
        n if n < 120e9 => format!("{:.1} s", n / 1e9),
        n if n < 7200e9 => format!("{:.0} min", n / 60e9),
        n => format!("{:.0} h", n / 3600e9),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn picture(view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(90, 8)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let line = |y| (0..90).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..8).map(|y| line(y).trim_end().to_owned()).collect()
    }

    fn answer(rows: &[&[&str]]) -> Vec<Vec<Option<String>>> {
        let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    fn relations(elapsed: [&str; 2]) -> Vec<Vec<Option<String>>> {
        let [delays, flights] = elapsed;
        answer(&[
            &["16390", "public.delays", delays, delays, "1500000", "1106", "108", "1", "0"],
            &["16386", "public.flights", flights, flights, "", "240128", "20000", "0", "2"],
        ])
    }

    #[test]
    fn relations_are_sorted_filtered_and_measured_between_looks() {
        let mut view = View::default();
        view.take(relations(["594300000", "406400000"]), Duration::ZERO);
        view.summary = "weir 127.0.0.1:9347".into();
        view.take(relations(["894300000", "1406400000"]), Duration::from_secs(2));
        let first = picture(&view);
        assert_eq!(first[0], "weir 127.0.0.1:9347");
        assert!(first[1].starts_with(" Relations  Critical operators  Sessions"), "{first:?}");
        assert!(first[2].contains("now▾") && first[2].contains("memory"), "{first:?}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let flights = ["public.flights", "50.0%", "1.4", "s", "240", "kB", "20000", "0", "2"];
        assert_eq!(words(&first[3]), flights);
        let delays =
            ["public.delays", "15.0%", "894.3", "ms", "1.5", "ms", "1.1", "kB", "108", "1", "0"];
        assert_eq!(words(&first[4]), delays);
        view.sort_by(-1);
        view.sort.1 = false;
        assert!(picture(&view)[3].starts_with("public.delays"));
        view.filter = "FLI".into();
        let filtered = picture(&view);
        assert!(filtered[1].ends_with("only “FLI”") && filtered[4].is_empty(), "{filtered:?}");
        view.leave();
        view.choose(5);
        assert_eq!(view.chosen, 1);
    }

    #[test]
    fn the_operators_of_a_relation_have_their_share() {
        let mut view = View::default();
        view.take(relations(["1", "2"]), Duration::ZERO);
        view.sort_by(-1);
        view.enter();
        assert!(view.query().contains("o.object = 16386 "), "{}", view.query());
        view.take(
            answer(&[
                &["7", "Join", "node 3", "250", "250", "250", "4", ""],
                &["8", "Arrange", "node 2", "750", "750", "750", "2", "320"],
            ]),
            Duration::ZERO,
        );
        let shown = picture(&view);
        assert!(shown[1].contains("Relations › public.flights"), "{shown:?}");
        assert!(shown[3].starts_with("Arrange") && shown[3].contains("75.0%"), "{shown:?}");
        assert!(shown[4].starts_with("Join") && shown[4].contains("25.0%"), "{shown:?}");
        view.leave();
        assert!(view.object.is_none() && view.shown().is_empty());
    }

    #[test]
    fn where_nothing_is_it_says_why_and_faults_are_shown() {
        let mut view = View::default();
        view.turn_to(1);
        let shown = picture(&view);
        assert!(shown[3].contains("ALTER SYSTEM SET introspection_snapshot"), "{shown:?}");
        view.fault = Some("connection closed".into());
        assert_eq!(picture(&view)[7], "connection closed");
        view.take(answer(&[&["too", "few"]]), Duration::ZERO);
        assert!(view.shown().is_empty() && view.fault.is_none());
    }

    #[test]
    fn numbers_are_as_people_write_them() {
        let written = [0.0, 999.0, 1234.0, 99_960.0, 5e6, 7.2e12].map(bytes);
        assert_eq!(written, ["0 B", "999 B", "1.2 kB", "100 kB", "5.0 MB", "7.2 TB"]);
        let written = [0.0, 1500.0, 2.5e6, 3e9, 600e9, 1e13].map(nanos);
        assert_eq!(written, ["0", "2 µs", "2.5 ms", "3.0 s", "10 min", "3 h"]);
    }
}

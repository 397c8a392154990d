//! The parts of a join along paths: half joins, and the choice of the input with fewest matches.

use std::collections::BTreeSet;

use bumpalo::Bump;

use super::build::{Data, ErrorSource, Walk};
use super::mfp::join_logic;
use super::reader::RowReader;
use super::rows::Shaper;
use crate::dataflow::emit::CountLogic;
use crate::dataflow::half_join::{Meeting, half_join};
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::plan::physical::{Arrangement, Lookup, Node, NodeId};
use crate::repr::Datum;
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;

impl<'s, 'p> Walk<'s, 'p> {
    pub(super) fn half_join(
        &mut self,
        id: NodeId,
        lookup: &'p Lookup,
        mfp: &Mfp,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (_, right, _) = self.arrangement(lookup.right);
        let (shaper, fallible) = self.out(id);
        let logic = join_logic(
            (RowReader::arranged(&lookup.layout), lookup.layout.types.len()),
            RowReader::arranged(right),
            mfp,
            &self.plan.settings,
            shaper,
        );
        let name = format!("HalfJoin {id}");
        self.meet(id, lookup, &name, Meeting::Rows(logic), fallible || mfp.is_fallible())
    }

    pub(super) fn fewest(
        &mut self,
        id: NodeId,
        lookup: &'p Lookup,
        option: i32,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (shaper, fallible) = self.out(id);
        let logic = count_logic(&lookup.layout, option, &self.plan.settings, shaper);
        self.meet(id, lookup, &format!("Fewest {id}"), Meeting::Count(logic), fallible)
    }

    fn meet(
        &mut self,
        id: NodeId,
        lookup: &'p Lookup,
        name: &str,
        meeting: Meeting,
        fallible: bool,
    ) -> (Data<'s, 'p>, BTreeSet<ErrorSource>) {
        let (rows, mut errors) = self.shaped(lookup.input, id);
        let (arranged, _, of_right) = self.arrangement(lookup.right);
        errors.extend(of_right);
        let at = (self.plan.as_of, lookup.before);
        let (rows, errs) = half_join(rows, arranged, name, at, meeting, fallible);
        self.note(errs, &mut errors);
        (self.rendered(id, rows), errors)
    }
}

/// Adds the count and the option to a row, or puts them in place of a greater count.
fn count_logic(
    layout: &Arrangement,
    option: i32,
    settings: &FormatSettings,
    mut shaper: Shaper,
) -> CountLogic {
    let mut reader = RowReader::arranged(layout);
    let settings = settings.clone();
    let kept = layout.types.len() - if option == 0 { 0 } else { Node::FEWEST_TYPES.len() };
    let mut scratch = DatumVec::new();
    let mut arena = Bump::new();
    Box::new(move |key, value, count, emit| {
        arena.reset();
        let cx = EvalContext { arena: &arena, settings: &settings };
        let mut datums = scratch.borrow();
        reader.read(key, value, &mut datums);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let is_fewer = match datums.get(kept) {
            Some(Datum::Int8(other)) => count < *other,
            _ => true,
        };
        if is_fewer {
            datums.truncate(kept);
            datums.extend([Datum::Int8(count), Datum::Int4(option)]);
        }
        shaper(&datums, &cx, emit);
    })
}

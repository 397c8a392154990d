//! Arrangements: rows indexed by the bytes of a key, in a layout that keeps only bytes.
//!
//! An arrangement is made of differential's ordered batches with containers of our own:
//! [`container`] holds keys and values as one byte region each, [`layout`] holds offsets, times and
//! diffs, [`batch`] trims what merging leaves over, [`batcher`] sorts and seals what arrives, and
//! [`spine`] merges batches; [`maintain`] is the operator. [`arrange::arrange_rows`] puts it all
//! together; [`entered`] brings it into loops; [`size`] tells what there is of it.

pub mod arrange;
pub mod batch;
pub mod batcher;
pub mod container;
pub mod entered;
pub mod layout;
mod maintain;
pub mod size;
pub mod spine;

pub use arrange::{
    RowArranged, RowSpine, RowTrace, Rows, RowsByKey, arrange_errors, arrange_rows, arrange_whole,
    clamp_to_upper, fill, route, upper_of,
};
pub use batch::{RowBatch, RowBuilder, RowCursor, Time, Updates};
pub use batcher::{Batcher, BlockBatcher, Insert, RowBatcher, SizedBuilder, waiting_bytes};
pub use container::{RowContainer, RowRef};
pub use entered::{EnteredArranged, Round, enter};
pub use layout::{AffineOffsets, LazyContainer, RowLayout, RowUpdate};
pub(super) use maintain::{arrange, new_trace};
pub use size::Size;
pub use spine::Spine;

//! tmp
use crate::error::{Error, Result};
use crate::plan::statement::CopyOptions;
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnType, Datum, Row};
/// t
pub struct CopyReader;
impl CopyReader {
    /// t
    pub fn new(
        _o: &CopyOptions,
        _c: Vec<(String, ColumnType)>,
        _t: &str,
        _s: &FormatSettings,
    ) -> Result<Self> {
        Err(Error::unsupported("COPY", "wait"))
    }
    /// t
    pub fn push(&mut self, _d: &[u8]) {}
    /// t
    pub fn finish(&mut self) {}
    /// t
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Row>> {
        Ok(None)
    }
}
/// t
pub struct CopyWriter;
impl CopyWriter {
    /// t
    pub fn new(_o: &CopyOptions, _c: Vec<(String, ColumnType)>, _s: &FormatSettings) -> Self {
        CopyWriter
    }
    /// t
    pub fn header(&mut self, _o: &mut Vec<u8>) {}
    /// t
    pub fn row(&mut self, _d: &[Datum<'_>], _o: &mut Vec<u8>) {}
    /// t
    pub fn trailer(&mut self, _o: &mut Vec<u8>) {}
}

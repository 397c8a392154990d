//! Answers to bytes: a buffer of whole messages.
//!
//! Rows are written in place, without an allocation a value; other messages go through the crate's
//! structs. A message that would not fit into the protocol's length becomes a fault, which the
//! statement fails with, and everything up to the fault's report is left out.

use bytes::{Buf, BytesMut};
use pgwire::messages::Message;
use pgwire::messages::copy::{CopyInResponse, CopyOutResponse};
use pgwire::messages::data::ParameterDescription;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};

use crate::error::{Error, SqlState};
use crate::repr::{Datum, FormatSettings, binary, text};
use crate::session::frontend::{Field, Format, Notice};

/// The longest message: one that PostgreSQL's clients still take.
const MESSAGE_BYTES_MAX: usize = 0x3fff_fffe;
/// The longest part of an error: a report must always fit.
const FIELD_BYTES_MAX: usize = 1 << 18;
/// A buffer that had to grow beyond this is given back once it is empty.
const KEPT_BYTES: usize = 1 << 20;

/// How bad an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement fails.
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        }
    }
}

/// Messages that are to be sent.
#[derive(Debug, Default)]
pub struct WriteBuffer {
    bytes: Vec<u8>,
    /// How many of the bytes have been sent.
    sent: usize,
    /// Where the message that is being written begins.
    open: Option<usize>,
    fault: Option<Error>,
    text: String,
    scratch: BytesMut,
}

impl WriteBuffer {
    /// The whole messages that are still to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Notes that so many bytes more have been sent.
    pub fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.clear();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sent = 0;
        self.open = None;
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
    }

    /// Removes what a panic left unfinished.
    pub fn discard_open(&mut self) {
        if let Some(start) = self.open.take() {
            self.bytes.truncate(start);
        }
    }

    /// What made a message impossible. After this, messages are taken again.
    pub fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Writes one message, unless a fault is waiting to be reported.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut WriteBuffer)) {
        if self.fault.is_some() {
            return;
        }
        let start = self.bytes.len();
        self.open = Some(start);
        self.bytes.extend_from_slice(&[kind, 0, 0, 0, 0]);
        body(self);
        let length = self.bytes.len() - start - 1;
        if length > MESSAGE_BYTES_MAX {
            self.fault = Some(too_long(length));
        }
        if self.fault.is_some() {
            self.bytes.truncate(start);
        } else {
            self.bytes[start + 1..start + 5].copy_from_slice(&(length as u32).to_be_bytes());
        }
        self.open = None;
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put_string(&mut self, text: &str) {
        // A zero would end the string on the client's side, and shift all that follows.
        self.bytes.extend(text.bytes().filter(|byte| *byte != 0));
        self.bytes.push(0);
    }

    /// Writes a message of the crate's.
    fn put_message<M: Message>(&mut self, message: &M) {
        let Some(kind) = M::message_type() else { return };
        self.message(kind, |buffer| {
            buffer.scratch.clear();
            match message.encode_body(&mut buffer.scratch) {
                Ok(()) => buffer.bytes.extend_from_slice(buffer.scratch.chunk()),
                Err(e) => buffer.fault = Some(Error::internal(e.to_string())),
            }
        });
    }

    /// AuthenticationOk.
    pub fn authentication_ok(&mut self) {
        self.put_message(&Authentication::Ok);
    }

    /// BackendKeyData.
    pub fn key_data(&mut self, number: i32, secret: &[u8]) {
        let secret = SecretKey::Bytes(secret.to_vec().into());
        self.put_message(&BackendKeyData::new(number, secret));
    }

    /// NegotiateProtocolVersion: the version that is spoken, and the options that are not known.
    pub fn negotiate_version(&mut self, version: i32, unknown: Vec<String>) {
        self.put_message(&NegotiateProtocolVersion::new(version, unknown));
    }

    /// ParameterStatus.
    pub fn parameter_status(&mut self, name: &str, value: &str) {
        self.put_message(&ParameterStatus::new(name.to_owned(), value.replace('\0', "")));
    }

    /// ReadyForQuery.
    pub fn ready_for_query(&mut self, status: u8) {
        self.message(b'Z', |buffer| buffer.put(&[status]));
    }

    /// ParseComplete, BindComplete, CloseComplete, NoData, EmptyQueryResponse, PortalSuspended,
    /// CopyDone: the messages that are no more than their type.
    pub fn empty(&mut self, kind: u8) {
        self.message(kind, |_| {});
    }

    /// ErrorResponse.
    pub fn error(&mut self, severity: Severity, error: &Error) {
        self.put_message(&ErrorResponse::new(fields(severity.name(), error)));
    }

    /// NoticeResponse.
    pub fn notice(&mut self, notice: &Notice) {
        self.put_message(&NoticeResponse::new(fields(notice.severity, &notice.error)));
    }

    /// ParameterDescription.
    pub fn parameter_description(&mut self, oids: Vec<u32>) {
        self.put_message(&ParameterDescription::new(oids));
    }

    /// RowDescription.
    pub fn row_description(&mut self, fields: &[Field]) {
        self.message(b'T', |buffer| {
            buffer.put(&(fields.len() as u16).to_be_bytes());
            for field in fields {
                buffer.put_string(&field.name);
                // The table and the column's number in it: answers do not know where they are from.
                buffer.put(&[0; 6]);
                buffer.put(&field.ty.scalar.oid().to_be_bytes());
                buffer.put(&field.ty.scalar.length().to_be_bytes());
                buffer.put(&field.ty.typmod.to_be_bytes());
                buffer.put(&format_code(field.format).to_be_bytes());
            }
        });
    }

    /// DataRow.
    pub fn data_row(&mut self, datums: &[Datum<'_>], fields: &[Field], settings: &FormatSettings) {
        self.message(b'D', |buffer| {
            buffer.put(&(datums.len() as u16).to_be_bytes());
            for (datum, field) in datums.iter().zip(fields) {
                if datum.is_null() {
                    buffer.put(&(-1i32).to_be_bytes());
                    continue;
                }
                let at = buffer.bytes.len();
                buffer.put(&[0; 4]);
                match field.format {
                    Format::Text => {
                        buffer.text.clear();
                        text::format_text(datum, field.ty.scalar, settings, &mut buffer.text);
                        buffer.bytes.extend_from_slice(buffer.text.as_bytes());
                    }
                    Format::Binary => {
                        binary::format_binary(datum, field.ty.scalar, &mut buffer.bytes);
                    }
                }
                // A length beyond the limit makes the whole message too long, and is never sent.
                let length = (buffer.bytes.len() - at - 4) as u32;
                buffer.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        });
        if self.text.capacity() > KEPT_BYTES {
            self.text = String::new();
        }
    }

    /// CommandComplete.
    pub fn command_complete(&mut self, tag: &str) {
        self.message(b'C', |buffer| buffer.put_string(tag));
    }

    /// CopyInResponse.
    pub fn copy_in_response(&mut self, format: Format, columns: usize) {
        let (code, columns, formats) = copy_format(format, columns);
        self.put_message(&CopyInResponse::new(code, columns, formats));
    }

    /// CopyOutResponse.
    pub fn copy_out_response(&mut self, format: Format, columns: usize) {
        let (code, columns, formats) = copy_format(format, columns);
        self.put_message(&CopyOutResponse::new(code, columns, formats));
    }

    /// CopyData.
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |buffer| buffer.put(data));
    }
}

fn format_code(format: Format) -> i16 {
    match format {
        Format::Text => 0,
        Format::Binary => 1,
    }
}

/// A COPY's overall format, number of columns, and the format of each.
fn copy_format(format: Format, columns: usize) -> (i8, i16, Vec<i16>) {
    let code = format_code(format);
    (code as i8, columns as i16, vec![code; columns])
}

fn too_long(length: usize) -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "out of memory")
        .with_detail(format!("A message to the client would have {length} bytes."))
}

fn fields(severity: &str, error: &Error) -> Vec<(u8, String)> {
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', error.code.as_str().to_owned()),
        (b'M', error.message.clone()),
    ];
    let position = error.position.map(|position| position.to_string());
    let optional = [
        (b'D', error.detail.clone()),
        (b'H', error.hint.clone()),
        (b'P', position),
        (b'W', error.context.clone()),
    ];
    fields.extend(optional.into_iter().filter_map(|(code, value)| Some((code, value?))));
    for (_, value) in &mut fields {
        value.truncate(value.floor_char_boundary(FIELD_BYTES_MAX));
        value.retain(|c| c != '\0');
    }
    fields
}

#[cfg(test)]
mod tests {
    use crate::repr::{ColumnType, ScalarType};

    use super::*;

    fn field(scalar: ScalarType, format: Format) -> Field {
        Field { name: "c".to_owned(), ty: ColumnType::nullable(scalar), format }
    }

    #[test]
    fn rows_are_written_in_either_format() {
        let mut buffer = WriteBuffer::default();
        let fields = [
            field(ScalarType::Int4, Format::Text),
            field(ScalarType::Int4, Format::Binary),
            field(ScalarType::Text, Format::Text),
        ];
        let datums = [Datum::Int4(-12), Datum::Int4(258), Datum::Null];
        buffer.data_row(&datums, &fields, &FormatSettings::default());
        let expected = b"D\0\0\0\x19\0\x03\0\0\0\x03-12\0\0\0\x04\0\0\x01\x02\xff\xff\xff\xff";
        assert_eq!(buffer.unsent(), expected);
    }

    #[test]
    fn errors_carry_their_fields() {
        let mut buffer = WriteBuffer::default();
        let error =
            Error::new(SqlState::SYNTAX_ERROR, "syntax\0 error").with_hint("Think.").at(Some(7));
        buffer.error(Severity::Error, &error);
        let body = b"SERROR\0VERROR\0C42601\0Msyntax error\0HThink.\0P7\0\0";
        assert_eq!(&buffer.unsent()[5..], body);
        assert_eq!(buffer.unsent()[4] as usize, body.len() + 4);
    }

    #[test]
    fn sent_bytes_go_and_open_messages_can_be_dropped() {
        let mut buffer = WriteBuffer::default();
        buffer.ready_for_query(b'I');
        buffer.advance(2);
        assert_eq!(buffer.unsent(), b"\0\0\x05I");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            buffer.message(b'D', |_| panic!("half a message"));
        }));
        assert!(panicked.is_err());
        buffer.discard_open();
        assert_eq!(buffer.unsent(), b"\0\0\x05I");
        buffer.advance(4);
        assert!(buffer.unsent().is_empty());
    }
}

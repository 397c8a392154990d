//! What a client is told when something cannot be done.
//!
//! An [`Error`] is built where the fault is known and travels unchanged to the wire. Faults of a
//! row inside a dataflow are data and have a smaller type, `expr::EvalError`, which becomes an
//! [`Error`] when it is read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A five-character SQLSTATE, as in PostgreSQL's appendix A.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Makes a code from its five characters.
    pub const fn new(code: &[u8; 5]) -> SqlState {
        SqlState(*code)
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! sql_states {
    ($($name:ident = $code:literal;)*) => {
        impl SqlState {
            $(#[doc = concat!("SQLSTATE ", stringify!($code), ".")]
            pub const $name: SqlState = SqlState::new($code);)*
        }
    };
}

sql_states! {
    PROTOCOL_VIOLATION = b"08P01";
    FEATURE_NOT_SUPPORTED = b"0A000";
    INVALID_RECURSION = b"42P19";
    NO_DATA_FOUND = b"P0002";
    CARDINALITY_VIOLATION = b"21000";
    STRING_DATA_RIGHT_TRUNCATION = b"22001";
    NUMERIC_VALUE_OUT_OF_RANGE = b"22003";
    NULL_VALUE_NOT_ALLOWED = b"22004";
    INVALID_DATETIME_FORMAT = b"22007";
    DATETIME_FIELD_OVERFLOW = b"22008";
    INVALID_TIME_ZONE_DISPLACEMENT = b"22009";
    SUBSTRING_ERROR = b"22011";
    DIVISION_BY_ZERO = b"22012";
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = b"22013";
    INVALID_ARGUMENT_FOR_NTILE = b"22014";
    INTERVAL_FIELD_OVERFLOW = b"22015";
    INVALID_ARGUMENT_FOR_NTH_VALUE = b"22016";
    INVALID_LOGARITHM_ARGUMENT = b"2201E";
    INVALID_POWER_ARGUMENT = b"2201F";
    INVALID_ROW_COUNT_IN_LIMIT = b"2201W";
    INVALID_ROW_COUNT_IN_OFFSET = b"2201X";
    INVALID_REGULAR_EXPRESSION = b"2201B";
    CHARACTER_NOT_IN_REPERTOIRE = b"22021";
    DATA_EXCEPTION = b"22000";
    ARRAY_SUBSCRIPT_ERROR = b"2202E";
    INVALID_PARAMETER_VALUE = b"22023";
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION = b"22031";
    INVALID_SQL_JSON_SUBSCRIPT = b"22033";
    NON_NUMERIC_SQL_JSON_ITEM = b"22036";
    SINGLETON_SQL_JSON_ITEM_REQUIRED = b"22038";
    SQL_JSON_ARRAY_NOT_FOUND = b"22039";
    SQL_JSON_MEMBER_NOT_FOUND = b"2203A";
    SQL_JSON_NUMBER_NOT_FOUND = b"2203B";
    SQL_JSON_OBJECT_NOT_FOUND = b"2203C";
    INVALID_ESCAPE_SEQUENCE = b"22025";
    INVALID_TEXT_REPRESENTATION = b"22P02";
    INVALID_BINARY_REPRESENTATION = b"22P03";
    BAD_COPY_FILE_FORMAT = b"22P04";
    NOT_NULL_VIOLATION = b"23502";
    FOREIGN_KEY_VIOLATION = b"23503";
    UNIQUE_VIOLATION = b"23505";
    CHECK_VIOLATION = b"23514";
    INVALID_CURSOR_STATE = b"24000";
    ACTIVE_SQL_TRANSACTION = b"25001";
    READ_ONLY_SQL_TRANSACTION = b"25006";
    NO_ACTIVE_SQL_TRANSACTION = b"25P01";
    IN_FAILED_SQL_TRANSACTION = b"25P02";
    INVALID_SQL_STATEMENT_NAME = b"26000";
    DEPENDENT_OBJECTS_STILL_EXIST = b"2BP01";
    INVALID_CURSOR_NAME = b"34000";
    INVALID_SAVEPOINT = b"3B001";
    INVALID_SCHEMA_NAME = b"3F000";
    SERIALIZATION_FAILURE = b"40001";
    STATEMENT_COMPLETION_UNKNOWN = b"40003";
    SYNTAX_ERROR = b"42601";
    INSUFFICIENT_PRIVILEGE = b"42501";
    CANNOT_COERCE = b"42846";
    GROUPING_ERROR = b"42803";
    WINDOWING_ERROR = b"42P20";
    DATATYPE_MISMATCH = b"42804";
    WRONG_OBJECT_TYPE = b"42809";
    UNDEFINED_COLUMN = b"42703";
    UNDEFINED_FUNCTION = b"42883";
    UNDEFINED_TABLE = b"42P01";
    UNDEFINED_PARAMETER = b"42P02";
    UNDEFINED_OBJECT = b"42704";
    DUPLICATE_COLUMN = b"42701";
    DUPLICATE_CURSOR = b"42P03";
    DUPLICATE_PREPARED_STATEMENT = b"42P05";
    DUPLICATE_SCHEMA = b"42P06";
    DUPLICATE_TABLE = b"42P07";
    DUPLICATE_ALIAS = b"42712";
    DUPLICATE_OBJECT = b"42710";
    AMBIGUOUS_COLUMN = b"42702";
    AMBIGUOUS_FUNCTION = b"42725";
    INVALID_COLUMN_REFERENCE = b"42P10";
    INVALID_NAME = b"42602";
    INVALID_OBJECT_DEFINITION = b"42P17";
    INVALID_TABLE_DEFINITION = b"42P16";
    INDETERMINATE_DATATYPE = b"42P18";
    RESERVED_NAME = b"42939";
    DISK_FULL = b"53100";
    OUT_OF_MEMORY = b"53200";
    CONFIGURATION_LIMIT_EXCEEDED = b"53400";
    TOO_MANY_CONNECTIONS = b"53300";
    PROGRAM_LIMIT_EXCEEDED = b"54000";
    STATEMENT_TOO_COMPLEX = b"54001";
    OBJECT_NOT_IN_PREREQUISITE_STATE = b"55000";
    OBJECT_IN_USE = b"55006";
    CANT_CHANGE_RUNTIME_PARAM = b"55P02";
    SEQUENCE_LIMIT_EXCEEDED = b"2200H";
    GENERATED_ALWAYS = b"428C9";
    QUERY_CANCELED = b"57014";
    ADMIN_SHUTDOWN = b"57P01";
    CRASH_SHUTDOWN = b"57P02";
    CANNOT_CONNECT_NOW = b"57P03";
    IO_ERROR = b"58030";
    UNDEFINED_FILE = b"58P01";
    DATA_CORRUPTED = b"XX001";
    INTERNAL_ERROR = b"XX000";
}

/// An error as the client sees it.
///
/// The message is lower case without a full stop; `detail` and `hint` are sentences; `position`
/// counts characters of the statement's text from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of fault this is, for programs.
    pub code: SqlState,
    /// What is wrong, for people.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in the statement's text, in characters from 1.
    pub position: Option<u32>,
    /// What was being done, as the line of a COPY.
    pub context: Option<String>,
}

/// The result of anything that can fail in front of a client.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with a code and a message.
    pub fn new(code: SqlState, message: impl Into<String>) -> Error {
        Error {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
        }
    }

    /// What Weir does not do yet, or never will; says what to write instead.
    pub fn unsupported(what: impl fmt::Display, hint: impl Into<String>) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
            .with_hint(hint)
    }

    /// A broken invariant of ours.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(SqlState::INTERNAL_ERROR, message)
    }

    /// The same error with a DETAIL sentence.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Error {
        self.detail = Some(detail.into());
        self
    }

    /// The same error with a HINT sentence.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with a CONTEXT line, unless it already has one.
    pub fn with_context(mut self, context: impl Into<String>) -> Error {
        self.context = self.context.or_else(|| Some(context.into()));
        self
    }

    /// The same error at a place, unless it already has one.
    pub fn at(mut self, position: Option<u32>) -> Error {
        self.position = self.position.or(position);
        self
    }
}

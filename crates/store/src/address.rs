//! The address of a store: a file, or a schema in a PostgreSQL database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use url::Url;

#[derive(Debug, Clone)]
pub enum StoreAddress {
    /// The path of the database file.
    Sqlite(PathBuf),
    Postgres(PostgresAddress),
}

/// A schema in a database, and its connection options. The password is never printed.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(crate) options: Box<PgConnectOptions>,
    pub(crate) schema: SchemaName,
    pub(crate) limits: PoolLimits,
    /// The directory for files of the store that stay on this machine.
    files: PathBuf,
}

/// The name of a schema that needs no quotes in SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolLimits {
    pub(crate) connections: u32,
    /// How long a request waits for a connection.
    pub(crate) connect: Duration,
    /// The server cancels a statement after this time.
    pub(crate) statement: Duration,
}

/// No message repeats the address, because it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreAddressError {
    #[error("invalid database URL: {reason}")]
    Unreadable { reason: String },
    #[error(
        "the database URL has an unknown parameter `{name}`; known parameters: {known}",
        known = KNOWN_PARAMETERS.join(", ")
    )]
    UnknownParameter { name: String },
    #[error("the parameter `{name}` of the database URL must be {expected}")]
    Parameter {
        name: &'static str,
        expected: &'static str,
    },
}

/// The supported `libpq` parameters, and three of Kitbag's own: `schema`, `max_connections` and
/// `statement_timeout`.
const KNOWN_PARAMETERS: [&str; 16] = [
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "max_connections",
    "options",
    "password",
    "port",
    "schema",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement_timeout",
    "user",
];
/// The parameters unknown to the library that connects.
const OWN_PARAMETERS: [&str; 4] = [
    "connect_timeout",
    "max_connections",
    "schema",
    "statement_timeout",
];

impl StoreAddress {
    /// Parses `postgres://…` as a URL, and anything else as a path. With a server, the local files
    /// of the store are in `data_directory`.
    pub fn parse(text: &str, data_directory: &Path) -> Result<Self, StoreAddressError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            PostgresAddress::parse(text, data_directory).map(Self::Postgres)
        } else {
            Ok(Self::Sqlite(PathBuf::from(text)))
        }
    }

    /// The directory for files of the store that stay on this machine.
    pub(crate) fn data_directory(&self) -> &Path {
        match self {
            Self::Sqlite(path) => directory_of(path),
            Self::Postgres(address) => &address.files,
        }
    }
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

impl From<&Path> for StoreAddress {
    fn from(path: &Path) -> Self {
        Self::Sqlite(path.to_owned())
    }
}

impl From<&PathBuf> for StoreAddress {
    fn from(path: &PathBuf) -> Self {
        Self::Sqlite(path.clone())
    }
}

impl From<&Self> for StoreAddress {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

impl PostgresAddress {
    fn parse(text: &str, files: &Path) -> Result<Self, StoreAddressError> {
        let mut url = Url::parse(text).map_err(unreadable_error)?;
        let own = take_own_parameters(&mut url)?;
        let options = PgConnectOptions::from_str(url.as_str()).map_err(unreadable_error)?;
        Ok(Self {
            options: Box::new(with_application_name(options)),
            schema: own.schema()?,
            limits: own.limits()?,
            files: files.to_owned(),
        })
    }
}

/// PostgreSQL lists sessions by application name.
fn with_application_name(options: PgConnectOptions) -> PgConnectOptions {
    match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("kitbag"),
    }
}

fn unreadable_error(error: impl fmt::Display) -> StoreAddressError {
    StoreAddressError::Unreadable {
        reason: error.to_string(),
    }
}

/// Removes Kitbag's own parameters from the URL, and rejects unknown ones.
fn take_own_parameters(url: &mut Url) -> Result<OwnParameters, StoreAddressError> {
    let all: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    if let Some((name, _)) = all.iter().find(|(name, _)| !is_known(name)) {
        return Err(StoreAddressError::UnknownParameter { name: name.clone() });
    }
    let (own, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(name, _)| OWN_PARAMETERS.contains(&name.as_str()));
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
    Ok(OwnParameters(own))
}

fn is_known(parameter: &str) -> bool {
    KNOWN_PARAMETERS.contains(&parameter) || parameter.starts_with("options[")
}

struct OwnParameters(Vec<(String, String)>);

impl OwnParameters {
    fn schema(&self) -> Result<SchemaName, StoreAddressError> {
        let name = self.get("schema").unwrap_or("kitbag");
        SchemaName::new(name).ok_or(StoreAddressError::Parameter {
            name: "schema",
            expected: "1 to 40 lower-case letters, digits or `_`, not starting with a digit",
        })
    }

    fn limits(&self) -> Result<PoolLimits, StoreAddressError> {
        // Ten connections serve many requests, and ten gateways leave an average server some room.
        let connections = self.parse_number("max_connections", 10)?;
        let connect = self.parse_number("connect_timeout", 5)?;
        let statement = self.parse_number("statement_timeout", 10_000)?;
        Ok(PoolLimits {
            connections,
            connect: Duration::from_secs(connect.into()),
            statement: Duration::from_millis(statement.into()),
        })
    }

    fn parse_number(&self, name: &'static str, default: u32) -> Result<u32, StoreAddressError> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or(StoreAddressError::Parameter {
            name,
            expected: "a positive number",
        })
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl SchemaName {
    /// PostgreSQL truncates names after 63 letters, and channel names are derived from this one.
    const MAX: usize = 40;

    fn new(name: &str) -> Option<Self> {
        let fits = (1..=Self::MAX).contains(&name.len())
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(is_schema_byte);
        fits.then(|| Self(name.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_schema_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let (user, port) = (options.get_username(), options.get_port());
        write!(f, "postgres://{user}@")?;
        match options.get_socket() {
            Some(socket) => write!(f, "{}", socket.display())?,
            None => write!(f, "{}:{port}", options.get_host())?,
        }
        let database = options.get_database().unwrap_or(user);
        write!(f, "/{database}?schema={}", self.schema.0)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreAddress, StoreAddressError> {
        StoreAddress::parse(text, Path::new("/data"))
    }

    #[test]
    fn an_address_is_a_path_unless_it_is_a_postgres_url() {
        for path in ["kitbag.db", "/var/lib/kitbag.db", "postgres.db"] {
            let address = parse(path).unwrap();
            assert!(matches!(&address, StoreAddress::Sqlite(it) if it == Path::new(path)));
            assert_eq!(address.to_string(), path);
        }
        let address = parse("postgresql://ann@db.example/bags?schema=team&sslmode=verify-full");
        assert_eq!(
            address.unwrap().to_string(),
            "postgres://ann@db.example:5432/bags?schema=team"
        );
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        for text in [
            "postgres://ann:s3cret@db.example/bags",
            "postgres://ann@db.example/bags?password=s3cret",
        ] {
            let address = parse(text).unwrap();
            assert!(!format!("{address} {address:?}").contains("s3cret"));
        }
        let error = parse("postgres://ann:s3cret@db.example:port/bags").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }

    #[test]
    fn the_pool_has_limits_that_the_address_can_change() {
        let StoreAddress::Postgres(address) =
            parse("postgres://db/bags?max_connections=3&connect_timeout=2&statement_timeout=500")
                .unwrap()
        else {
            panic!("a server")
        };
        let expected = PoolLimits {
            connections: 3,
            connect: Duration::from_secs(2),
            statement: Duration::from_millis(500),
        };
        assert_eq!(address.limits, expected);
    }

    #[test]
    fn a_parameter_that_would_be_ignored_is_rejected() {
        for (text, named) in [
            ("postgres://db/bags?sslmod=require", "sslmod"),
            ("postgres://db/bags?schema=Kitbag", "schema"),
            ("postgres://db/bags?schema=a;b", "schema"),
            ("postgres://db/bags?max_connections=0", "max_connections"),
            ("postgres://db/bags?sslmode=often", "often"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

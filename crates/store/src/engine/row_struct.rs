//! Rows as structs.
//!
//! `sqlx::FromRow` derives the same, but compiles both drivers a second time, for the compiler.

/// Declares a struct that is read from the columns with the names of its fields.
macro_rules! row_struct {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        $visibility struct $name { $($(#[$doc])* $field: $type),* }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            for<'c> &'c str: sqlx::ColumnIndex<R>,
            $($type: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>),*
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: row.try_get(stringify!($field))?),* })
            }
        }
    };
}
pub(crate) use row_struct;

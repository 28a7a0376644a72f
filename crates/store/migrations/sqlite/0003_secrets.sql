-- Secrets for servers and APIs. `sealed` is encrypted under a key that is not in the database;
-- the name is bound into it, so that no row can be passed off as another.
CREATE TABLE secrets (
    name       TEXT    NOT NULL PRIMARY KEY,
    sealed     BLOB    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What logging in at servers left behind, encrypted under the key of the secrets.
CREATE TABLE logins (
    server     TEXT    NOT NULL PRIMARY KEY,
    sealed     BLOB    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

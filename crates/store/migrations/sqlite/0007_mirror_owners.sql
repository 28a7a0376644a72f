-- Whose mirror a namespace is. Several configurations may share a database, and each has its own.
CREATE TABLE mirror_owners (
    namespace     TEXT    NOT NULL PRIMARY KEY,
    configuration TEXT    NOT NULL UNIQUE,
    used_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

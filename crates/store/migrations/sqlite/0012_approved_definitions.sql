-- The texts of approved definitions of tools and prompts, so that a later one can be compared.
CREATE TABLE approved_definitions (
    hash        BLOB    PRIMARY KEY,
    body        TEXT    NOT NULL,
    approved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

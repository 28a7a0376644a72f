-- With row ids, because a vector is too long to sit in the key's own tree.
CREATE TABLE vectors (
    model     TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    dimension INTEGER NOT NULL,
    vector    BLOB NOT NULL, -- f32, little-endian
    PRIMARY KEY (model, text_hash)
) STRICT;

CREATE TABLE mirror (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     TEXT NOT NULL, -- JSON
    -- Under which an entry is known outside.
    key       TEXT NOT NULL GENERATED ALWAYS AS (namespace || ':' || name) VIRTUAL,
    PRIMARY KEY (namespace, name)
) STRICT;

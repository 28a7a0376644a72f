-- What the use of tools taught: in this context, this tool had this outcome. The context is a
-- vector of the words or arguments; the words themselves are kept only if the operator wants it.
CREATE TABLE lessons (
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: gateways read on from the last one
    tenant     TEXT    NOT NULL,
    credential TEXT,
    session    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    tool       TEXT    NOT NULL,
    signal     TEXT    NOT NULL,
    model      TEXT,
    vector     BLOB,             -- a step as f32, little-endian, then one byte for each dimension
    words      TEXT
) STRICT;
CREATE INDEX lessons_by_tenant ON lessons (tenant, id);
CREATE INDEX lessons_by_time ON lessons (at);

INSERT INTO changes (subject, count) VALUES ('lessons', 0);
CREATE TRIGGER lessons_inserted AFTER INSERT ON lessons
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'lessons'; END;
CREATE TRIGGER lessons_deleted AFTER DELETE ON lessons
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'lessons'; END;

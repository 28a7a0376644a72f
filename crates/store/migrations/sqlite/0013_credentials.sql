-- The credentials with which declared tools call APIs, encrypted under the key of the secrets. An
-- empty tenant stands for all of them. `fields` has the names of the fields, one in each line.
CREATE TABLE credentials (
    tenant     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    fields     TEXT    NOT NULL,
    sealed     BLOB    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

INSERT INTO changes (subject, count) VALUES ('credentials', 0);
CREATE TRIGGER credentials_inserted AFTER INSERT ON credentials
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'credentials'; END;
CREATE TRIGGER credentials_updated AFTER UPDATE ON credentials
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'credentials'; END;
CREATE TRIGGER credentials_deleted AFTER DELETE ON credentials
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'credentials'; END;

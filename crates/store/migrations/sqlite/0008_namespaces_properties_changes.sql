-- Vectors belong to a namespace, as entries of the mirror do.
CREATE TABLE vectors_in_namespaces (
    namespace TEXT NOT NULL,
    model     TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    dimension INTEGER NOT NULL,
    vector    BLOB NOT NULL, -- f32, little-endian
    PRIMARY KEY (namespace, model, text_hash)
) STRICT;
INSERT INTO vectors_in_namespaces
    SELECT 'capability_index', model, text_hash, dimension, vector FROM vectors;
DROP TABLE vectors;
ALTER TABLE vectors_in_namespaces RENAME TO vectors;

-- Facts about the store itself: its identity, and the pepper of a store that was copied.
CREATE TABLE properties (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO properties (name, value) VALUES ('identity', randomblob(16));

-- The number of changes of each of these tables. Processes that hold the database open read it.
CREATE TABLE changes (
    subject TEXT    NOT NULL PRIMARY KEY,
    count   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO changes (subject, count)
    VALUES ('api_keys', 0), ('secrets', 0), ('logins', 0), ('listings', 0);

CREATE TRIGGER api_keys_inserted AFTER INSERT ON api_keys
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'api_keys'; END;
-- The last use of a key changes nothing for gateways that recognise it.
CREATE TRIGGER api_keys_updated AFTER UPDATE OF tenant, role, secret_hash, expires_at, revoked_at ON api_keys
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'api_keys'; END;
CREATE TRIGGER api_keys_deleted AFTER DELETE ON api_keys
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'api_keys'; END;
CREATE TRIGGER secrets_inserted AFTER INSERT ON secrets
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'secrets'; END;
CREATE TRIGGER secrets_updated AFTER UPDATE ON secrets
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'secrets'; END;
CREATE TRIGGER secrets_deleted AFTER DELETE ON secrets
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'secrets'; END;
CREATE TRIGGER logins_inserted AFTER INSERT ON logins
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'logins'; END;
CREATE TRIGGER logins_updated AFTER UPDATE ON logins
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'logins'; END;
CREATE TRIGGER logins_deleted AFTER DELETE ON logins
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'logins'; END;
CREATE TRIGGER listings_inserted AFTER INSERT ON listings
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'listings'; END;
CREATE TRIGGER listings_updated AFTER UPDATE ON listings
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'listings'; END;
CREATE TRIGGER listings_deleted AFTER DELETE ON listings
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'listings'; END;

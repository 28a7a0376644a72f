-- Every time is in milliseconds since the Unix epoch.

CREATE TABLE listings (
    server      TEXT PRIMARY KEY NOT NULL,
    fingerprint TEXT NOT NULL,
    body        TEXT NOT NULL,
    listed_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id          TEXT PRIMARY KEY NOT NULL,
    tenant      TEXT NOT NULL,
    label       TEXT,
    secret_hash BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    revoked_at  INTEGER
) STRICT;

-- No reference to api_keys: the record of what happened outlives everything else.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY NOT NULL,
    at         INTEGER NOT NULL,
    tenant     TEXT NOT NULL,
    key_id     TEXT,
    client     TEXT,
    server     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    latency_us INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_tenant ON audit (tenant, at);
CREATE INDEX audit_by_server ON audit (server, at);

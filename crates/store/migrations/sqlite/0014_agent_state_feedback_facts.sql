-- The values that agents of a tenant keep between runs. The value comes last, because it may be large.
CREATE TABLE agent_state (
    tenant     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    bytes      INTEGER NOT NULL, -- of the key and the value
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    value      TEXT    NOT NULL, -- JSON
    PRIMARY KEY (tenant, key)
) STRICT;
CREATE INDEX agent_state_by_end ON agent_state (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- The sums over the rows of each tenant, and the last version that it was given: a version is never
-- given twice, also not after its key was deleted.
CREATE TABLE agent_state_sums (
    tenant       TEXT    PRIMARY KEY,
    keys         INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    last_version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Reports of agents to the operators.
CREATE TABLE agent_feedback (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: people name reports by it
    tenant      TEXT    NOT NULL,
    key_id      TEXT,
    client      TEXT,
    at          INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    severity    TEXT,
    tool        TEXT,
    summary     TEXT    NOT NULL,
    details     TEXT,
    resolved_at INTEGER,
    resolution  TEXT
) STRICT;
CREATE INDEX agent_feedback_by_tenant ON agent_feedback (tenant, id);
CREATE INDEX agent_feedback_open ON agent_feedback (tenant, id) WHERE resolved_at IS NULL;

-- Facts with their sources. An empty tenant stands for all of them. The columns with `_key` hold the
-- text as it is compared.
CREATE TABLE context_facts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    tenant        TEXT    NOT NULL,
    fingerprint   BLOB    NOT NULL, -- of everything that the importer said, so that no fact is there twice
    subject       TEXT    NOT NULL,
    subject_key   TEXT    NOT NULL,
    predicate     TEXT    NOT NULL,
    predicate_key TEXT    NOT NULL,
    object        TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    url           TEXT,
    quote         TEXT    NOT NULL,
    authority     INTEGER NOT NULL,
    observed_at   INTEGER NOT NULL,
    valid_until   INTEGER,
    model         TEXT,
    vector        BLOB,             -- a step as f32, little-endian, then one byte for each dimension
    UNIQUE (tenant, fingerprint)
) STRICT;
CREATE INDEX context_facts_by_subject ON context_facts (tenant, subject_key, predicate_key);
CREATE INDEX context_facts_by_predicate ON context_facts (tenant, predicate_key);
CREATE INDEX context_facts_by_source ON context_facts (tenant, source);

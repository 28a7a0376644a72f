-- The cost of an answer: the tokens that the model is given, and the declared price in billionths of
-- a dollar. The arguments as a hash or without secrets, if the operator wants them on record.
ALTER TABLE audit ADD COLUMN tokens INTEGER;
ALTER TABLE audit ADD COLUMN price_nano_usd INTEGER;
ALTER TABLE audit ADD COLUMN arguments TEXT;

-- The record of each tool: how often its calls succeed, how long they take, how long its answers
-- are. One for each configuration, in the namespace of its mirror.
CREATE TABLE priors (
    namespace  TEXT    NOT NULL,
    server     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, server, name)
) STRICT;

-- The last row of the audit that is counted in the priors of a configuration, and when that was.
CREATE TABLE priors_runs (
    namespace  TEXT    NOT NULL PRIMARY KEY,
    counted_to INTEGER NOT NULL,
    counted_at INTEGER NOT NULL
) STRICT;

INSERT INTO changes (subject, count) VALUES ('priors_runs', 0);
CREATE TRIGGER priors_runs_inserted AFTER INSERT ON priors_runs
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'priors_runs'; END;
CREATE TRIGGER priors_runs_updated AFTER UPDATE ON priors_runs
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'priors_runs'; END;
CREATE TRIGGER priors_runs_deleted AFTER DELETE ON priors_runs
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'priors_runs'; END;

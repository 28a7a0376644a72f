-- The run of code that a call belongs to. Few calls belong to one, so that the index stays small.
ALTER TABLE audit ADD COLUMN run TEXT;
CREATE INDEX audit_by_run ON audit (run, at) WHERE run IS NOT NULL;

-- Programs that worked, each with what is known of it. `revision` rises with each change, so that
-- two gateways do not overwrite each other's counts.
CREATE TABLE learned_templates (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;

INSERT INTO changes (subject, count) VALUES ('learned_templates', 0);
CREATE TRIGGER learned_templates_inserted AFTER INSERT ON learned_templates
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'learned_templates'; END;
CREATE TRIGGER learned_templates_updated AFTER UPDATE ON learned_templates
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'learned_templates'; END;
CREATE TRIGGER learned_templates_deleted AFTER DELETE ON learned_templates
    BEGIN UPDATE changes SET count = count + 1 WHERE subject = 'learned_templates'; END;

-- The run of code that a call belongs to. Few calls belong to one, so that the index stays small.
ALTER TABLE audit ADD COLUMN run text;
CREATE INDEX audit_by_run ON audit (run, at, id) WHERE run IS NOT NULL;

-- Programs that worked, each with what is known of it. `revision` rises with each change, so that
-- two gateways do not overwrite each other's counts.
CREATE TABLE learned_templates (
    tenant     text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    revision   bigint NOT NULL,
    body       text   NOT NULL, -- JSON
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE
    ON learned_templates FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();

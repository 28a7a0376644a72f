-- The cost of an answer: the tokens that the model is given, and the declared price in billionths of
-- a dollar. The arguments as a hash or without secrets, if the operator wants them on record.
ALTER TABLE audit ADD COLUMN tokens bigint;
ALTER TABLE audit ADD COLUMN price_nano_usd bigint;
ALTER TABLE audit ADD COLUMN arguments text;

-- The record of each tool: how often its calls succeed, how long they take, how long its answers
-- are. One for each configuration, in the namespace of its mirror.
CREATE TABLE priors (
    namespace  text COLLATE "C" NOT NULL,
    server     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    body       text   NOT NULL, -- JSON
    updated_at bigint NOT NULL,
    PRIMARY KEY (namespace, server, name)
);

-- The last row of the audit that is counted in the priors of a configuration, and when that was.
CREATE TABLE priors_runs (
    namespace  text COLLATE "C" PRIMARY KEY,
    counted_to bigint NOT NULL,
    counted_at bigint NOT NULL
);

CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE
    ON priors_runs FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();

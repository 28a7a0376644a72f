-- The credentials with which declared tools call APIs, encrypted under the key of the secrets. An
-- empty tenant stands for all of them. `fields` has the names of the fields, one in each line.
CREATE TABLE credentials (
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    fields     text   NOT NULL,
    sealed     bytea  NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE
    ON credentials FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();

-- The texts of approved definitions of tools and prompts, so that a later one can be compared.
CREATE TABLE approved_definitions (
    hash        bytea  PRIMARY KEY,
    body        text   NOT NULL,
    approved_at bigint NOT NULL
);

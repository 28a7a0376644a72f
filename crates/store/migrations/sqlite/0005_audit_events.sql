-- Beside calls the record holds events: keys that were refused, and changes of keys, secrets and
-- configuration. `event` says which; such a row has an empty server and kind, its subject as name,
-- and an empty tenant where it concerns none.
ALTER TABLE audit ADD COLUMN event TEXT NOT NULL DEFAULT 'call';
ALTER TABLE audit ADD COLUMN purpose TEXT NOT NULL DEFAULT 'use';
-- The user of the operating system who did it.
ALTER TABLE audit ADD COLUMN actor TEXT;
ALTER TABLE audit ADD COLUMN request_id TEXT;
ALTER TABLE audit ADD COLUMN address TEXT;
ALTER TABLE audit ADD COLUMN trace_id TEXT;
ALTER TABLE audit ADD COLUMN detail TEXT;

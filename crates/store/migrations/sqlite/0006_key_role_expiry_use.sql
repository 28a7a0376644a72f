-- What a key may be used for, until when, and when it was last seen. A key that knows no role is
-- one from before there were any, and calls tools.
ALTER TABLE api_keys ADD COLUMN role TEXT NOT NULL DEFAULT 'user';
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;

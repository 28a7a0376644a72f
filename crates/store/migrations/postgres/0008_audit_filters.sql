-- Filters of the audit by rare values. Calls that succeeded are most rows; leaving them out keeps
-- writing cheap.
CREATE INDEX audit_by_outcome ON audit (outcome, at, id) WHERE outcome <> 'ok';
CREATE INDEX audit_by_event ON audit (event, at, id) WHERE event <> 'call';
CREATE INDEX audit_by_client ON audit (client, at, id) WHERE client IS NOT NULL;
-- The latest runs of programs.
CREATE INDEX audit_of_runs ON audit (at, id) WHERE run IS NOT NULL;

-- Filters of the audit by rare values. Calls that succeeded are most rows; leaving them out keeps
-- writing cheap.
CREATE INDEX audit_by_outcome ON audit (outcome, at) WHERE outcome <> 'ok';
CREATE INDEX audit_by_event ON audit (event, at) WHERE event <> 'call';
CREATE INDEX audit_by_client ON audit (client, at) WHERE client IS NOT NULL;
-- The latest runs of programs.
CREATE INDEX audit_of_runs ON audit (at) WHERE run IS NOT NULL;

-- The kind of the error that ended a failed run.
ALTER TABLE run ADD COLUMN failure TEXT NOT NULL DEFAULT '';

-- An operator looks for runs of one tenant, and for those that are open.
CREATE INDEX run_tenant ON run (tenant, key);
CREATE INDEX run_open ON run (key) WHERE status IN ('queued', 'running', 'waiting');

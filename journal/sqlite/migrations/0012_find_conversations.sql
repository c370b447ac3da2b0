-- Conversations of a tenant are looked for by how they stand: by the runs that are open, and by those that failed or
-- were cancelled.
CREATE INDEX run_tenant_open ON run (tenant, key) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX run_tenant_unsuccessful ON run (tenant, key) WHERE status IN ('failed', 'cancelled');

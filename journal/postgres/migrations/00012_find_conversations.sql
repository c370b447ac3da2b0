-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- Conversations of a tenant are looked for by how they stand: by the runs that are open, and by those that failed or
-- were cancelled.
CREATE INDEX run_tenant_open ON run (tenant, key) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX run_tenant_unsuccessful ON run (tenant, key) WHERE status IN ('failed', 'cancelled');

-- As edge_of_runs, for runs of a tenant that failed or were cancelled.
-- +goose StatementBegin
CREATE FUNCTION edge_of_unsuccessful_runs(before bigint, of_tenant text, look_at bigint)
	RETURNS TABLE (key bigint, admitted bigint)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	RETURN QUERY EXECUTE 'SELECT r.key, r.admitted FROM run r WHERE r.key < $1 AND r.tenant = $2
		AND r.status IN (''failed'', ''cancelled'') ORDER BY r.key DESC OFFSET $3 LIMIT 1'
		USING before, of_tenant, look_at - 1;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION edge_of_unsuccessful_runs(bigint, text, bigint) FROM PUBLIC;

-- As before, with the index of the runs that failed or were cancelled where only those are wanted.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION find_runs(before bigint, edge bigint, of_tenant text, only_open boolean, wanted text, states text[], of_person text,
		of_agent text, of_failure text, since bigint, how_many bigint)
	RETURNS TABLE (
		key bigint, id text, conversation text, tenant text, person text, agent text, idem text, executor text, new_session boolean,
		turn integer, status text, wake bigint, cancelled boolean, admitted bigint, session integer, lost integer, failure text
	) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	RETURN QUERY EXECUTE 'SELECT r.key, r.id, c.id, r.tenant, r.person, r.agent, r.idem, r.executor, r.new_session,
		r.turn, r.status, r.wake, r.cancelled, r.admitted, coalesce(r.session, 0), r.lost, r.failure
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.key < $1 AND r.key >= $2 AND r.admitted >= $3'
		|| CASE WHEN of_tenant IS NULL THEN '' ELSE ' AND r.tenant = $4' END
		|| CASE WHEN only_open THEN ' AND r.status IN (''queued'', ''running'', ''waiting'')' ELSE '' END
		|| CASE WHEN states <@ ARRAY['failed', 'cancelled'] THEN ' AND r.status IN (''failed'', ''cancelled'')' ELSE '' END
		|| CASE WHEN wanted IS NULL THEN '' ELSE ' AND r.id = $5' END
		|| CASE WHEN states IS NULL THEN '' ELSE ' AND r.status = ANY ($6)' END
		|| CASE WHEN of_person IS NULL THEN '' ELSE ' AND r.person = $7' END
		|| CASE WHEN of_agent IS NULL THEN '' ELSE ' AND r.agent = $8' END
		|| CASE WHEN of_failure IS NULL THEN '' ELSE ' AND r.failure = $9' END
		|| ' ORDER BY r.key DESC LIMIT $10'
		USING before, edge, since, of_tenant, wanted, states, of_person, of_agent, of_failure, how_many;
END $$;
-- +goose StatementEnd

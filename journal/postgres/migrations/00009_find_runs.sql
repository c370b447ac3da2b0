-- +goose Up

-- The kind of the error that ended a failed run.
ALTER TABLE run ADD COLUMN IF NOT EXISTS failure text COLLATE "C" NOT NULL DEFAULT '';

-- An operator looks for runs of one tenant, and for those that are open.
CREATE INDEX run_tenant ON run (tenant, key);
CREATE INDEX run_open ON run (key) WHERE status IN ('queued', 'running', 'waiting');

-- The run that stands look_at places behind a key, newest first: how far one call looks. NULL for
-- of_tenant is every tenant.
-- +goose StatementBegin
CREATE FUNCTION edge_of_runs(before bigint, of_tenant text, only_open boolean, look_at bigint)
	RETURNS TABLE (key bigint, admitted bigint)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	RETURN QUERY EXECUTE 'SELECT r.key, r.admitted FROM run r WHERE r.key < $1'
		|| CASE WHEN of_tenant IS NULL THEN '' ELSE ' AND r.tenant = $2' END
		|| CASE WHEN only_open THEN ' AND r.status IN (''queued'', ''running'', ''waiting'')' ELSE '' END
		|| ' ORDER BY r.key DESC OFFSET $3 LIMIT 1'
		USING before, of_tenant, look_at - 1;
END $$;
-- +goose StatementEnd

-- The runs between two keys that fit, newest first. NULL does not narrow.
-- +goose StatementBegin
CREATE FUNCTION find_runs(before bigint, edge bigint, of_tenant text, only_open boolean, wanted text, states text[], of_person text,
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
		|| CASE WHEN wanted IS NULL THEN '' ELSE ' AND r.id = $5' END
		|| CASE WHEN states IS NULL THEN '' ELSE ' AND r.status = ANY ($6)' END
		|| CASE WHEN of_person IS NULL THEN '' ELSE ' AND r.person = $7' END
		|| CASE WHEN of_agent IS NULL THEN '' ELSE ' AND r.agent = $8' END
		|| CASE WHEN of_failure IS NULL THEN '' ELSE ' AND r.failure = $9' END
		|| ' ORDER BY r.key DESC LIMIT $10'
		USING before, edge, since, of_tenant, wanted, states, of_person, of_agent, of_failure, how_many;
END $$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION edge_of_runs(bigint, text, boolean, bigint),
	find_runs(bigint, bigint, text, boolean, text, text[], text, text, text, bigint, bigint) FROM PUBLIC;

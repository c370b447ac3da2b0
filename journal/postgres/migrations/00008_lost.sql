-- +goose Up

-- How many drivers a run has lost since it got on last.
ALTER TABLE run ADD COLUMN IF NOT EXISTS lost integer NOT NULL DEFAULT 0;

DROP FUNCTION due_runs(bigint);
-- +goose StatementBegin
CREATE FUNCTION due_runs(how_many bigint) RETURNS TABLE (
		key bigint, id text, conversation text, tenant text, person text, agent text, idem text, executor text,
		metadata bytea, new_session boolean, turn integer, status text, wake bigint, cancelled boolean, admitted bigint, lost integer
	) LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT r.key, r.id, c.id, r.tenant, r.person, r.agent, r.idem, r.executor,
		r.metadata, r.new_session, r.turn, r.status, r.wake, r.cancelled, r.admitted, r.lost
	-- OFFSET 0 keeps this from becoming a join over all conversations: each due run's is looked up.
	FROM run r CROSS JOIN LATERAL (SELECT id, ended, until FROM conversation WHERE key = r.conversation OFFSET 0) c
	WHERE r.due <= (SELECT store_clock()) AND r.turn = c.ended + 1
		AND (r.status <> 'running' OR c.until IS NULL OR c.until <= (SELECT store_clock()))
	ORDER BY r.key + 0 LIMIT how_many
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION due_runs(bigint) FROM PUBLIC;

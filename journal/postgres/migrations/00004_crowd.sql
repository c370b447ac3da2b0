-- Pages and sweeps that cost the same beside many conversations as beside few. What the planner
-- believes of a table is a guess until the table was counted, and of a row-level policy always:
-- so each page has an index that gives it in its order, and what is due is found by its index alone.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

DROP INDEX usage_logs_at, usage_logs_conversation, tool_execution_logs_at;
CREATE INDEX usage_logs_at ON usage_logs (tenant, at, key);
CREATE INDEX usage_logs_conversation ON usage_logs (tenant, conversation, at, key);
CREATE INDEX usage_logs_run ON usage_logs (tenant, run, at, key);
CREATE INDEX tool_execution_logs_at ON tool_execution_logs (tenant, began_at, key);

-- The runs that a driver could take now. The sum keeps the order from being taken from the
-- index of the keys, in which all runs stand that there ever were.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION due_runs(how_many bigint) RETURNS TABLE (
		key bigint, id text, conversation text, tenant text, person text, agent text, idem text, executor text,
		metadata bytea, new_session boolean, turn integer, status text, wake bigint, cancelled boolean, admitted bigint
	) LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT r.key, r.id, c.id, r.tenant, r.person, r.agent, r.idem, r.executor,
		r.metadata, r.new_session, r.turn, r.status, r.wake, r.cancelled, r.admitted
	FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE r.due <= (SELECT store_clock()) AND r.turn = c.ended + 1
		AND (r.status <> 'running' OR c.until IS NULL OR c.until <= (SELECT store_clock()))
	ORDER BY r.key + 0 LIMIT how_many
$$;
-- +goose StatementEnd

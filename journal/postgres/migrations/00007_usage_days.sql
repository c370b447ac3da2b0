-- Sums of usage by day, and usage that is an estimate.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- A row of usage that holds an estimate, because the call was cut.
ALTER TABLE usage_logs ADD COLUMN estimated boolean NOT NULL DEFAULT false;

-- Sums of usage_logs by day, so that the sum of a month does not read each call. A sum stops
-- at 2^62. Commits of many conversations add to a day at once: a part is for some of the
-- conversations, so that few of them wait for each other.
CREATE TABLE usage_days (
	tenant             text     COLLATE "C" NOT NULL,
	-- Days since 1970-01-01 in UTC.
	day                bigint   NOT NULL,
	part               smallint NOT NULL,
	model              text     COLLATE "C" NOT NULL,
	executor           text     COLLATE "C" NOT NULL,
	subagent_type      text     COLLATE "C" NOT NULL,
	kind               text     COLLATE "C" NOT NULL,
	calls              bigint   NOT NULL,
	input_tokens       bigint   NOT NULL,
	output_tokens      bigint   NOT NULL,
	cache_read_tokens  bigint   NOT NULL,
	cache_write_tokens bigint   NOT NULL,
	-- Of the calls whose cost is known, in 1e-9 US dollars, and how many the others are.
	known_nano_usd     bigint   NOT NULL,
	unpriced           bigint   NOT NULL,
	estimated          bigint   NOT NULL,
	PRIMARY KEY (tenant, day, part, model, executor, subagent_type, kind)
);

-- The owner is bound by row-level security, too, and would see nobody's rows.
ALTER TABLE usage_logs NO FORCE ROW LEVEL SECURITY;
INSERT INTO usage_days
SELECT tenant, at / 86400000000, 0, model, executor, subagent_type, kind, count(*),
	least(sum(least(greatest(input_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(output_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(cache_read_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(cache_write_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(coalesce(cost_nano_usd, 0), 0), 1::bigint << 50)), 1::bigint << 62),
	count(*) - count(cost_nano_usd), 0
FROM usage_logs GROUP BY 1, 2, 4, 5, 6, 7;
ALTER TABLE usage_logs FORCE ROW LEVEL SECURITY;

ALTER TABLE usage_days ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_days FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON usage_days USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

-- It runs with the owner's rights: who adds usage cannot change a sum otherwise.
-- +goose StatementBegin
CREATE FUNCTION usage_days_add() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO usage_days AS d VALUES (new.tenant, new.at / 86400000000, hashtext(new.conversation) & 15, new.model, new.executor,
		new.subagent_type, new.kind, 1,
		least(greatest(new.input_tokens, 0), 1::bigint << 30), least(greatest(new.output_tokens, 0), 1::bigint << 30),
		least(greatest(new.cache_read_tokens, 0), 1::bigint << 30), least(greatest(new.cache_write_tokens, 0), 1::bigint << 30),
		least(greatest(coalesce(new.cost_nano_usd, 0), 0), 1::bigint << 50),
		CASE WHEN new.cost_nano_usd IS NULL THEN 1 ELSE 0 END, CASE WHEN new.estimated THEN 1 ELSE 0 END)
	ON CONFLICT (tenant, day, part, model, executor, subagent_type, kind) DO UPDATE SET
		calls = d.calls + 1,
		input_tokens = least(d.input_tokens + excluded.input_tokens, 1::bigint << 62),
		output_tokens = least(d.output_tokens + excluded.output_tokens, 1::bigint << 62),
		cache_read_tokens = least(d.cache_read_tokens + excluded.cache_read_tokens, 1::bigint << 62),
		cache_write_tokens = least(d.cache_write_tokens + excluded.cache_write_tokens, 1::bigint << 62),
		known_nano_usd = least(d.known_nano_usd + excluded.known_nano_usd, 1::bigint << 62),
		unpriced = d.unpriced + excluded.unpriced, estimated = d.estimated + excluded.estimated;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_days_add AFTER INSERT ON usage_logs FOR EACH ROW EXECUTE FUNCTION usage_days_add();

-- The row of a call, and what a sub-agent used, by the id that the model gave the call.
CREATE INDEX tool_execution_logs_call ON tool_execution_logs (tool_use_id, tenant);
CREATE INDEX usage_logs_call ON usage_logs (tool_use_id, tenant) WHERE tool_use_id <> '';

-- A row of usage that holds an estimate, because the call was cut.
ALTER TABLE usage_logs ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

-- Sums of usage_logs by day, so that the sum of a month does not read each call. A sum stops
-- at 2^62.
CREATE TABLE usage_days (
	tenant             TEXT    NOT NULL,
	-- Days since 1970-01-01 in UTC.
	day                INTEGER NOT NULL,
	model              TEXT    NOT NULL,
	executor           TEXT    NOT NULL,
	subagent_type      TEXT    NOT NULL,
	kind               TEXT    NOT NULL,
	calls              INTEGER NOT NULL,
	input_tokens       INTEGER NOT NULL,
	output_tokens      INTEGER NOT NULL,
	cache_read_tokens  INTEGER NOT NULL,
	cache_write_tokens INTEGER NOT NULL,
	-- Of the calls whose cost is known, in 1e-9 US dollars, and how many the others are.
	known_nano_usd     INTEGER NOT NULL,
	unpriced           INTEGER NOT NULL,
	estimated          INTEGER NOT NULL,
	PRIMARY KEY (tenant, day, model, executor, subagent_type, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_days
SELECT tenant, at / 86400000000, model, executor, subagent_type, kind, count(*),
	min(sum(min(max(input_tokens, 0), 1 << 30)), 1 << 62), min(sum(min(max(output_tokens, 0), 1 << 30)), 1 << 62),
	min(sum(min(max(cache_read_tokens, 0), 1 << 30)), 1 << 62), min(sum(min(max(cache_write_tokens, 0), 1 << 30)), 1 << 62),
	CAST(min(total(min(max(ifnull(cost_nano_usd, 0), 0), 1 << 50)), 1 << 62) AS INTEGER), count(*) - count(cost_nano_usd), 0
FROM usage_logs GROUP BY 1, 2, 3, 4, 5, 6;

CREATE TRIGGER usage_days_add AFTER INSERT ON usage_logs BEGIN
	INSERT INTO usage_days VALUES (new.tenant, new.at / 86400000000, new.model, new.executor, new.subagent_type, new.kind, 1,
		min(max(new.input_tokens, 0), 1 << 30), min(max(new.output_tokens, 0), 1 << 30),
		min(max(new.cache_read_tokens, 0), 1 << 30), min(max(new.cache_write_tokens, 0), 1 << 30),
		min(max(ifnull(new.cost_nano_usd, 0), 0), 1 << 50), new.cost_nano_usd IS NULL, new.estimated)
	ON CONFLICT (tenant, day, model, executor, subagent_type, kind) DO UPDATE SET
		calls = calls + 1,
		input_tokens = min(input_tokens + excluded.input_tokens, 1 << 62),
		output_tokens = min(output_tokens + excluded.output_tokens, 1 << 62),
		cache_read_tokens = min(cache_read_tokens + excluded.cache_read_tokens, 1 << 62),
		cache_write_tokens = min(cache_write_tokens + excluded.cache_write_tokens, 1 << 62),
		known_nano_usd = min(known_nano_usd + excluded.known_nano_usd, 1 << 62),
		unpriced = unpriced + excluded.unpriced, estimated = estimated + excluded.estimated;
END;

-- The row of a call, and what a sub-agent used, by the id that the model gave the call.
CREATE INDEX tool_execution_logs_call ON tool_execution_logs (tenant, tool_use_id);
CREATE INDEX usage_logs_call ON usage_logs (tenant, tool_use_id) WHERE tool_use_id <> '';

-- Sums of usage_logs by user and day, so that the sum of a month by user does not read each call. Each limit is as in usage_days.
CREATE TABLE usage_people (
	tenant             TEXT    NOT NULL,
	-- The user of the run; "" for none.
	person             TEXT    NOT NULL,
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
	PRIMARY KEY (tenant, person, day, model, executor, subagent_type, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_people
SELECT tenant, ifnull(person, ''), at / 86400000000, model, executor, subagent_type, kind, count(*),
	min(sum(min(max(input_tokens, 0), 1 << 30)), 1 << 62), min(sum(min(max(output_tokens, 0), 1 << 30)), 1 << 62),
	min(sum(min(max(cache_read_tokens, 0), 1 << 30)), 1 << 62), min(sum(min(max(cache_write_tokens, 0), 1 << 30)), 1 << 62),
	CAST(min(total(min(max(ifnull(cost_nano_usd, 0), 0), 1 << 50)), 1 << 62) AS INTEGER), count(*) - count(cost_nano_usd), sum(estimated)
FROM usage_logs GROUP BY 1, 2, 3, 4, 5, 6, 7;

CREATE TRIGGER usage_people_add AFTER INSERT ON usage_logs BEGIN
	INSERT INTO usage_people VALUES (new.tenant, ifnull(new.person, ''), new.at / 86400000000, new.model, new.executor, new.subagent_type,
		new.kind, 1, min(max(new.input_tokens, 0), 1 << 30), min(max(new.output_tokens, 0), 1 << 30),
		min(max(new.cache_read_tokens, 0), 1 << 30), min(max(new.cache_write_tokens, 0), 1 << 30),
		min(max(ifnull(new.cost_nano_usd, 0), 0), 1 << 50), new.cost_nano_usd IS NULL, new.estimated)
	ON CONFLICT (tenant, person, day, model, executor, subagent_type, kind) DO UPDATE SET
		calls = calls + 1,
		input_tokens = min(input_tokens + excluded.input_tokens, 1 << 62),
		output_tokens = min(output_tokens + excluded.output_tokens, 1 << 62),
		cache_read_tokens = min(cache_read_tokens + excluded.cache_read_tokens, 1 << 62),
		cache_write_tokens = min(cache_write_tokens + excluded.cache_write_tokens, 1 << 62),
		known_nano_usd = min(known_nano_usd + excluded.known_nano_usd, 1 << 62),
		unpriced = unpriced + excluded.unpriced, estimated = estimated + excluded.estimated;
END;

-- The calls of an executor or with a model are found in the index, without their rows.
DROP INDEX usage_logs_at;
CREATE INDEX usage_logs_at ON usage_logs (tenant, at, key, model, executor);

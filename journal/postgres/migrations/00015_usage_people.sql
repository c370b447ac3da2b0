-- Sums of usage by user.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- Sums of usage_logs by user and day, so that the sum of a month by user does not read each call. Parts and limits are as in
-- usage_days.
CREATE TABLE usage_people (
	tenant             text     COLLATE "C" NOT NULL,
	-- The user of the run; '' for none.
	person             text     COLLATE "C" NOT NULL,
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
	PRIMARY KEY (tenant, person, day, part, model, executor, subagent_type, kind)
);

-- The owner is bound by row-level security, too, and would see nobody's rows.
ALTER TABLE usage_logs NO FORCE ROW LEVEL SECURITY;
INSERT INTO usage_people
SELECT tenant, coalesce(person, ''), at / 86400000000, 0, model, executor, subagent_type, kind, count(*),
	least(sum(least(greatest(input_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(output_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(cache_read_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(cache_write_tokens, 0), 1::bigint << 30)), 1::bigint << 62),
	least(sum(least(greatest(coalesce(cost_nano_usd, 0), 0), 1::bigint << 50)), 1::bigint << 62),
	count(*) - count(cost_nano_usd), count(*) FILTER (WHERE estimated)
FROM usage_logs GROUP BY 1, 2, 3, 5, 6, 7, 8;
ALTER TABLE usage_logs FORCE ROW LEVEL SECURITY;

ALTER TABLE usage_people ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_people FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON usage_people USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

-- It runs with the owner's rights: who adds usage cannot change a sum otherwise.
-- +goose StatementBegin
CREATE FUNCTION usage_people_add() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO usage_people AS d VALUES (new.tenant, coalesce(new.person, ''), new.at / 86400000000, hashtext(new.conversation) & 15,
		new.model, new.executor, new.subagent_type, new.kind, 1,
		least(greatest(new.input_tokens, 0), 1::bigint << 30), least(greatest(new.output_tokens, 0), 1::bigint << 30),
		least(greatest(new.cache_read_tokens, 0), 1::bigint << 30), least(greatest(new.cache_write_tokens, 0), 1::bigint << 30),
		least(greatest(coalesce(new.cost_nano_usd, 0), 0), 1::bigint << 50),
		CASE WHEN new.cost_nano_usd IS NULL THEN 1 ELSE 0 END, CASE WHEN new.estimated THEN 1 ELSE 0 END)
	ON CONFLICT (tenant, person, day, part, model, executor, subagent_type, kind) DO UPDATE SET
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
CREATE TRIGGER usage_people_add AFTER INSERT ON usage_logs FOR EACH ROW EXECUTE FUNCTION usage_people_add();

-- The calls of an executor or with a model are found in the index, without their rows.
DROP INDEX usage_logs_at;
CREATE INDEX usage_logs_at ON usage_logs (tenant, at, key) INCLUDE (model, executor);

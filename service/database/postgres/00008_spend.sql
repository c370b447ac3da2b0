-- What each tenant spends on models in a day, and what calls under way may spend at most.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE spend (
	tenant   text   COLLATE "C" NOT NULL,
	-- Days since 1970-01-01 in UTC.
	day      bigint NOT NULL,
	-- The tenant's: a tenant that is made again under the same id begins with nothing.
	life     text   COLLATE "C" NOT NULL,
	tokens   bigint NOT NULL,
	nano_usd bigint NOT NULL,
	PRIMARY KEY (tenant, day)
) WITH (fillfactor = 50);

-- What a call under way may spend at most. Its server renews it; that of a dead server expires.
CREATE TABLE reservation (
	tenant   text   COLLATE "C" NOT NULL,
	id       text   COLLATE "C" NOT NULL,
	day      bigint NOT NULL,
	tokens   bigint NOT NULL,
	nano_usd bigint NOT NULL,
	expires  bigint NOT NULL,
	PRIMARY KEY (tenant, id)
);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['spend', 'reservation'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

-- Reserves tokens and money of a day, where there are so many left: 0 is done, 1 too few tokens, 2 too little money. A
-- bound of 0 is none. Whoever reserves for a tenant holds the row of the day, so that two never reserve the same rest. A crash
-- of the database may lose a reservation, and with it the call: no commit waits for the disk.
-- +goose StatementBegin
CREATE FUNCTION reserve_spend(t text, l text, d bigint, i text, want_tokens bigint, want_nano bigint, most_tokens bigint, most_nano bigint,
	now_us bigint, until_us bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	spent spend%ROWTYPE;
	held  record;
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	INSERT INTO spend AS s VALUES (t, d, l, 0, 0) ON CONFLICT (tenant, day) DO UPDATE SET life = l,
		tokens = CASE WHEN s.life = l THEN s.tokens ELSE 0 END, nano_usd = CASE WHEN s.life = l THEN s.nano_usd ELSE 0 END
		RETURNING * INTO spent;
	DELETE FROM spend WHERE tenant = t AND day < d - 1;
	DELETE FROM reservation WHERE tenant = t AND expires < now_us;
	SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(nano_usd), 0) AS nano INTO held FROM reservation WHERE tenant = t AND day = d;
	IF most_tokens > 0 AND spent.tokens + held.tokens + want_tokens > most_tokens THEN
		RETURN 1;
	END IF;
	IF most_nano > 0 AND spent.nano_usd + held.nano + want_nano > most_nano THEN
		RETURN 2;
	END IF;
	INSERT INTO reservation VALUES (t, i, d, want_tokens, want_nano, until_us);
	RETURN 0;
END $$;
-- +goose StatementEnd

-- Puts what a call has used in place of its reservation, also where that has expired. A sum stops at 2^62.
-- +goose StatementBegin
CREATE FUNCTION settle_spend(t text, l text, d bigint, i text, used_tokens bigint, used_nano bigint) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	INSERT INTO spend AS s SELECT t, d, l, used_tokens, used_nano FROM tenant WHERE id = t AND life = l
		ON CONFLICT (tenant, day) DO UPDATE SET tokens = least(s.tokens + excluded.tokens, 1::bigint << 62),
		nano_usd = least(s.nano_usd + excluded.nano_usd, 1::bigint << 62) WHERE s.life = excluded.life;
	DELETE FROM reservation WHERE tenant = t AND id = i;
	RETURN 0;
END $$;
-- +goose StatementEnd

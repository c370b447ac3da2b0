-- Reservations end by the database's clock: the clocks of servers differ, and one that is ahead must not take what calls of
-- another server have reserved.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

-- Microseconds since 1970 in UTC.
-- +goose StatementBegin
CREATE FUNCTION service_clock() RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
-- +goose StatementEnd

-- Only the time between now_us and until_us counts: both are by the server's clock.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION reserve_spend(t text, l text, d bigint, i text, want_tokens bigint, want_nano bigint, most_tokens bigint, most_nano bigint,
	now_us bigint, until_us bigint) RETURNS integer LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	spent spend%ROWTYPE;
	held  record;
	now   bigint;
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	INSERT INTO spend AS s VALUES (t, d, l, 0, 0) ON CONFLICT (tenant, day) DO UPDATE SET life = l,
		tokens = CASE WHEN s.life = l THEN s.tokens ELSE 0 END, nano_usd = CASE WHEN s.life = l THEN s.nano_usd ELSE 0 END
		RETURNING * INTO spent;
	now := service_clock();
	DELETE FROM spend WHERE tenant = t AND day < least(d, now / 86400000000) - 1;
	DELETE FROM reservation WHERE tenant = t AND expires < now;
	IF EXISTS (SELECT FROM reservation WHERE tenant = t AND id = i) THEN
		RETURN 0; -- the call is repeated, because its answer was lost
	END IF;
	SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(nano_usd), 0) AS nano INTO held FROM reservation WHERE tenant = t AND day = d;
	IF most_tokens > 0 AND spent.tokens + held.tokens + want_tokens > most_tokens THEN
		RETURN 1;
	END IF;
	IF most_nano > 0 AND spent.nano_usd + held.nano + want_nano > most_nano THEN
		RETURN 2;
	END IF;
	INSERT INTO reservation VALUES (t, i, d, want_tokens, want_nano, now + until_us - now_us);
	RETURN 0;
END $$;
-- +goose StatementEnd

ALTER FUNCTION settle_spend(text, text, bigint, text, bigint, bigint) SET plan_cache_mode = force_generic_plan;

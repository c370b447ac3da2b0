-- What processes that share a journal ask each second, for all that they watch and drive
-- at once. These look across tenants, as the owner of the tables does: they take ids and
-- give numbers.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- The Seq of the last event of conversations.
-- +goose StatementBegin
CREATE FUNCTION heads_of_conversations(wanted text[]) RETURNS TABLE (id text, last bigint)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS
	$$ SELECT c.id, c.last FROM unnest(wanted) AS w (id) JOIN conversation c ON c.id = w.id $$;
-- +goose StatementEnd

-- The newest unread letter of open runs, 0 for none, and whether they are to be cancelled. Of
-- mail nobody sees another tenant's, the owner neither: it is looked at for one after the other.
-- +goose StatementBegin
CREATE FUNCTION posted_to_runs(wanted text[]) RETURNS TABLE (id text, mark bigint, cancelled boolean)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	caller text := current_setting('braid.tenant', true);
	one text;
BEGIN
	FOR one IN SELECT DISTINCT r.tenant FROM unnest(wanted) AS w (id) JOIN run r ON r.id = w.id
		WHERE r.status IN ('queued', 'running', 'waiting') LOOP
		PERFORM set_config('braid.tenant', '=' || one, true);
		RETURN QUERY SELECT r.id, coalesce(m.mark, 0), r.cancelled
			FROM unnest(wanted) AS w (id) JOIN run r ON r.id = w.id
			CROSS JOIN LATERAL (SELECT max(l.key) AS mark FROM mail l WHERE l.run = r.key AND l.read = 0) m
			WHERE r.tenant = one AND r.status IN ('queued', 'running', 'waiting') AND (m.mark IS NOT NULL OR r.cancelled);
	END LOOP;
	PERFORM set_config('braid.tenant', coalesce(caller, ''), true);
END $$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION heads_of_conversations(text[]), posted_to_runs(text[]) FROM PUBLIC;

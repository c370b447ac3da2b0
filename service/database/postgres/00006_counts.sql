-- How many conversations each tenant has, so that a bound is held without counting rows.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE conversation_count (
	tenant text   COLLATE "C" NOT NULL PRIMARY KEY,
	n      bigint NOT NULL
) WITH (fillfactor = 50);

-- Nothing is made or removed between the count and the triggers. The owner is bound by row-level security, too, and
-- would see nobody's rows.
LOCK TABLE conversation IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE conversation NO FORCE ROW LEVEL SECURITY;
INSERT INTO conversation_count SELECT tenant, count(*) FROM conversation GROUP BY tenant;
ALTER TABLE conversation FORCE ROW LEVEL SECURITY;

ALTER TABLE conversation_count ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation_count FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversation_count USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

-- It runs with the owner's rights: servers cannot change a count otherwise.
-- +goose StatementBegin
CREATE FUNCTION conversation_counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO conversation_count AS c VALUES (new.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET n = c.n + 1;
	ELSE
		UPDATE conversation_count SET n = n - 1 WHERE tenant = old.tenant;
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER conversation_counted AFTER INSERT OR DELETE ON conversation FOR EACH ROW EXECUTE FUNCTION conversation_counted();

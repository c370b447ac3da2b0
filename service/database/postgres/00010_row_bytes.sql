-- How many bytes the rows of each tenant's conversations hold: what a fork begins with, titles and metadata.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

ALTER TABLE conversation_count ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

-- Nothing is made or removed between the count and the triggers. The owner is bound by row-level security, too, and
-- would see nobody's rows.
LOCK TABLE conversation IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE conversation NO FORCE ROW LEVEL SECURITY;
ALTER TABLE conversation_count NO FORCE ROW LEVEL SECURITY;
UPDATE conversation_count c SET bytes = r.bytes FROM (
	SELECT tenant, sum(octet_length(title) + coalesce(octet_length(metadata), 0) + coalesce(octet_length(history), 0)) AS bytes
	FROM conversation GROUP BY tenant
) r WHERE r.tenant = c.tenant;
ALTER TABLE conversation_count FORCE ROW LEVEL SECURITY;
ALTER TABLE conversation FORCE ROW LEVEL SECURITY;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION conversation_counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	more bigint := 0;
BEGIN
	IF TG_OP <> 'DELETE' THEN
		more := octet_length(new.title) + coalesce(octet_length(new.metadata), 0) + coalesce(octet_length(new.history), 0);
	END IF;
	IF TG_OP <> 'INSERT' THEN
		more := more - octet_length(old.title) - coalesce(octet_length(old.metadata), 0) - coalesce(octet_length(old.history), 0);
	END IF;
	IF TG_OP = 'INSERT' THEN
		INSERT INTO conversation_count AS c VALUES (new.tenant, 1, more) ON CONFLICT (tenant) DO UPDATE SET n = c.n + 1, bytes = c.bytes + more;
	ELSIF TG_OP = 'DELETE' THEN
		UPDATE conversation_count SET n = n - 1, bytes = bytes + more WHERE tenant = old.tenant;
	ELSE
		UPDATE conversation_count SET bytes = bytes + more WHERE tenant = new.tenant;
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER conversation_changed AFTER UPDATE OF title, metadata, history ON conversation
	FOR EACH ROW WHEN (
		octet_length(new.title) + coalesce(octet_length(new.metadata), 0) + coalesce(octet_length(new.history), 0)
		<> octet_length(old.title) + coalesce(octet_length(old.metadata), 0) + coalesce(octet_length(old.history), 0)
	) EXECUTE FUNCTION conversation_counted();

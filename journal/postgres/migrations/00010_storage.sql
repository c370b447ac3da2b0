-- How many bytes each tenant's conversations take up.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- A conversation counts its own bytes with each commit. Its tenant's sum follows when the lease is given back, when no run
-- is open, or when 64 KiB have come together: so few commits change it. The part of bytes that the sum holds is counted.
ALTER TABLE conversation ADD COLUMN bytes bigint NOT NULL DEFAULT 0, ADD COLUMN counted bigint NOT NULL DEFAULT 0;

-- Commits of many conversations add to a tenant at once: a part is for some of the conversations, so that few of them
-- wait for each other. A part alone may be below 0.
CREATE TABLE storage (
	tenant text     COLLATE "C" NOT NULL,
	part   smallint NOT NULL,
	bytes  bigint   NOT NULL,
	PRIMARY KEY (tenant, part)
) WITH (fillfactor = 50);

-- The owner is bound by row-level security, too, and would see nobody's rows.
LOCK TABLE conversation, run, log, mail, tool_execution_logs, message_logs IN SHARE ROW EXCLUSIVE MODE;
-- +goose StatementBegin
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['conversation', 'run', 'log', 'mail', 'tool_execution_logs', 'message_logs'] LOOP
		EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', name);
	END LOOP;
END $$;
-- +goose StatementEnd
UPDATE conversation c SET bytes = n.bytes, counted = n.bytes FROM (
	SELECT conversation, sum(b.bytes)::bigint AS bytes FROM (
		SELECT conversation, octet_length(events)::bigint AS bytes FROM log
		UNION ALL SELECT conversation, octet_length(input) FROM run WHERE input IS NOT NULL
		UNION ALL SELECT r.conversation, coalesce(octet_length(m.value), 0) + coalesce(octet_length(m.message), 0)
			FROM mail m JOIN run r ON r.key = m.run
		UNION ALL SELECT r.conversation, coalesce(octet_length(t.input), 0) + coalesce(octet_length(t.output), 0)
			FROM tool_execution_logs t JOIN run r ON r.key = t.run
		UNION ALL SELECT conversation, octet_length(content) FROM message_logs WHERE content IS NOT NULL
	) b GROUP BY conversation
) n WHERE n.conversation = c.key;
INSERT INTO storage SELECT tenant, 0, sum(bytes) FROM conversation GROUP BY tenant;
-- +goose StatementBegin
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['conversation', 'run', 'log', 'mail', 'tool_execution_logs', 'message_logs'] LOOP
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
	END LOOP;
END $$;
-- +goose StatementEnd

ALTER TABLE storage ENABLE ROW LEVEL SECURITY;
ALTER TABLE storage FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON storage USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

-- storage_counted and storage_freed run with the owner's rights: a store cannot change a sum otherwise. Removals take from
-- part 0 only, so that a transaction that removes many conversations locks one row.
-- +goose StatementBegin
CREATE FUNCTION storage_counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO storage AS s VALUES (new.tenant, new.key & 15, new.bytes - new.counted)
		ON CONFLICT (tenant, part) DO UPDATE SET bytes = s.bytes + excluded.bytes;
	new.counted := new.bytes;
	RETURN new;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION storage_made() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE conversation SET counted = counted WHERE key = new.key;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION storage_freed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO storage AS s VALUES (old.tenant, 0, -old.counted)
		ON CONFLICT (tenant, part) DO UPDATE SET bytes = s.bytes + excluded.bytes;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- Only a statement that names counted has the sum follow: it is the last that a transaction locks, so that no two
-- transactions wait for each other.
CREATE TRIGGER storage_counted BEFORE UPDATE OF counted ON conversation FOR EACH ROW
	WHEN (new.bytes <> new.counted
		AND (abs(new.bytes - new.counted) >= 65536 OR new.until IS NULL AND (old.until IS NOT NULL OR new.turns = new.ended)))
	EXECUTE FUNCTION storage_counted();
CREATE TRIGGER storage_made AFTER INSERT ON conversation FOR EACH ROW
	WHEN (new.bytes >= 65536) EXECUTE FUNCTION storage_made();
CREATE TRIGGER storage_freed AFTER DELETE ON conversation FOR EACH ROW
	WHEN (old.counted <> 0) EXECUTE FUNCTION storage_freed();

-- The statements that write logs, inputs and messages count them. What changes seldom is counted here; whoever writes it has
-- locked the conversation.
-- +goose StatementBegin
CREATE FUNCTION storage_of_mail() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
	more bigint := coalesce(octet_length(new.value), 0) + coalesce(octet_length(new.message), 0);
BEGIN
	IF TG_OP = 'UPDATE' THEN
		more := more - coalesce(octet_length(old.value), 0) - coalesce(octet_length(old.message), 0);
	END IF;
	IF more = 0 THEN
		RETURN NULL;
	ELSIF new.read = 1 THEN -- the commit that reads it has the sum follow
		UPDATE conversation SET bytes = bytes + more WHERE key = (SELECT conversation FROM run WHERE key = new.run);
	ELSE
		UPDATE conversation SET bytes = bytes + more, counted = counted WHERE key = (SELECT conversation FROM run WHERE key = new.run);
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION storage_of_tool() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
	more bigint := coalesce(octet_length(new.input), 0) + coalesce(octet_length(new.output), 0);
BEGIN
	IF TG_OP = 'UPDATE' THEN
		more := more - coalesce(octet_length(old.input), 0) - coalesce(octet_length(old.output), 0);
	END IF;
	IF more <> 0 THEN
		UPDATE conversation SET bytes = bytes + more WHERE key = (SELECT conversation FROM run WHERE key = new.run);
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION storage_of_input() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE conversation SET bytes = bytes + coalesce(octet_length(new.input), 0) - coalesce(octet_length(old.input), 0)
		WHERE key = new.conversation;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION storage_of_message() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE conversation SET bytes = bytes - octet_length(old.content) WHERE key = new.conversation;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER storage_of_mail AFTER INSERT OR UPDATE OF value, message ON mail FOR EACH ROW EXECUTE FUNCTION storage_of_mail();
CREATE TRIGGER storage_of_tool AFTER INSERT OR UPDATE OF input, output ON tool_execution_logs
	FOR EACH ROW EXECUTE FUNCTION storage_of_tool();
CREATE TRIGGER storage_of_input AFTER UPDATE OF input ON run FOR EACH ROW EXECUTE FUNCTION storage_of_input();
CREATE TRIGGER storage_of_message AFTER UPDATE OF content ON message_logs FOR EACH ROW
	WHEN (new.content IS NULL AND old.content IS NOT NULL) EXECUTE FUNCTION storage_of_message();

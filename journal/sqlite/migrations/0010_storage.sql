-- How many bytes each tenant's conversations take up. A conversation counts its own bytes with each commit. Its tenant's sum
-- follows when the lease is given back, when no run is open, or when 64 KiB have come together: so few commits change it.
ALTER TABLE conversation ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
-- The part of bytes that the tenant's sum holds.
ALTER TABLE conversation ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;

CREATE TABLE storage (
	tenant TEXT    NOT NULL PRIMARY KEY,
	bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

UPDATE conversation SET bytes = n.bytes, counted = n.bytes FROM (
	SELECT conversation, sum(bytes) AS bytes FROM (
		SELECT conversation, length(events) AS bytes FROM log
		UNION ALL SELECT conversation, length(input) FROM run WHERE input IS NOT NULL
		UNION ALL SELECT r.conversation, ifnull(length(m.value), 0) + ifnull(octet_length(m.message), 0) FROM mail m JOIN run r ON r.key = m.run
		UNION ALL SELECT r.conversation, ifnull(length(t.input), 0) + ifnull(length(t.output), 0)
			FROM tool_execution_logs t JOIN run r ON r.key = t.run
		UNION ALL SELECT conversation, length(content) FROM message_logs WHERE content IS NOT NULL
	) GROUP BY conversation
) n WHERE n.conversation = conversation.key;
INSERT INTO storage SELECT tenant, sum(bytes) FROM conversation GROUP BY tenant;

CREATE TRIGGER storage_counted AFTER UPDATE OF bytes ON conversation
	WHEN new.bytes <> new.counted
		AND (abs(new.bytes - new.counted) >= 65536 OR new.until IS NULL AND (old.until IS NOT NULL OR new.turns = new.ended))
BEGIN
	INSERT INTO storage VALUES (new.tenant, new.bytes - new.counted) ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
	UPDATE conversation SET counted = bytes WHERE key = new.key;
END;
CREATE TRIGGER storage_freed AFTER DELETE ON conversation WHEN old.counted <> 0 BEGIN
	UPDATE storage SET bytes = bytes - old.counted WHERE tenant = old.tenant;
END;

-- The commit itself counts the events that it adds, and KeepMessages the messages.
CREATE TRIGGER storage_log AFTER UPDATE OF events ON log BEGIN
	UPDATE conversation SET bytes = bytes + length(new.events) - length(old.events) WHERE key = new.conversation;
END;
CREATE TRIGGER storage_run AFTER INSERT ON run WHEN new.input IS NOT NULL BEGIN
	UPDATE conversation SET bytes = bytes + length(new.input) WHERE key = new.conversation;
END;
CREATE TRIGGER storage_input AFTER UPDATE OF input ON run BEGIN
	UPDATE conversation SET bytes = bytes + ifnull(length(new.input), 0) - ifnull(length(old.input), 0) WHERE key = new.conversation;
END;
CREATE TRIGGER storage_mail AFTER INSERT ON mail WHEN new.value IS NOT NULL OR new.message IS NOT NULL BEGIN
	UPDATE conversation SET bytes = bytes + ifnull(length(new.value), 0) + ifnull(octet_length(new.message), 0)
		WHERE key = (SELECT conversation FROM run WHERE key = new.run);
END;
CREATE TRIGGER storage_mail_read AFTER UPDATE OF value, message ON mail WHEN old.value IS NOT NULL OR old.message IS NOT NULL BEGIN
	UPDATE conversation SET bytes = bytes + ifnull(length(new.value), 0) + ifnull(octet_length(new.message), 0)
			- ifnull(length(old.value), 0) - ifnull(octet_length(old.message), 0)
		WHERE key = (SELECT conversation FROM run WHERE key = new.run);
END;
CREATE TRIGGER storage_tool AFTER INSERT ON tool_execution_logs BEGIN
	UPDATE conversation SET bytes = bytes + ifnull(length(new.input), 0) + ifnull(length(new.output), 0)
		WHERE key = (SELECT conversation FROM run WHERE key = new.run);
END;
CREATE TRIGGER storage_tool_changed AFTER UPDATE OF input, output ON tool_execution_logs BEGIN
	UPDATE conversation SET bytes = bytes + ifnull(length(new.input), 0) + ifnull(length(new.output), 0)
			- ifnull(length(old.input), 0) - ifnull(length(old.output), 0)
		WHERE key = (SELECT conversation FROM run WHERE key = new.run);
END;
CREATE TRIGGER storage_message_erased AFTER UPDATE OF content ON message_logs WHEN new.content IS NULL AND old.content IS NOT NULL BEGIN
	UPDATE conversation SET bytes = bytes - length(old.content) WHERE key = new.conversation;
END;

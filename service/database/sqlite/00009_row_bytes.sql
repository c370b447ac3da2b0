-- How many bytes the rows of each tenant's conversations hold: what a fork begins with, titles and metadata.
ALTER TABLE conversation_count ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE conversation_count SET bytes = (
	SELECT sum(octet_length(c.title) + ifnull(octet_length(c.metadata), 0) + ifnull(octet_length(c.history), 0))
	FROM conversation c WHERE c.tenant = conversation_count.tenant
) WHERE n > 0;

DROP TRIGGER conversation_made;
DROP TRIGGER conversation_removed;
CREATE TRIGGER conversation_made AFTER INSERT ON conversation BEGIN
	INSERT INTO conversation_count VALUES (
		new.tenant, 1, octet_length(new.title) + ifnull(octet_length(new.metadata), 0) + ifnull(octet_length(new.history), 0)
	) ON CONFLICT (tenant) DO UPDATE SET n = n + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER conversation_changed AFTER UPDATE OF title, metadata, history ON conversation
	WHEN octet_length(new.title) + ifnull(octet_length(new.metadata), 0) + ifnull(octet_length(new.history), 0)
		<> octet_length(old.title) + ifnull(octet_length(old.metadata), 0) + ifnull(octet_length(old.history), 0)
BEGIN
	UPDATE conversation_count SET bytes = bytes + octet_length(new.title) + ifnull(octet_length(new.metadata), 0)
			+ ifnull(octet_length(new.history), 0) - octet_length(old.title) - ifnull(octet_length(old.metadata), 0)
			- ifnull(octet_length(old.history), 0)
		WHERE tenant = new.tenant;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
	UPDATE conversation_count SET n = n - 1, bytes = bytes - octet_length(old.title) - ifnull(octet_length(old.metadata), 0)
			- ifnull(octet_length(old.history), 0)
		WHERE tenant = old.tenant;
END

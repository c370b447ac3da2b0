-- A commit and an admission count bytes in the statement that changes the conversation anyway, and a commit says there
-- whether the sum of the tenant follows. So a turn costs one statement more, and not three.
DROP TRIGGER storage_run;
DROP TRIGGER storage_counted;

-- For those who change bytes alone.
CREATE TRIGGER storage_counted AFTER UPDATE OF bytes ON conversation
	WHEN new.bytes <> new.counted
		AND (abs(new.bytes - new.counted) >= 65536 OR new.until IS NULL AND (old.until IS NOT NULL OR new.turns = new.ended))
BEGIN
	UPDATE conversation SET counted = bytes WHERE key = new.key;
END;
CREATE TRIGGER storage_made AFTER INSERT ON conversation WHEN new.bytes >= 65536 BEGIN
	UPDATE conversation SET counted = bytes WHERE key = new.key;
END;
CREATE TRIGGER storage_summed AFTER UPDATE OF counted ON conversation WHEN new.counted <> old.counted BEGIN
	INSERT INTO storage VALUES (new.tenant, new.counted - old.counted) ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

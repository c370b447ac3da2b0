-- How many conversations each tenant has, so that a bound is held without counting rows.
CREATE TABLE conversation_count (
	tenant TEXT    NOT NULL PRIMARY KEY,
	n      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO conversation_count SELECT tenant, count(*) FROM conversation GROUP BY tenant;

CREATE TRIGGER conversation_made AFTER INSERT ON conversation BEGIN
	INSERT INTO conversation_count VALUES (new.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
	UPDATE conversation_count SET n = n - 1 WHERE tenant = old.tenant;
END

-- What drivers have folded from logs, to open long conversations without reading all of their logs. Each row can be
-- removed at any time.
CREATE TABLE stored_fold (
	conversation INTEGER PRIMARY KEY,
	-- The last event in it.
	seq          INTEGER NOT NULL,
	parts        INTEGER NOT NULL,
	head         BLOB    NOT NULL
) STRICT;

CREATE TABLE stored_fold_part (
	conversation INTEGER NOT NULL,
	part         INTEGER NOT NULL,
	data         BLOB    NOT NULL,
	PRIMARY KEY (conversation, part)
) STRICT;
CREATE TRIGGER stored_fold_removed AFTER DELETE ON stored_fold BEGIN
	DELETE FROM stored_fold_part WHERE conversation = old.conversation;
END;
CREATE TRIGGER stored_fold_forgotten BEFORE DELETE ON conversation BEGIN
	DELETE FROM stored_fold WHERE conversation = old.key;
END;

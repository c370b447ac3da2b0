-- What models used, one row for each attempt of a call. It stays when its conversation
-- is removed, because it is money: so nothing in it refers to other tables by key.
CREATE TABLE usage_logs (
	key                INTEGER PRIMARY KEY,
	tenant             TEXT    NOT NULL,
	conversation       TEXT    NOT NULL,
	run                TEXT    NOT NULL,
	turn               INTEGER NOT NULL,
	executor           TEXT    NOT NULL,
	-- The attempt of the run's step, and the event that says what it used; 0 for none.
	step               TEXT    NOT NULL,
	attempt            INTEGER NOT NULL,
	seq                INTEGER NOT NULL,
	kind               TEXT    NOT NULL,
	-- The agent's thread of work in the run; both names are "" for the main agent.
	scope              TEXT    NOT NULL,
	tool_use_id        TEXT    NOT NULL,
	subagent_type      TEXT    NOT NULL,
	model              TEXT    NOT NULL,
	input_tokens       INTEGER NOT NULL,
	output_tokens      INTEGER NOT NULL,
	cache_read_tokens  INTEGER NOT NULL,
	cache_write_tokens INTEGER NOT NULL,
	-- In 1e-9 US dollars; NULL is unknown.
	cost_nano_usd      INTEGER,
	status             TEXT    NOT NULL,
	at                 INTEGER NOT NULL,
	-- How the run ended, once its row is gone.
	run_status         TEXT
) STRICT;

CREATE INDEX usage_logs_at ON usage_logs (tenant, at);
CREATE INDEX usage_logs_conversation ON usage_logs (conversation);

-- What tools did, one row for each call, as it stands.
CREATE TABLE tool_execution_logs (
	key                INTEGER PRIMARY KEY,
	tenant             TEXT    NOT NULL,
	run                INTEGER NOT NULL REFERENCES run (key),
	step               TEXT    NOT NULL,
	attempt            INTEGER NOT NULL,
	-- The events that ask for the call and that have its result; 0 for none.
	asked              INTEGER NOT NULL,
	ended              INTEGER NOT NULL,
	tool_use_id        TEXT    NOT NULL,
	parent_tool_use_id TEXT    NOT NULL,
	scope              TEXT    NOT NULL,
	subagent_type      TEXT    NOT NULL,
	tool_name          TEXT    NOT NULL,
	source             TEXT    NOT NULL,
	-- JSON, and blocks as a JSON array.
	input              BLOB,
	output             BLOB,
	is_error           INTEGER NOT NULL,
	status             TEXT    NOT NULL,
	began_at           INTEGER NOT NULL,
	finished_at        INTEGER,
	UNIQUE (run, step)
) STRICT;

CREATE INDEX tool_execution_logs_at ON tool_execution_logs (tenant, began_at);

-- What was said, as people read it: made from the log when a run ends, and to be made
-- from it again at any time.
CREATE TABLE message_logs (
	key                INTEGER PRIMARY KEY,
	conversation       INTEGER NOT NULL REFERENCES conversation (key),
	-- The event, and the part of it.
	seq                INTEGER NOT NULL,
	part               INTEGER NOT NULL,
	run                INTEGER NOT NULL REFERENCES run (key),
	type               TEXT    NOT NULL,
	subtype            TEXT    NOT NULL,
	tool_use_id        TEXT    NOT NULL,
	parent_tool_use_id TEXT    NOT NULL,
	-- JSON; NULL where it was redacted.
	content            BLOB,
	at                 INTEGER NOT NULL,
	UNIQUE (conversation, seq, part)
) STRICT;

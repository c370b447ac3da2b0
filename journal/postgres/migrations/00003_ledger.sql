-- +goose Up

-- What models used, one row for each attempt of a call. It stays when its conversation
-- is removed, because it is money: so nothing in it refers to other tables by key.
CREATE TABLE usage_logs (
	key                bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant             text     COLLATE "C" NOT NULL,
	conversation       text     COLLATE "C" NOT NULL,
	run                text     COLLATE "C" NOT NULL,
	turn               integer  NOT NULL,
	executor           text     COLLATE "C" NOT NULL,
	-- The attempt of the run's step, and the event that says what it used; 0 for none.
	step               text     COLLATE "C" NOT NULL,
	attempt            integer  NOT NULL,
	seq                bigint   NOT NULL,
	kind               text     COLLATE "C" NOT NULL,
	-- The agent's thread of work in the run; both names are "" for the main agent.
	scope              text     COLLATE "C" NOT NULL,
	tool_use_id        text     COLLATE "C" NOT NULL,
	subagent_type      text     COLLATE "C" NOT NULL,
	model              text     COLLATE "C" NOT NULL,
	input_tokens       bigint   NOT NULL,
	output_tokens      bigint   NOT NULL,
	cache_read_tokens  bigint   NOT NULL,
	cache_write_tokens bigint   NOT NULL,
	-- In 1e-9 US dollars; NULL is unknown.
	cost_nano_usd      bigint,
	status             text     COLLATE "C" NOT NULL,
	at                 bigint   NOT NULL,
	-- How the run ended, once its row is gone.
	run_status         text     COLLATE "C"
);

CREATE INDEX usage_logs_at ON usage_logs (tenant, at);
CREATE INDEX usage_logs_conversation ON usage_logs (conversation);

-- What tools did, one row for each call, as it stands.
CREATE TABLE tool_execution_logs (
	key                bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant             text     COLLATE "C" NOT NULL,
	run                bigint   NOT NULL,
	step               text     COLLATE "C" NOT NULL,
	attempt            integer  NOT NULL,
	-- The events that ask for the call and that have its result; 0 for none.
	asked              bigint   NOT NULL,
	ended              bigint   NOT NULL,
	tool_use_id        text     COLLATE "C" NOT NULL,
	parent_tool_use_id text     COLLATE "C" NOT NULL,
	scope              text     COLLATE "C" NOT NULL,
	subagent_type      text     COLLATE "C" NOT NULL,
	tool_name          text     COLLATE "C" NOT NULL,
	source             text     COLLATE "C" NOT NULL,
	-- JSON, and blocks as a JSON array.
	input              bytea,
	output             bytea,
	is_error           boolean  NOT NULL,
	status             text     COLLATE "C" NOT NULL,
	began_at           bigint   NOT NULL,
	finished_at        bigint,
	UNIQUE (run, step)
);

CREATE INDEX tool_execution_logs_at ON tool_execution_logs (tenant, began_at);

-- What was said, as people read it: made from the log when a run ends, and to be made
-- from it again at any time.
CREATE TABLE message_logs (
	tenant             text     COLLATE "C" NOT NULL,
	conversation       bigint   NOT NULL,
	-- The event, and the part of it.
	seq                bigint   NOT NULL,
	part               integer  NOT NULL,
	run                bigint   NOT NULL,
	type               text     COLLATE "C" NOT NULL,
	subtype            text     COLLATE "C" NOT NULL,
	tool_use_id        text     COLLATE "C" NOT NULL,
	parent_tool_use_id text     COLLATE "C" NOT NULL,
	-- JSON; NULL where it was redacted.
	content            bytea,
	at                 bigint   NOT NULL,
	PRIMARY KEY (conversation, seq, part)
);

-- Each tenant sees its own, as in the other tables.
-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['usage_logs', 'tool_execution_logs', 'message_logs'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

-- What drivers have folded from logs, to open long conversations without reading all of their logs. Each row can be
-- removed at any time.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

CREATE TABLE stored_fold (
	conversation bigint  PRIMARY KEY REFERENCES conversation (key) ON DELETE CASCADE,
	tenant       text    COLLATE "C" NOT NULL,
	-- The last event in it.
	seq          bigint  NOT NULL,
	parts        integer NOT NULL,
	head         bytea   NOT NULL
);

CREATE TABLE stored_fold_part (
	conversation bigint  NOT NULL REFERENCES stored_fold (conversation) ON DELETE CASCADE,
	tenant       text    COLLATE "C" NOT NULL,
	part         integer NOT NULL,
	data         bytea   NOT NULL,
	PRIMARY KEY (conversation, part)
);

-- Each tenant sees its own, as in the other tables.
-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['stored_fold', 'stored_fold_part'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

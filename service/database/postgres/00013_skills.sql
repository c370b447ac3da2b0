-- Skills of tenants. Their bytes are in the journal's store of bytes.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE skill (
	tenant   text    COLLATE "C" NOT NULL,
	id       text    COLLATE "C" NOT NULL,
	life     text    COLLATE "C" NOT NULL,
	status   text    COLLATE "C" NOT NULL,
	-- The newest version.
	version  integer NOT NULL,
	revision bigint  NOT NULL,
	created  bigint  NOT NULL,
	updated  bigint  NOT NULL,
	PRIMARY KEY (tenant, id)
);

-- Versions are added and never changed.
CREATE TABLE skill_version (
	tenant   text    COLLATE "C" NOT NULL,
	skill    text    COLLATE "C" NOT NULL,
	version  integer NOT NULL,
	created  bigint  NOT NULL,
	-- The name of the bytes in the store.
	place    text    COLLATE "C" NOT NULL,
	doc      text    NOT NULL,
	PRIMARY KEY (tenant, skill, version)
);

-- Places whose bytes no version names: of uploads under way, and of removed skills.
CREATE TABLE skill_loose (
	tenant   text    COLLATE "C" NOT NULL,
	place    text    COLLATE "C" NOT NULL,
	since    bigint  NOT NULL,
	PRIMARY KEY (tenant, place)
);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['skill', 'skill_version', 'skill_loose'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

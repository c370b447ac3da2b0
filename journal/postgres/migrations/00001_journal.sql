-- Times are microseconds since 1970 in UTC, on the database's clock. JSON is as
-- package event writes it, and in bytes: text cannot hold a zero character.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- Runs are numbered in the order of their admission.
CREATE SEQUENCE run_key;

-- A conversation, the fence before its log, and the lease on it. Its row is what
-- writers lock.
CREATE TABLE conversation (
	key     bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id      text    COLLATE "C" NOT NULL UNIQUE,
	tenant  text    COLLATE "C" NOT NULL,
	-- How many runs were admitted, and how many of them have ended. Runs end
	-- in the order of their turns, so the run of turn "ended" + 1 is the head.
	turns   integer NOT NULL DEFAULT 0,
	ended   integer NOT NULL DEFAULT 0,
	last    bigint  NOT NULL DEFAULT 0,
	epoch   bigint  NOT NULL DEFAULT 0,
	-- The run that the last lease was given for, and when that runs out: NULL
	-- once it was given back.
	holder  bigint,
	until   bigint,
	-- The newest run.
	newest  bigint  NOT NULL,
	-- The steps of the head that are open: a JSON array, NULL for none.
	steps   bytea
) WITH (fillfactor = 70);

CREATE INDEX conversation_newest ON conversation (tenant, newest);

CREATE TABLE run (
	key          bigint  PRIMARY KEY,
	id           text    COLLATE "C" NOT NULL UNIQUE,
	conversation bigint  NOT NULL REFERENCES conversation (key),
	tenant       text    COLLATE "C" NOT NULL,
	turn         integer NOT NULL,
	person       text    COLLATE "C" NOT NULL,
	agent        text    COLLATE "C" NOT NULL,
	-- Messages as a JSON text sequence (RFC 7464).
	input        bytea,
	-- The caller's key, '' for none.
	idem         text    COLLATE "C" NOT NULL,
	executor     text    COLLATE "C" NOT NULL,
	metadata     bytea,
	new_session  boolean NOT NULL,
	status       text    COLLATE "C" NOT NULL,
	wake         bigint,
	cancelled    boolean NOT NULL DEFAULT false,
	admitted     bigint  NOT NULL,
	-- When the run may be due as far as its own row says: 0 is now, NULL is
	-- not by time.
	due          bigint,
	-- The Seq of its first event, and its session: NULL before that.
	first        bigint,
	session      integer,
	UNIQUE (conversation, turn)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX run_idem ON run (conversation, idem) WHERE idem <> '';
CREATE INDEX run_due ON run (due) WHERE due IS NOT NULL;

-- A commit's events stand in one row, so that a commit costs one. What names a
-- conversation or a run in this table and those below is written under the lock on the
-- conversation's row: a foreign key would look that row up once more for nothing.
CREATE TABLE log (
	conversation bigint NOT NULL,
	tenant       text   COLLATE "C" NOT NULL,
	first        bigint NOT NULL,
	last         bigint NOT NULL,
	epoch        bigint NOT NULL,
	-- Events as a JSON text sequence (RFC 7464).
	events       bytea  NOT NULL,
	PRIMARY KEY (conversation, last)
);

-- Which stretches of a log are replaced by a summary in what a model sees.
CREATE TABLE compaction (
	conversation bigint NOT NULL,
	tenant       text   COLLATE "C" NOT NULL,
	seq          bigint NOT NULL,
	first        bigint NOT NULL,
	last         bigint NOT NULL,
	PRIMARY KEY (conversation, seq)
);

CREATE TABLE mail (
	key     bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	run     bigint   NOT NULL,
	tenant  text     COLLATE "C" NOT NULL,
	id      text     COLLATE "C" NOT NULL,
	kind    text     COLLATE "C" NOT NULL,
	token   text     COLLATE "C" NOT NULL,
	value   bytea,
	sender  text     COLLATE "C" NOT NULL,
	message bytea,
	posted  bigint   NOT NULL,
	-- 1 was consumed, 2 was left to the next run. Either stays, without its
	-- content, so that it does not come twice.
	read    smallint NOT NULL DEFAULT 0,
	-- Whether it was left for an earlier run.
	early   boolean  NOT NULL DEFAULT false,
	-- What tells a repeat of a letter from another one with its id.
	digest  bytea    NOT NULL,
	UNIQUE (run, id)
);

-- State as the log leaves it. The owner is "app", "user/" and a user, or
-- "conversation/" and a conversation.
CREATE TABLE state (
	tenant text  COLLATE "C" NOT NULL,
	owner  text  COLLATE "C" NOT NULL,
	name   bytea NOT NULL,
	value  bytea NOT NULL,
	PRIMARY KEY (tenant, owner, name)
);

-- A transaction sees the rows of the one tenant that it has named, and whoever
-- has named none sees nothing. The sign of equality tells the tenant without a name
-- from a setting that is not there.
-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['conversation', 'run', 'log', 'compaction', 'mail', 'state'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

-- The functions below look across tenants. They do so as the owner of the tables,
-- which the stores are not; the owner may look, and still not write.
CREATE POLICY lookup ON conversation FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY lookup ON run FOR SELECT TO CURRENT_USER USING (true);

-- The store's clock. As a volatile function it is put into the statement that asks for it.
-- +goose StatementBegin
CREATE FUNCTION store_clock() RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
-- +goose StatementEnd

-- Whose a conversation is, in the form of the setting: nothing else about it. These two
-- are in PL/pgSQL, which keeps their plans.
-- +goose StatementBegin
CREATE FUNCTION tenant_of_conversation(wanted text) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS
	$$ BEGIN RETURN (SELECT '=' || c.tenant FROM conversation c WHERE c.id = wanted); END $$;
-- +goose StatementEnd

-- Whose a run is.
-- +goose StatementBegin
CREATE FUNCTION tenant_of_run(wanted text) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS
	$$ BEGIN RETURN (SELECT '=' || r.tenant FROM run r WHERE r.id = wanted); END $$;
-- +goose StatementEnd

-- The runs that a driver could take now, of all tenants, oldest first, without what
-- they were asked. NULL is as many as there are.
-- +goose StatementBegin
CREATE FUNCTION due_runs(how_many bigint) RETURNS TABLE (
		key bigint, id text, conversation text, tenant text, person text, agent text, idem text, executor text,
		metadata bytea, new_session boolean, turn integer, status text, wake bigint, cancelled boolean, admitted bigint
	) LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT r.key, r.id, c.id, r.tenant, r.person, r.agent, r.idem, r.executor,
		r.metadata, r.new_session, r.turn, r.status, r.wake, r.cancelled, r.admitted
	FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE r.due <= (SELECT store_clock()) AND r.turn = c.ended + 1
		AND (r.status <> 'running' OR c.until IS NULL OR c.until <= (SELECT store_clock()))
	ORDER BY r.key LIMIT how_many
$$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION store_clock(), tenant_of_conversation(text), tenant_of_run(text), due_runs(bigint) FROM PUBLIC;

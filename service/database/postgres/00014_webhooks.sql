-- Webhooks of tenants, and what is to be sent to them.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE webhook (
	tenant   text    COLLATE "C" NOT NULL,
	id       text    COLLATE "C" NOT NULL,
	life     text    COLLATE "C" NOT NULL,
	status   text    COLLATE "C" NOT NULL,
	revision bigint  NOT NULL,
	created  bigint  NOT NULL,
	updated  bigint  NOT NULL,
	doc      text    NOT NULL,
	-- The signing secrets, encrypted.
	secret   bytea   NOT NULL,
	PRIMARY KEY (tenant, id)
);

-- Events that are about to be committed to the journal, and may have been.
CREATE TABLE webhook_notice (
	tenant       text   COLLATE "C" NOT NULL,
	conversation text   COLLATE "C" NOT NULL,
	seq          bigint NOT NULL,
	run          text   COLLATE "C" NOT NULL,
	created      bigint NOT NULL,
	PRIMARY KEY (tenant, conversation, seq)
);
CREATE INDEX webhook_notice_created ON webhook_notice (tenant, created);

CREATE TABLE webhook_delivery (
	tenant       text    COLLATE "C" NOT NULL,
	webhook      text    COLLATE "C" NOT NULL,
	-- The webhook-id of the message.
	message      text    COLLATE "C" NOT NULL,
	type         text    COLLATE "C" NOT NULL,
	conversation text    COLLATE "C" NOT NULL,
	run          text    COLLATE "C" NOT NULL,
	created      bigint  NOT NULL,
	-- When the attempts began: at created, or at the last replay.
	started      bigint  NOT NULL,
	-- pending, delivered or failed.
	status       text    COLLATE "C" NOT NULL,
	attempts     integer NOT NULL,
	next_at      bigint  NOT NULL,
	-- Until when a server may be sending it.
	leased       bigint  NOT NULL,
	finished     bigint  NOT NULL,
	-- The status code of the last response, 0 for none.
	code         integer NOT NULL,
	error        text    NOT NULL,
	payload      text    NOT NULL,
	PRIMARY KEY (tenant, webhook, message)
);
CREATE INDEX webhook_delivery_listed ON webhook_delivery (tenant, webhook, created DESC, message DESC);
CREATE INDEX webhook_delivery_due ON webhook_delivery (tenant, status, next_at);
CREATE INDEX webhook_delivery_finished ON webhook_delivery (tenant, status, finished);
CREATE INDEX webhook_delivery_conversation ON webhook_delivery (tenant, conversation);

-- When a server must look at a tenant's rows again.
CREATE TABLE webhook_due (
	tenant text   COLLATE "C" NOT NULL PRIMARY KEY,
	due    bigint NOT NULL
);
CREATE INDEX webhook_due_due ON webhook_due (due);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['webhook', 'webhook_notice', 'webhook_delivery', 'webhook_due'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd
-- Servers look which tenants are due, as they look which tenants there are.
CREATE POLICY operator ON webhook_due FOR SELECT USING (current_setting('braid.tenant', true) = '*');

-- Webhooks of tenants, and what is to be sent to them.
CREATE TABLE webhook (
	tenant   TEXT NOT NULL,
	id       TEXT NOT NULL,
	life     TEXT NOT NULL,
	status   TEXT NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	doc      TEXT NOT NULL,
	-- The signing secrets, encrypted.
	secret   BLOB NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Events that are about to be committed to the journal, and may have been.
CREATE TABLE webhook_notice (
	tenant       TEXT NOT NULL,
	conversation TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	run          TEXT NOT NULL,
	created      INTEGER NOT NULL,
	PRIMARY KEY (tenant, conversation, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_notice_created ON webhook_notice (tenant, created);

CREATE TABLE webhook_delivery (
	tenant       TEXT NOT NULL,
	webhook      TEXT NOT NULL,
	-- The webhook-id of the message.
	message      TEXT NOT NULL,
	type         TEXT NOT NULL,
	conversation TEXT NOT NULL,
	run          TEXT NOT NULL,
	created      INTEGER NOT NULL,
	-- When the attempts began: at created, or at the last replay.
	started      INTEGER NOT NULL,
	-- pending, delivered or failed.
	status       TEXT NOT NULL,
	attempts     INTEGER NOT NULL,
	next_at      INTEGER NOT NULL,
	-- Until when a server may be sending it.
	leased       INTEGER NOT NULL,
	finished     INTEGER NOT NULL,
	-- The status code of the last response, 0 for none.
	code         INTEGER NOT NULL,
	error        TEXT NOT NULL,
	payload      TEXT NOT NULL,
	PRIMARY KEY (tenant, webhook, message)
) STRICT;
CREATE INDEX webhook_delivery_listed ON webhook_delivery (tenant, webhook, created DESC, message DESC);
CREATE INDEX webhook_delivery_due ON webhook_delivery (tenant, status, next_at);
CREATE INDEX webhook_delivery_finished ON webhook_delivery (tenant, status, finished);
CREATE INDEX webhook_delivery_conversation ON webhook_delivery (tenant, conversation);

-- When a server must look at a tenant's rows again.
CREATE TABLE webhook_due (
	tenant TEXT    NOT NULL PRIMARY KEY,
	due    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_due_due ON webhook_due (due)

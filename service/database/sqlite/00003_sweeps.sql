-- What the sweep of retention looks for: those that were not changed for the longest come first.
CREATE INDEX conversation_updated ON conversation (tenant, archived, updated, id);
CREATE INDEX expired_at ON expired (tenant, at)

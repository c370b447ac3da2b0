-- Pages of a ledger that cost the same beside many conversations as beside few: each has an
-- index that gives it in its order.
DROP INDEX usage_logs_at;
DROP INDEX usage_logs_conversation;
DROP INDEX tool_execution_logs_at;
CREATE INDEX usage_logs_at ON usage_logs (tenant, at, key);
CREATE INDEX usage_logs_conversation ON usage_logs (tenant, conversation, at, key);
CREATE INDEX usage_logs_run ON usage_logs (tenant, run, at, key);
CREATE INDEX tool_execution_logs_at ON tool_execution_logs (tenant, began_at, key);

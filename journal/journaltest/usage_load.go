package journaltest

import (
	"time"

	"github.com/braidrun/braid/journal"
)

// MillionOfUsage is the statement, for SQLite and PostgreSQL, that adds a million rows of usage of the tenant "acme": 100 days,
// 200 users, 20 executors, 8 models, 10,000 conversations of 5 runs with 20 calls each. A benchmark of [journal.Ledger].UsageSums uses it.
const MillionOfUsage = `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
	INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope, tool_use_id, subagent_type, model,
		input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, status, at, person)
	SELECT 'acme', 'conv_' || (i / 100 * 7919 % 10000), 'run_' || (i / 20 * 7919 % 50000), 1, 'executor ' || (i / 100 % 20), 's' || i, 1, i,
		CASE WHEN i % 20 = 0 THEN 'title' ELSE 'model' END, '', '', CASE WHEN i % 5 = 0 THEN 'scout' ELSE '' END,
		'model ' || (CASE WHEN i % 20 = 0 THEN 7 ELSE i / 100 % 7 END),
		1000 + i % 1000, i % 500, i % 3000, 0, 1000000 + i, 'done', 1767225600000000 + CAST(i AS bigint) * 8640000, 'user ' || (i / 100 % 200)
	FROM n`

// Sums names a query of sums.
type Sums struct {
	Name  string
	Query journal.LedgerQuery
	By    journal.UsageBy
}

// SumsOfAMillion returns queries over the rows of [MillionOfUsage]: each grouping over all of them, and over what the filters
// leave. The pages are as large as those of the service.
func SumsOfAMillion() (list []Sums) {
	const page = 51
	at := func(day, hour int) time.Time {
		return time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC)
	}
	all := []journal.UsageBy{
		journal.UsageByModel, journal.UsageByConversation, journal.UsageByRun, journal.UsageByDay, journal.UsageByExecutor,
		journal.UsageByAgent, journal.UsageByKind, journal.UsageByUser,
	}
	for name, q := range map[string]journal.LedgerQuery{
		"all":            {},
		"parts of days":  {From: at(2, 7), To: at(90, 19)},
		"a day":          {From: at(50, 7), To: at(51, 7)},
		"an executor":    {Executor: "executor 7"},
		"a user":         {User: "user 7"},
		"a model":        {Model: "model 3"},
		"a conversation": {Conversation: "conv_42"},
	} {
		for _, by := range all {
			q.Tenant, q.Limit = "acme", page
			list = append(list, Sums{name + " by " + string(by), q, by})
		}
	}
	return list
}

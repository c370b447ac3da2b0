package pg

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/event"
)

// KeepDurable has the commits of a connection wait for the disk, even if the database or the role says otherwise.
// A setting that waits for more, such as for a standby, stays.
const KeepDurable = `SELECT set_config('synchronous_commit', 'on', false)
	WHERE current_setting('synchronous_commit') = 'off'`

// Config reads an address and sets what all connections have in common. Patience bounds each statement and each wait.
func Config(op, address, schema string, patience time.Duration) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil || address == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the database's address cannot be read", Hint: "write it as postgres://role@host/database",
		}
	}
	c := config.ConnConfig
	ms := strconv.FormatInt(patience.Milliseconds(), 10)
	maps.Copy(c.RuntimeParams, map[string]string{
		"search_path":       pgx.Identifier{schema}.Sanitize() + ", pg_temp",
		"statement_timeout": ms,
		"lock_timeout":      ms,
		// A process that stops in the middle of a transaction holds others up no longer than this.
		"idle_in_transaction_session_timeout": ms,
		"client_encoding":                     "UTF8",
	})
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "braid"
	}
	c.ConnectTimeout = patience
	return config, nil
}

// UseIndexes has each statement look its rows up by an index. A plan that was made while a table was small would read
// all of it later.
func UseIndexes(c *pgx.ConnConfig) {
	for _, way := range []string{"seqscan", "bitmapscan", "hashjoin", "mergejoin"} {
		c.RuntimeParams["enable_"+way] = "off"
	}
	// A table that must be read all the same looks so expensive then that the database would compile the statement,
	// which takes a hundred times as long as to run it.
	c.RuntimeParams["jit"] = "off"
}

// Connections returns how many connections a pool may have: those asked for, else the address's pool_max_conns, else usual.
func Connections(config *pgxpool.Config, address string, asked, usual int) int {
	switch {
	case asked > 0:
		return min(asked, 10_000)
	case strings.Contains(address, "pool_max_conns"):
		return int(config.MaxConns)
	}
	return usual
}

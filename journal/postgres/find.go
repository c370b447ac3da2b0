package postgres

import (
	"context"
	"math"

	"github.com/braidrun/braid/journal"
)

const (
	selectEdge             = `SELECT key, admitted FROM edge_of_runs($1, $2, $3, $4)`
	selectUnsuccessfulEdge = `SELECT key, admitted FROM edge_of_unsuccessful_runs($1, $2, $3)`

	selectFound = `SELECT key, id, conversation, tenant, person, agent, NULL::bytea, idem, executor, NULL::bytea, new_session,
		turn, status, wake, cancelled, admitted, session, 0, lost, failure FROM find_runs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
)

// FindRuns implements [journal.Catalog]. Like Due it looks across tenants.
func (s *Store) FindRuns(ctx context.Context, q journal.RunQuery) (page journal.RunPage, err error) {
	const op = "journal find runs"
	if err := alive(ctx, op); err != nil {
		return page, err
	}
	if err := names(op, q.ID, q.Tenant, q.User, q.Agent, string(q.Failure)); err != nil {
		return page, err
	}
	before, since := int64(math.MaxInt64), int64(math.MinInt64)
	if q.Before > 0 {
		before = q.Before
	}
	if !q.Since.IsZero() {
		since = wakeMicros(q.Since)
	}
	var states []string
	for _, status := range q.Status {
		states = append(states, string(status))
	}
	var found []runRow
	edge := int64(0)
	err = s.transact(ctx, op, scope{`SELECT set_config('braid.tenant', $1, true)`, ""}, func(x *tx) error {
		found, edge = nil, 0
		if err := x.begin(beginRead); err != nil {
			return err
		}
		if q.ID == "" {
			var there bool
			var admitted int64
			question := ask(selectEdge, []any{before, orNull(q.Tenant), q.Open(), journal.FindAtOnce}, &there, &edge, &admitted)
			if q.Unsuccessful() && q.Tenant != "" {
				question = ask(selectUnsuccessfulEdge, []any{before, q.Tenant, journal.FindAtOnce}, &there, &edge, &admitted)
			}
			if err := x.more(question); err != nil {
				return err
			}
			if !there || admitted < since { // the runs behind it are too old
				edge = 0
			}
		}
		return x.more(list(selectFound, []any{
			before, edge, orNull(q.Tenant), q.Open(), orNull(q.ID), states, orNull(q.User), orNull(q.Agent),
			orNull(string(q.Failure)), since, q.Most(),
		}, runsInto(&found)), do(`COMMIT`))
	})
	if err != nil {
		return page, err
	}
	runs, err := readRuns(op, found)
	if err != nil {
		return page, err
	}
	last := int64(0)
	if len(found) > 0 {
		last = found[len(found)-1].key
	}
	return q.Page(runs, last, edge), nil
}

// orNull returns a text parameter; NULL for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

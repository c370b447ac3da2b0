package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// refusal is a request that the server refuses.
type refusal struct {
	id, name string
	status   int
	// Requests is the number of requests, at the number of connections.
	requests, at int
	// key returns the credential of the nth request.
	key func(keys []string, n int) string
	// locked means that another run has the conversation.
	locked bool
}

const refusedRow = "server-refused"

func refusals(short bool) []refusal {
	requests, waiting := 2000, 200
	if short {
		requests, waiting = 300, 50
	}
	return []refusal{
		{
			id: refusedRow + "-key", name: "refused: a key that nobody has", status: 401, requests: requests, at: 8,
			key: func(keys []string, _ int) string {
				// A well-formed key with an id that the server must look up.
				head, secret := cutKey(keys[0])
				return head + strings.ToLower(rand.Text()[:16]) + secret
			},
		},
		{
			id: refusedRow + "-tenant", name: "refused: an inactive tenant", status: 403, requests: requests, at: 8,
			key: func(keys []string, _ int) string { return keys[scenario.Tenants] },
		},
		{
			id: refusedRow + "-locked", name: "refused: a locked conversation, after 5 s", status: 409, requests: waiting, at: waiting, locked: true,
			key: func(keys []string, _ int) string { return keys[0] },
		},
	}
}

// cutKey splits a key at its id.
func cutKey(key string) (before, behind string) {
	const begin, end = len("brk_"), len("brk_") + 16
	return key[:begin], key[end:]
}

// timeRefused measures the cost of refused requests.
func timeRefused(ctx context.Context, opt *options, rep *report, pl plan, at *homes, begin beginSide, show *progress) error {
	for _, r := range refusals(opt.short) {
		if len(opt.only) == 0 || !opt.wants(r.id) {
			continue
		}
		for i, side := range []string{scenario.SideTenantsSQLite, scenario.SideTenantsPostgres} {
			var micros []float64
			for n := range pl.Server {
				show.say("pass %d of %d: %s, %s", n+1, pl.Server, r.id, side)
				file, err := profileOf(opt.profile, r.id, i, n)
				if err != nil {
					return err
				}
				each, err := r.pass(ctx, side, at, begin, file)
				if skipped(err) {
					rep.skip(r.id, side, err)
					break
				}
				if err != nil {
					return fmt.Errorf("%s: %s: %w", r.id, side, err)
				}
				micros = append(micros, each)
			}
			if len(micros) > 0 {
				rep.Served = append(rep.Served, served{Row: r.id, Name: r.name, Side: side, MicrosEach: spreadOf(micros)})
			}
		}
	}
	return nil
}

// pass returns the server's processor time per request.
func (r *refusal) pass(ctx context.Context, side string, at *homes, begin beginSide, profile string) (micros float64, err error) {
	h, err := at.open(ctx, side)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	// The other run is idle for a minute, so that only the requests cost time.
	s := &scenario.Served{Side: side, Folder: h.folder, Postgres: h.postgres, Deltas: 2, Every: time.Minute}
	proc, err := begin(ctx, s, profile)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, proc.end()) }()
	stopped := context.AfterFunc(ctx, func() { _ = proc.end() })
	defer stopped()
	keys, err := s.Keys()
	if err != nil {
		return 0, err
	}
	own, err := dial(ctx, proc.addr, keys[0], true, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	if r.locked {
		if err := own.hold(); err != nil {
			return 0, err
		}
	}
	path := scenario.ServedPath + "/" + own.conversation + "/runs"
	all, err := loaders(ctx, proc.addr, keys[:1], false, r.at)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeLoaders(all)) }()
	ask := func(n int) error {
		l := all[n%r.at]
		res, err := l.ask(request("POST", path, l.addr, r.key(keys, n), `{"user_input":"go"}`)) //nolint:bodyclose // it is read to its end
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != r.status {
			err = fmt.Errorf("a request was answered with %s and not with %d: %.200q", res.Status, r.status, body)
		}
		return err
	}
	if err := each(r.at, r.at, func(i int) error { return ask(i) }); err != nil && !r.locked { // a first round before measuring
		return 0, err
	}
	before, err := proc.stats()
	if err != nil {
		return 0, err
	}
	rounds := r.requests / r.at
	if err := each(r.at, r.at, func(i int) error {
		for n := range rounds {
			if err := ask(n*r.at + i); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	after, err := proc.stats()
	return float64((after.CPU - before.CPU).Nanoseconds()) / 1e3 / float64(rounds*r.at), err
}

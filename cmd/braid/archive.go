package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/journal"
)

// archive is a data folder opened for reading. Another process may use the folder at the same time.
type archive interface {
	listing
	// Read is that of [journal.Store].
	Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error)
	Close() error
}

// listing lists conversations. Its methods are those of [journal.Catalog].
type listing interface {
	Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error)
	Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error)
}

// newest names the conversation with the newest run.
const newest = "latest"

// findConversation returns the conversation whose ID is word, or the only one whose ID begins with it; ""
// and [newest] are the newest one.
func findConversation(ctx context.Context, list listing, word string) (*journal.Summary, error) {
	all, limit := true, 0
	if word == "" || word == newest {
		all, limit = false, 1
	}
	found, err := list.Conversations(ctx, conf.Tenant, "", limit)
	if err != nil {
		return nil, storeError(err)
	}
	if len(found) == 0 {
		return nil, noneKept()
	}
	if !all {
		return &found[0], nil
	}
	var fitting []*journal.Summary
	for i := range found {
		c := &found[i]
		if c.ID == word {
			return c, nil
		}
		if strings.HasPrefix(c.ID, word) {
			fitting = append(fitting, c)
		}
	}
	switch len(fitting) {
	case 1:
		return fitting[0], nil
	case 0:
		return nil, noConversation(word, found)
	}
	const named = 3
	var ids []string
	for _, c := range fitting[:min(named, len(fitting))] {
		ids = append(ids, c.ID)
	}
	if len(fitting) > named {
		ids = append(ids, "…")
	}
	return nil, term.Invalid("write more of it: "+strings.Join(ids, ", "), "%d conversations have an ID that begins with %q",
		len(fitting), term.Fit(word, 40))
}

func noneKept() error {
	return &event.Error{
		Kind: event.ErrNotFound, Message: "no conversation is kept yet",
		Hint: "begin one with braid chat, or choose another folder with --data",
	}
}

// noConversation is the error for an unknown ID. Users type the beginning of an ID, so the hint compares
// beginnings.
func noConversation(word string, all []journal.Summary) error {
	beginnings := make([]string, len(all))
	whole := map[string]string{}
	for i := range all {
		b := all[i].ID
		if len(b) > len(word) {
			b = b[:len(word)]
		}
		beginnings[i] = b
		if whole[b] == "" {
			whole[b] = all[i].ID
		}
	}
	hint := "braid conversations lists them"
	if near := nearest.Word(word, beginnings); near != "" {
		hint = "did you mean " + whole[near] + "? " + hint
	}
	return &event.Error{
		Kind: event.ErrNotFound, Hint: hint, Message: "there is no conversation with the ID " + strconv.Quote(term.Fit(word, 40)),
	}
}

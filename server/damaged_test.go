package server_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// damaged is a journal whose events cannot be read.
type damaged struct{ *journal.Memory }

func (damaged) Read(context.Context, string, int64, int) ([]*event.Event, error) {
	return nil, &event.Error{Kind: event.ErrInternal, Code: "STORAGE_DAMAGED", Message: "the journal is damaged"}
}

func (d damaged) ReadPage(ctx context.Context, conversation string, after int64, limit int, _ int64) ([]*event.Event, bool, error) {
	events, err := d.Read(ctx, conversation, after, limit)
	return events, false, err
}

// The stream of a conversation that cannot be read is refused before it begins, as its events are.
func TestAStreamOfADamagedConversation(t *testing.T) {
	t.Parallel()
	store, rows := &journal.Memory{}, &service.MemoryRows{}
	whole := open(t, func(o *service.Options, _ *server.Options) { o.Journal, o.Rows = store, rows })
	conv := "/v1/conversations/" + whole.conversation()
	res := whole.ask("POST", conv+"/runs", `{"user_input":"hello"}`, "Accept", "application/json", "Idempotency-Key", "k")
	run := res.Header.Get("X-Run-Id")
	res.Body.Close()
	s := open(t, func(o *service.Options, _ *server.Options) { o.Journal, o.Rows = damaged{store}, rows })
	for _, c := range []struct{ method, path, body, accept string }{
		{"GET", conv + "/events", "", "application/json"},
		{"GET", conv + "/stream", "", "text/event-stream"},
		{"GET", conv + "/runs/" + run + "/stream", "", "text/event-stream"},
		{"POST", conv + "/runs", `{"user_input":"hello"}`, "text/event-stream"},
		{"POST", conv + "/runs", `{"user_input":"hello"}`, "application/json"},
	} {
		res := s.ask(c.method, c.path, c.body, "Accept", c.accept, "Idempotency-Key", "k")
		var body []byte
		var err error
		if res.StatusCode != 200 { // a stream has no end
			body, err = io.ReadAll(res.Body)
		}
		res.Body.Close()
		if err != nil || res.StatusCode != 500 || !strings.Contains(string(body), `"STORAGE_DAMAGED"`) {
			t.Errorf("%s %s as %s: %d %s (%v)", c.method, c.path, c.accept, res.StatusCode, body, err)
		}
	}
}

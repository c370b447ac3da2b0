package server_test

import (
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// A reader that leaves one server cancels the run that another one drives.
func TestAReaderThatLeavesAnotherServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, rows := &journal.Memory{}, &service.MemoryRows{}
		with := func(o *service.Options, _ *server.Options) { o.Journal, o.Rows, o.Shared = store, rows, true }
		drives, reads := open(t, with), open(t, with)
		conv := drives.conversation()
		runs := "/v1/conversations/" + conv + "/runs"
		accepted := drives.ask("POST", runs, `{"user_input":"slowly please now","on_disconnect":"cancel"}`, "Idempotency-Key", "k", "Prefer", "respond-async")
		accepted.Body.Close()
		run := accepted.Header.Get("X-Run-Id")
		reader := reads.read(runs, `{"user_input":"slowly please now","on_disconnect":"cancel"}`, "Idempotency-Key", "k")
		reader.until("user_message")
		if got := reader.Header.Get("X-Run-Id"); got != run {
			t.Fatalf("the repeated request has the run %q, want %q", got, run)
		}
		_ = reader.Body.Close()
		drives.until("the run is cancelled", func() bool { return drives.json(200, "GET", runs+"/"+run, "")["status"] == "cancelled" })
	})
}

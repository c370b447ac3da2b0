package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
)

func TestGrantsInAFile(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()+"/data"
	call := grant.Grant{Tenant: conf.Tenant, User: "ann", Agent: "a", Tool: "rm", Args: json.RawMessage(`{"a":"<&>"}`)}
	is := func(want bool, g grant.Grant) {
		t.Helper()
		got, err := grantsIn(dir).Granted(ctx, g)
		if got != want || err != nil {
			t.Errorf("%+v: %v, %v", g, got, err)
		}
	}
	is(false, call)
	for range 2 { // a takeover repeats it
		if err := grantsIn(dir).Grant(ctx, call); err != nil {
			t.Fatal(err)
		}
	}
	is(true, call)
	for _, change := range []func(*grant.Grant){
		func(g *grant.Grant) { g.Tenant = "other" }, func(g *grant.Grant) { g.User = "bob" }, func(g *grant.Grant) { g.Agent = "b" },
		func(g *grant.Grant) { g.Tool = "mv" }, func(g *grant.Grant) { g.Args = json.RawMessage(`{}`) },
	} {
		other := call
		change(&other)
		is(false, other)
	}
	wide := call
	wide.Args, wide.AnyArgs, wide.Tool = nil, true, "mv"
	if err := grantsIn(dir).Grant(ctx, wide); err != nil {
		t.Fatal(err)
	}
	wide.Args, wide.AnyArgs = json.RawMessage(`{"any":1}`), false
	is(true, wide)
	if info, err := os.Stat(dir + "/" + grantsFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	list, err := grantsIn(dir).read()
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, id := range []string{"", "x"} {
		if n, err := grantsIn(dir).forget(id); n != 0 || err == nil {
			t.Errorf("forget %q: %d, %v", id, n, err)
		}
	}
	if n, err := grantsIn(dir).forget(grantID(&list[0])[:8]); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	is(false, call)
	is(true, wide)
	if n, err := grantsIn(dir).forget("all"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	is(false, wide)

	for text, kind := range map[string]event.ErrorKind{`{`: event.ErrInvalid, `{"version":3}`: event.ErrNewer} {
		if err := os.WriteFile(dir+"/"+grantsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := grantsIn(dir).Granted(ctx, call); ok || !errors.Is(err, kind) {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
		if err := grantsIn(dir).Grant(ctx, call); !errors.Is(err, kind) {
			t.Errorf("%s: %v", text, err)
		}
		if raw, err := os.ReadFile(dir + "/" + grantsFile); err != nil || string(raw) != text {
			t.Errorf("%s was overwritten", text)
		}
	}
}

// Lasting approvals that are stored at the same time are all kept, in one process or in several: each of these has its
// own handle of the file, like a process.
func TestGrantsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := grantsIn(dir)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			kept := kept
			if i%2 == 1 {
				kept = grantsIn(dir)
			}
			if err := kept.Grant(t.Context(), grant.Grant{Agent: "a", Tool: strings.Repeat("t", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := kept.read(); err != nil || len(list) != 8 {
		t.Errorf("%d kept, %v", len(list), err)
	}
}

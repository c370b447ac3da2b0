package directory_test

import (
	"testing"
	"time"

	"github.com/braidrun/braid/service/directory"
)

// Whatever an entry says, and the entry before it, is in its hash, each in its own place.
func TestAnEntrysHash(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	sum := func(name, before string, change func(e *directory.Entry)) {
		t.Helper()
		e := directory.Entry{
			Tenant: "acme", Seq: 7, Time: time.UnixMicro(1), By: directory.By{Tenant: "acme", Key: "key", User: "ann"},
			Action: "agent.update", Object: "agent/a", Detail: []byte("{}"),
		}
		change(&e)
		hash := string(directory.Sum(e, []byte(before)))
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
	}
	sum("nothing", "before", func(*directory.Entry) {})
	sum("another one before", "other", func(*directory.Entry) {})
	sum("none before", "", func(*directory.Entry) {})
	for name, change := range map[string]func(e *directory.Entry){
		"tenant": func(e *directory.Entry) { e.Tenant = "evil" }, "seq": func(e *directory.Entry) { e.Seq = 8 },
		"time": func(e *directory.Entry) { e.Time = time.UnixMicro(2) }, "by's tenant": func(e *directory.Entry) { e.By.Tenant = "" },
		"key": func(e *directory.Entry) { e.By.Key = "x" }, "user": func(e *directory.Entry) { e.By.User = "eve" },
		"operator": func(e *directory.Entry) { e.By.Operator = true }, "action": func(e *directory.Entry) { e.Action = "x" },
		"object": func(e *directory.Entry) { e.Object = "x" }, "detail": func(e *directory.Entry) { e.Detail = []byte("[]") },
		"a letter moved": func(e *directory.Entry) { e.By.Key, e.By.User = "ke", "yann" },
	} {
		sum(name, "before", change)
	}
}

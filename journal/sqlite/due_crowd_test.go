package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/braidrun/braid/journal/sqlite"
)

// What is due costs the same beside 20,000 conversations in which nothing is as beside 10.
func TestDueDoesNotGrowWithTheConversations(t *testing.T) {
	t.Parallel()
	took := map[int]time.Duration{}
	for _, n := range []int{10, 20_000} {
		folder := t.TempDir()
		if err := open(t, folder, sqlite.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		count := fmt.Sprintf(`WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < %d) `, n)
		execute(t, folder,
			count+`INSERT INTO conversation (key, id, tenant, turns, ended, newest) SELECT n, 'talk ' || n, 'acme', 1, 1, n FROM k`,
			count+`INSERT INTO run (key, id, conversation, turn, tenant, user, agent, idem, executor, new_session, status, admitted)
				SELECT n, 'run ' || n, n, 1, 'acme', '', '', '', '', 0, 'completed', n FROM k`)
		s := open(t, folder, sqlite.Options{})
		var times []time.Duration
		for range 50 {
			began := time.Now()
			if due, err := s.Due(t.Context(), 100); err != nil || len(due) > 0 {
				t.Fatal(due, err)
			}
			times = append(times, time.Since(began))
		}
		took[n] = slices.Min(times)
	}
	if took[20_000] > 10*took[10] {
		t.Errorf("it takes %v beside 10, and %v beside 20,000", took[10], took[20_000])
	}
	t.Log(took)
}

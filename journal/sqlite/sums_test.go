package sqlite_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/sqlite"
)

// A sum is that of its rows, from whichever table and by whichever index it is read.
func TestSumsAreThoseOfTheRows(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	shut(t, open(t, folder, sqlite.Options{}))
	// Some rows of the million, so that all days have some.
	execute(t, folder, strings.Replace(strings.Replace(journaltest.MillionOfUsage, "SELECT i + 1 FROM n", "SELECT i + 2003 FROM n", 1), "999999", "997000", 1))
	s := open(t, folder, sqlite.Options{})
	for _, c := range journaltest.SumsOfAMillion() {
		c.Query.Limit = 0
		rows, err := s.UsageLog(t.Context(), c.Query)
		if err != nil {
			t.Fatal(err)
		}
		want := summed(rows, c.By)
		if len(want) == 0 && !strings.HasPrefix(c.Name, "a conversation") {
			t.Errorf("%s has no rows", c.Name)
		}
		for _, matches := range []int64{0, math.MaxInt64} {
			got, err := s.SumsOf(&c.Query, c.By, matches)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %d matches: %v\n%v\nwant\n%v", c.Name, matches, err, got, want)
			}
		}
		for after := ""; len(want) > 0; { // in pages
			q := c.Query
			q.Limit = 7
			place := &after
			if after == "" {
				place = nil
			}
			got, err := s.UsageSums(t.Context(), q, c.By, place)
			if err != nil || len(got) == 0 || !slices.Equal(got, want[:min(7, len(want))]) {
				t.Errorf("%s after %q: %v\n%v", c.Name, after, err, got)
				break
			}
			want, after = want[len(got):], got[len(got)-1].Key
			if after == "" && len(want) > 0 {
				break // the page of one group whose key is empty
			}
		}
	}
}

func summed(rows []journal.UsageEntry, by journal.UsageBy) (sums []journal.UsageSum) {
	of := map[string]*journal.UsageSum{}
	for i := range rows {
		u := &rows[i]
		key := map[journal.UsageBy]string{
			journal.UsageByModel: u.Model, journal.UsageByConversation: u.Conversation, journal.UsageByRun: u.Run,
			journal.UsageByDay: u.Time.UTC().Format("2006-01-02"), journal.UsageByExecutor: u.Executor, journal.UsageByAgent: u.Agent,
			journal.UsageByKind: string(u.Kind), journal.UsageByUser: u.User,
		}[by]
		if of[key] == nil {
			of[key] = &journal.UsageSum{Key: key}
		}
		of[key].Tokens = of[key].Add(u.Tokens)
		of[key].Calls++
		of[key].KnownNanoUSD += *u.CostNanoUSD
	}
	for _, s := range of {
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b journal.UsageSum) int { return strings.Compare(a.Key, b.Key) })
	return sums
}

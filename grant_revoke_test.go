package braid_test

import (
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/journal"
)

// What a person has allowed for longer than one call is listed and taken back: of a tool or all of
// it; and a person is asked again, by whoever comes next.
func TestWhatWasAllowedIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, lasts := range []string{"conversation", "always"} {
		for _, tool := range []string{"tool", "", "another"} {
			t.Run(lasts+" "+tool, func(t *testing.T) {
				t.Parallel()
				var ran atomic.Int64
				store := journal.NewMemory(journal.MemoryOptions{})
				grants := &grant.Memory{}
				p := braid.Permissions{Ask: []string{"tool"}, Grants: grants}
				run := func() *braid.Result {
					r, err := calling(&ran, p).Run(t.Context(), `{"say":"a"}`, braid.In(braid.Open(store, "c")), braid.For("acme", "ann"))
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				first := run()
				conv := first.Conversation
				if n, err := conv.Revoke(t.Context(), tool, braid.For("acme", "ann")); n != 0 || err != nil {
					t.Errorf("%d of nothing are taken back, %v", n, err)
				}
				if err := conv.AnswerAs(t.Context(), "ann", first.Questions[0].Token, approval(`{"approved":true,"lasts":"`+lasts+`"}`)); err != nil {
					t.Fatal(err)
				}
				if _, err := calling(&ran, p).Resume(t.Context(), conv); err != nil {
					t.Fatal(err)
				}
				if r := run(); r.Stop == event.StopQuestion {
					t.Fatal("it asks although it is allowed")
				}
				var list []grant.Grant
				var err error
				var n int
				want := 1
				if lasts == "always" {
					list = grants.List()
					n = grants.Revoke(func(g grant.Grant) bool { return tool == "" || g.Tool == tool })
				} else {
					if list, err = braid.Open(store, "c").Grants(t.Context()); err != nil {
						t.Fatal(err)
					}
					if n, err = conv.Revoke(t.Context(), tool, braid.For("acme", "ann")); err != nil {
						t.Fatal(err)
					}
				}
				if len(list) != 1 || list[0].Tool != "tool" || list[0].By != "ann" {
					t.Errorf("allowed is %+v", list)
				}
				if tool == "another" {
					want = 0
				}
				if n != want {
					t.Errorf("%d are taken back", n)
				}
				if asks := run().Stop == event.StopQuestion; asks != (want == 1) {
					t.Errorf("it asks: %v", asks)
				}
				if list, err := braid.Open(store, "c").Grants(t.Context()); err != nil || lasts == "conversation" && len(list) != 1-want {
					t.Errorf("left is %+v, %v", list, err)
				}
			})
		}
	}
}

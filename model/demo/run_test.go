package demo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }

// The loop measures the script's latencies, those of seed 2.
func TestTheLoopMeasuresSeed2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type measured struct {
			Usage           event.Usage
			Latency         time.Duration
			TimeToFirstByte time.Duration
			Simulated       bool
		}
		var got []measured
		agent := braid.New("calc", load(t, "seed2", demo.Realtime(1)), braid.Func("add", "Adds two numbers.", add))
		var res braid.Result
		for ev, err := range agent.Stream(t.Context(), "3と5を足して", braid.Into(&res)) {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := ev.Body.(*event.AssistantMessage); ok {
				got = append(got, measured{m.Usage, m.Latency, m.TimeToFirstByte, ev.Simulated})
			}
		}
		want := []measured{
			{event.Usage{Input: 680, Output: 79, Total: 759}, 1299 * time.Millisecond, 969 * time.Millisecond, true},
			{event.Usage{Input: 772, Output: 15, Total: 787}, 814 * time.Millisecond, 708 * time.Millisecond, true},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if res.Text() != "3と5を足した結果は8です。" {
			t.Errorf("it says %s", res.Text())
		}
	})
}

// A run completes although its model fails as providers do.
func TestARunOutlivesFaults(t *testing.T) {
	t.Parallel()
	for _, f := range []demo.Fault{
		{Kind: "throttled", Attempts: 2},
		{Kind: "throttled", Attempts: 1, RetryAfter: 10 * time.Second},
		{Kind: "overloaded", Attempts: 1},
		{Kind: demo.FaultCut, Attempts: 2},
		{Kind: demo.FaultNoStop, Attempts: 1},
		{Kind: "overloaded", Attempts: 1, After: 2},
		{Kind: demo.FaultBadArguments, Cycle: 1},
		{Kind: demo.FaultUnknownTool, Cycle: 1},
		{Kind: demo.FaultEmptyIDs},
		{Kind: demo.FaultDuplicateIDs},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := script(t, demo.Replies("sum", []demo.Piece{demo.Say("One sum."), demo.Call("add", `{"a":3,"b":5}`)}, say("${result}")), demo.Faults(f))
			res, err := braid.New("calc", m, braid.Func("add", "Adds two numbers.", add)).Run(t.Context(), "go")
			if err != nil || res.Stop != event.StopEndTurn || !res.Simulated {
				t.Errorf("%s: %v, %+v", f.Kind, err, res)
			}
		})
	}
}

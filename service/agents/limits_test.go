package agents

import (
	"reflect"
	"testing"
	"time"

	"github.com/braidrun/braid"
)

// A request's limits are lowered to the server's.
func TestRunsStayWithinTheServersLimits(t *testing.T) {
	t.Parallel()
	own := braid.Limits{
		Cycles: 10, AllCycles: 10, ToolCalls: 20, AllToolCalls: 20, InputTokens: 30, OutputTokens: 40, TotalTokens: 50, CostNanoUSD: 60,
		Conversation: braid.Budget{Cycles: 1, ToolCalls: 2, InputTokens: 3, OutputTokens: 4, TotalTokens: 5, CostNanoUSD: 6, Active: 7},
	}
	small := braid.Limits{Active: time.Second}
	fill(reflect.ValueOf(&small).Elem(), 1)
	large := small
	fill(reflect.ValueOf(&large).Elem(), 1000)
	if got := within(braid.Limits{Active: time.Minute}, &own); got.Active != time.Minute || got.Conversation != own.Conversation || got.CostNanoUSD != 60 || got.AllCycles != 10 {
		t.Errorf("a request without limits gets %+v", got)
	}
	if got := within(small, &own); got.Conversation != (braid.Budget{Cycles: 1, ToolCalls: 1, InputTokens: 1, OutputTokens: 1, TotalTokens: 1, CostNanoUSD: 1, Scopes: 1, Active: 1}) ||
		got.Cycles != 1 || got.ToolCalls != 1 || got.InputTokens != 1 || got.OutputTokens != 1 || got.TotalTokens != 1 || got.CostNanoUSD != 1 {
		t.Errorf("a request with small limits gets %+v", got)
	}
	got := within(large, &own)
	got.Conversation.Scopes = 0
	if got.Conversation != own.Conversation || got.Cycles != 10 || got.AllCycles != 10 || got.ToolCalls != 20 || got.AllToolCalls != 20 ||
		got.InputTokens != 30 || got.OutputTokens != 40 || got.TotalTokens != 50 || got.CostNanoUSD != 60 {
		t.Errorf("a request with large limits gets %+v", got)
	}
}

// fill sets every number of a struct.
func fill(v reflect.Value, n int64) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Struct:
			fill(f, n)
		case reflect.Int, reflect.Int64:
			f.SetInt(n)
		default:
		}
	}
}

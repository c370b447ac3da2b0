package demotool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

func TestClock(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("JST", 9*60*60)
	clock := ClockAt(func() time.Time { return time.Date(2026, 11, 20, 18, 30, 5, 0, zone) })
	for args, want := range map[string]string{
		`{}`:                          "2026-11-20 18:30:05 JST (Friday, UTC+09:00)",
		`{"zone":"UTC"}`:              "2026-11-20 09:30:05 UTC (Friday, UTC+00:00)",
		`{"zone":"America/New_York"}`: "2026-11-20 04:30:05 EST (Friday, UTC-05:00)",
	} {
		out, err := clock.Call(t.Context(), json.RawMessage(args))
		if got := event.TextOf(out.Content); err != nil || got != want {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
	for _, zone := range []string{"Asia/Tokio", "../../etc/passwd", "/etc/passwd", strings.Repeat("x", 1000), "a\x00b"} {
		args, err := json.Marshal(moment{Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		_, err = clock.Call(t.Context(), args)
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "no time zone") || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v", zone, err)
		}
	}
}

func TestEffectsAreDeclared(t *testing.T) {
	t.Parallel()
	files, err := Files(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]event.Effect{}
	for _, tl := range append(files, Calculator(), Clock(), ClockAt(nil)) {
		spec := tl.Spec()
		got[spec.Name] = tool.TraitsOf(tl).Effect
		if spec.Description == "" || !json.Valid(spec.Schema) || !strings.Contains(string(spec.Schema), `"object"`) {
			t.Errorf("%s: description %q, schema %s", spec.Name, spec.Description, spec.Schema)
		}
	}
	want := map[string]event.Effect{
		"calculator": event.EffectPure, "clock": event.EffectIdempotent, "write_file": event.EffectIdempotent,
		"read_file": event.EffectIdempotent, "list_files": event.EffectIdempotent, "delete_file": event.EffectReconcilable,
	}
	if len(got) != len(want) {
		t.Errorf("tools: %v", got)
	}
	for name, effect := range want {
		if got[name] != effect {
			t.Errorf("%s is %q, want %q", name, got[name], effect)
		}
	}
}

func TestCalculatorTool(t *testing.T) {
	t.Parallel()
	out, err := Calculator().Call(context.Background(), json.RawMessage(`{"expression":"12 * (7 + 3)"}`))
	if err != nil || event.TextOf(out.Content) != "120" || out.IsError {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err = Calculator().Call(context.Background(), json.RawMessage(`{"expression":"1/0"}`)); err == nil {
		t.Error("a division by zero is no error")
	}
}

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/service"
)

// A budget applies over several invocations of the command, and the error names its flag.
func TestAConversationsBudgetOnTheCommandLine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run := func(words ...string) (code int, errs string) {
		t.Helper()
		p, _, e := testProcess(t, nil, append([]string{"run", "--data", data, "--model", "demo:tour"}, words...)...)
		return p.run(t.Context()), e.String()
	}
	code, errs := run("--budget", "cycles=2", "Show me.")
	if code != event.ErrLimit.Info().Exit || !strings.Contains(errs, "the conversation reached its limit of model calls") ||
		!strings.Contains(errs, "--budget cycles=") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, errs = run("--budget", "cycles=2", "--continue", "Once more.")
	if code != event.ErrLimit.Info().Exit || strings.Contains(errs, "tokens in") {
		t.Errorf("the second time: exit code %d\n%s", code, errs)
	}
	if code, errs = run("--continue", "Once more."); code != 0 {
		t.Errorf("without a budget: exit code %d\n%s", code, errs)
	}
	if code, errs = run("--max-output-tokens", "1", "Show me."); code != event.ErrLimit.Info().Exit || !strings.Contains(errs, "--max-output-tokens") {
		t.Errorf("output tokens: exit code %d\n%s", code, errs)
	}
}

// The operator's limits bound those of requests.
func TestServeKeepsRunsWithinTheOperatorsLimits(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	p.openRef = func(string) (braid.Model, error) {
		return demo.Answer("asked", func(*model.Request) demo.Rule { return demo.Rule{Reply: []demo.Piece{demo.Say("Yes.")}} }), nil
	}
	a, err := p.openAgents(t.Context(), &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "demo"}, AgentSettings: conf.AgentSettings{Tools: "none"}, Bounds: conf.Bounds{Budget: braid.Budget{Cycles: 1}},
	}}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	conv := braid.NewConversation()
	for i, want := range []error{nil, event.ErrLimit} {
		agent, err := a.Agent(t.Context(), service.AgentRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), fmt.Sprint("question ", i), braid.In(conv)); !errors.Is(err, want) {
			t.Errorf("run %d: %v", i+1, err)
		}
	}
}

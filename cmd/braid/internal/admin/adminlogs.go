package admin

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// logged returns the filter of a log.
func (a *admin) logged() (o client.LogOptions, err error) {
	f := a.in.Flags
	o = client.LogOptions{
		Conversation: f["conversation"], Run: f["run"], Executor: f["executor"], User: f["user"],
		Model: f["model"], Tool: f["tool"], Page: a.listed().Page,
	}
	for flag, into := range map[string]*time.Time{"from": &o.From, "to": &o.To} {
		text, given := f[flag]
		if !given {
			continue
		}
		if *into, err = moment(flag, text); err != nil {
			return o, err
		}
	}
	return o, nil
}

// moment reads the time of a flag.
func moment(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		return at, term.Invalid("write it as 2026-11-21 or 2026-11-21T07:00:00Z", "--%s: %q is not a time", flag, term.Fit(text, 40))
	}
	return at, nil
}

func (a *admin) listUsage(ctx context.Context, _ string) error {
	o, err := a.logged()
	if err != nil {
		return err
	}
	head := []string{"TIME", "CONVERSATION", "TURN", "USER", "AGENT", "KIND", "MODEL", "INPUT", "OUTPUT", "CACHED", "USD", "STATUS"}
	return showList(a, a.client.Usage(ctx, a.tenant, o), head, func(u *client.Usage) []string {
		who := "main"
		if u.SubagentType != "" {
			who = u.SubagentType
		}
		row := []string{when(u.Time), u.Conversation, strconv.Itoa(u.Turn), orDash(u.User), who, u.Kind, u.Model}
		return append(append(row, tokens(&u.Tokens)...), decimalCost(u.CostUSD), u.Status)
	})
}

// tokens returns three columns: input tokens, output tokens, and cached ones, read and written.
func tokens(t *client.Tokens) []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{n(t.Input), n(t.Output), n(t.CacheRead + t.CacheWrite)}
}

// decimalCost formats a cost; unknown is not zero.
func decimalCost(cost *string) string {
	if cost == nil {
		return "unknown"
	}
	return *cost
}

func (a *admin) sumUsage(ctx context.Context, _ string) error {
	o, err := a.logged()
	if err != nil {
		return err
	}
	by := a.in.Flags["by"]
	head := []string{strings.ToUpper(orDash(by)), "CALLS", "INPUT", "OUTPUT", "CACHED", "USD"}
	if by == "" {
		head[0] = "MODEL"
	}
	return showList(a, a.client.UsageSums(ctx, a.tenant, by, o), head, func(u *client.UsageSum) []string {
		return append(append([]string{orDash(u.Key), strconv.FormatInt(u.Calls, 10)}, tokens(&u.Tokens)...), decimalCost(u.CostUSD))
	})
}

func (a *admin) listTools(ctx context.Context, _ string) error {
	o, err := a.logged()
	if err != nil {
		return err
	}
	head := []string{"TIME", "CONVERSATION", "TURN", "TOOL", "STATUS", "INPUT", "OUTPUT"}
	return showList(a, a.client.Tools(ctx, a.tenant, o), head, func(t *client.ToolUse) []string {
		return []string{when(t.Began), t.Conversation, strconv.Itoa(t.Turn), t.Name, t.Status, string(t.Input), outputWords(t.Output)}
	})
}

// outputWords returns a tool's output on one line.
func outputWords(raw json.RawMessage) string {
	blocks, err := event.DecodeBlocks(raw)
	if err != nil || len(blocks) == 0 {
		return string(raw)
	}
	return printer.FirstWords(blocks)
}

func (a *admin) listMessages(ctx context.Context, id string) error {
	o, err := a.logged()
	if err != nil {
		return err
	}
	head := []string{"TIME", "TURN", "TYPE", "CONTENT"}
	return showList(a, a.client.Messages(ctx, a.tenant, id, o), head, func(m *client.LoggedMessage) []string {
		kind := m.Type
		if m.Subtype != "" {
			kind += "/" + m.Subtype
		}
		return []string{when(m.Time), strconv.Itoa(m.Turn), kind, string(m.Content)}
	})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agentcore"
)

func agentcoreCommand(p *process) conf.Command {
	return conf.Command{
		Name: "agentcore", Args: "invoke PROMPT|-  or  inspect FILE|-",
		Short: "ask an agent on Amazon Bedrock AgentCore, or look into a recorded stream",
		About: `invoke sends a prompt to an agent that speaks the protocol of AgentCore: one on this
machine (braid serve --agentcore, or a container), one at --url, or with --arn one in
AWS. It prints the answer as it arrives, with a card for each tool call. Then it
prints tokens, latency and the session on standard error. With --arn it signs the
request with your usual AWS credentials, unless there is a token.

inspect prints the stream of such an agent, item by item, and then a summary: the
text, each tool with its input, tokens and latency over all cycles, and errors in the
stream. FILE holds server-sent events, one JSON value per line, or a JSON array; "-"
is standard input. inspect reports and skips what it cannot read. It joins pieces of
text to one line, and cuts strings to 200 characters unless --raw is given.

--json writes the summary as one JSON object. With invoke, --raw writes the unchanged
bytes of the stream.`,
		Examples: []conf.Example{
			{Line: `braid agentcore invoke "What is 6 times 7?"`, Says: "ask the agent on this machine"},
			{Line: `braid agentcore invoke --arn "$RUNTIME_ARN" "…"`, Says: "ask one on AWS, signed with your keys there"},
			{Line: `braid agentcore invoke --raw "…" | tee talk.sse | braid agentcore inspect -`, Says: "keep the stream, and look into it"},
			{Line: "braid agentcore inspect response.json", Says: "a recording"},
			{Line: "braid agentcore inspect --json response.json | jq .tools", Says: "the summary for a program"},
		},
		Flags: append([]conf.Flag{
			{Name: "json", Help: "write only the summary, as one JSON object"},
			{Name: "raw", Help: "inspect: do not cut strings; invoke: write the stream as it comes"},
		}, invokeFlags()...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return agentcoreRun(ctx, p, in) },
	}
}

func agentcoreRun(ctx context.Context, p *process, in *conf.Invocation) error {
	const hint = "braid agentcore inspect FILE, or - for standard input"
	const both = "braid agentcore invoke PROMPT, or braid agentcore inspect FILE"
	if len(in.Args) == 0 {
		return term.Invalid(both, "braid agentcore needs an action")
	}
	if in.Args[0] == "invoke" {
		return p.invoke(ctx, in)
	}
	if in.Args[0] != "inspect" {
		hint := term.DidYouMean(in.Args[0], []string{"invoke", "inspect"}, "braid agentcore ", both)
		return term.Invalid(hint, "braid agentcore cannot %q", term.Fit(in.Args[0], 40))
	}
	for _, f := range invokeFlags() {
		if _, given := in.Flags[f.Name]; given {
			return term.Invalid(hint, "--%s is for braid agentcore invoke", f.Name)
		}
	}
	if len(in.Args) != 2 {
		return term.Invalid(hint, "braid agentcore inspect takes one file")
	}
	from := p.Stdin
	if name := in.Args[1]; name != "-" {
		f, err := os.Open(name)
		if err != nil {
			e := &event.Error{Kind: event.ErrNotFound, Message: "there is no such file", Hint: "check its name", Err: err}
			if !errors.Is(err, os.ErrNotExist) {
				e.Kind, e.Message, e.Hint = event.ErrPermission, "the file cannot be opened", "check who may read it"
			}
			return e
		}
		defer func() { _ = f.Close() }() // it was only read
		from = f
	}
	i := &inspection{out: term.NewOutput(p.Stdout), quiet: in.On("json"), whole: in.On("raw"), escape: term.IsTerminal(p.Stdout)}
	return i.run(agentcore.NewReader(from, 0))
}

// inspection prints a stream.
type inspection struct {
	out    *term.Output
	quiet  bool
	whole  bool
	escape bool
	sum    agentcore.Summary
	// text collects the pieces of one line, which began at the item first.
	text          strings.Builder
	kind          agentcore.Kind
	first, pieces int
}

// stringKept is the number of characters that are printed of a string.
const stringKept = 200

func (i *inspection) run(r *agentcore.Reader) error {
	for {
		it, err := r.Next()
		if err != nil {
			i.sum.End(r)
			i.endText()
			if !errors.Is(err, io.EOF) {
				_ = i.out.Flush() // the first error counts
				return &event.Error{
					Kind: event.ErrUnavailable, Message: "the stream cannot be read on", Hint: "check the file, or what writes it", Err: err,
				}
			}
			break
		}
		i.sum.Add(it)
		if i.quiet {
			continue
		}
		i.item(it)
		if err := i.out.Flush(); err != nil {
			return term.OutputError(err)
		}
	}
	if i.quiet {
		if err := i.json(); err != nil {
			return err
		}
	} else {
		i.summary()
	}
	return term.OutputError(i.out.Flush())
}

func (i *inspection) item(it *agentcore.Item) {
	piece := it.Kind == agentcore.KindText || it.Kind == agentcore.KindThinking || it.Kind == agentcore.KindToolInput
	if piece && it.Repeats {
		return
	}
	if !piece || it.Kind != i.kind {
		i.endText()
	}
	if piece {
		if i.pieces == 0 {
			i.first, i.kind = it.Number, it.Kind
		}
		i.pieces++
		i.text.Write(it.Text)
		return
	}
	i.line(it.Number, string(it.Kind), i.words(it))
}

func (i *inspection) endText() {
	if i.pieces == 0 {
		return
	}
	if !i.quiet {
		i.line(i.first, string(i.kind), fmt.Sprintf("pieces=%d %s", i.pieces, i.cut(i.text.String())))
	}
	i.text.Reset()
	i.pieces, i.kind = 0, ""
}

func (i *inspection) line(n int, kind, words string) {
	i.out.Buf = fmt.Appendf(i.out.Buf, "%6d  %s\n", n, strings.TrimSpace(fmt.Sprintf("%-17s %s", kind, words)))
}

// cut shortens a string and adds the number of omitted characters.
func (i *inspection) cut(s string) string {
	n := utf8.RuneCountInString(s)
	if i.whole || n <= stringKept {
		return term.CleanLine(s)
	}
	return term.CleanLine(string([]rune(s)[:stringKept])) + fmt.Sprintf("… (%d characters)", n)
}

// words describes an item.
func (i *inspection) words(it *agentcore.Item) string {
	var words []string
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+i.cut(value))
		}
	}
	add("role=", it.Role)
	add("stop=", it.Stop)
	if it.Kind == agentcore.KindMetadata {
		words = append(words, printer.UsageWords(it.Usage), "latency="+printer.Short(it.Latency))
	}
	if it.Delay > 0 {
		words = append(words, "delay="+printer.Short(it.Delay))
	}
	for _, u := range it.Tools {
		icon, title := u.Label()
		words = append(words, fmt.Sprintf("%s %s #%d", icon, i.cut(title), u.Index+1))
	}
	add("class=", it.ErrorType)
	add("", string(it.Text))
	switch it.Kind {
	case agentcore.KindRepr, agentcore.KindOther:
		add("", string(it.Raw))
	case agentcore.KindAnomaly:
		if len(it.Text) == 0 {
			add("", strings.ToValidUTF8(string(it.Raw), "\uFFFD"))
		}
	}
	if it.Anomaly != "" {
		words = append([]string{string(it.Anomaly)}, words...)
	}
	return strings.Join(words, " ")
}

func (i *inspection) summary() {
	s, out := &i.sum, i.out
	out.Buf = append(out.Buf, '\n')
	if text := s.Text(); text != "" {
		out.Buf = append(append(out.Buf, term.Clean(text)...), "\n\n"...)
	}
	for _, u := range s.Tools {
		icon, title := u.Label()
		out.Buf = fmt.Appendf(out.Buf, "%s %s  #%d name=%s id=%s\n", icon, term.CleanLine(title), u.Index+1,
			term.CleanLine(u.Name), term.CleanLine(u.ID))
		if len(u.Input) > 0 {
			out.Buf = fmt.Appendf(out.Buf, "   input   %s\n", i.cut(string(u.Input)))
		}
		if u.Result != nil {
			said := resultText(u.Result)
			word := "result"
			if u.Result.IsError {
				word = "error"
			}
			out.Buf = fmt.Appendf(out.Buf, "   %-7s %s\n", word, i.cut(said))
		}
	}
	stands := "complete"
	if !s.Complete {
		stands = "truncated"
	}
	out.Buf = fmt.Appendf(out.Buf, "[%s] stop=%s cycles=%d tools=%d %s latency=%s anomalies=%d\n",
		stands, term.CleanLine(s.Stop), s.Cycles, len(s.Tools), printer.UsageWords(s.Usage), printer.Short(s.Latency), len(s.Anomalies))
	if s.Error != "" {
		out.Buf = fmt.Appendf(out.Buf, "[error] %s %s\n", term.CleanLine(s.ErrorType), i.cut(s.Error))
	}
	for _, a := range s.Anomalies {
		words := fmt.Sprintf("[anomaly] item=%d %s %s", a.Number, a.Anomaly, term.CleanLine(a.Text))
		out.Buf = append(append(out.Buf, strings.TrimRight(words, " ")...), '\n')
	}
}

// resultText is the text of a result, or its JSON if it has no text.
func resultText(r *event.ToolResult) string {
	if text := event.TextOf(r.Content); text != "" {
		return text
	}
	return string(r.Structured)
}

// inspected is the summary as JSON.
type inspected struct {
	Text      string             `json:"text"`
	Tools     []inspectedTool    `json:"tools"`
	Cycles    int                `json:"cycles"`
	Usage     event.Usage        `json:"usage"`
	LatencyMS int64              `json:"latency_ms"`
	Stop      string             `json:"stop,omitempty"`
	Complete  bool               `json:"complete"`
	Error     string             `json:"error,omitempty"`
	ErrorType string             `json:"error_type,omitempty"`
	Items     int                `json:"items"`
	Anomalies []inspectedAnomaly `json:"anomalies"`
}

type inspectedTool struct {
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Title  string          `json:"title"`
	Icon   string          `json:"icon"`
	Input  json.RawMessage `json:"input,omitempty"`
	Result string          `json:"result,omitempty"`
	Failed bool            `json:"failed,omitempty"`
}

type inspectedAnomaly struct {
	Item    int               `json:"item"`
	Anomaly agentcore.Anomaly `json:"anomaly"`
	Text    string            `json:"text,omitempty"`
}

func (i *inspection) json() error {
	s := &i.sum
	v := inspected{
		Text: s.Text(), Tools: []inspectedTool{}, Cycles: s.Cycles, Usage: s.Usage, LatencyMS: s.Latency.Milliseconds(), Stop: s.Stop,
		Complete: s.Complete, Error: s.Error, ErrorType: s.ErrorType, Items: s.Items, Anomalies: []inspectedAnomaly{},
	}
	for _, u := range s.Tools {
		t := inspectedTool{ID: u.ID, Name: u.Name, Input: u.Input}
		t.Icon, t.Title = u.Label()
		if u.Result != nil {
			t.Result, t.Failed = resultText(u.Result), u.Result.IsError
		}
		v.Tools = append(v.Tools, t)
	}
	for _, a := range s.Anomalies {
		v.Anomalies = append(v.Anomalies, inspectedAnomaly{a.Number, a.Anomaly, a.Text})
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if i.escape {
		line = term.CleanJSON(nil, line)
	}
	i.out.Buf = append(append(i.out.Buf, line...), '\n')
	return nil
}

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

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agentcore"
)

func agentcoreCommand(p *process) command {
	return command{
		name: "agentcore", args: "invoke PROMPT|-  or  inspect FILE|-",
		short: "ask an agent on Amazon Bedrock AgentCore, or look into a recorded stream",
		about: `invoke asks an agent that speaks as those in an AgentCore runtime do: one on this
machine (braid serve --agentcore, or a container), one at --url, or with --arn one
behind the platform's door. The answer is shown as it comes, with a card for each
tool call; then, on standard error, tokens, latency and the session. With --arn
the request is signed with your AWS keys, found as AWS's own tools find them,
unless there is a token.

inspect shows what such an agent has streamed, item by item, and then what it comes
to: the text, each tool once with its input, tokens and latency over all cycles, and
what is wrong with the stream. FILE holds server-sent events, one JSON value on a
line, or a JSON array; "-" is standard input. What cannot be read is told of and
passed over. Pieces of text that follow each other are one line, and strings are cut
to 200 characters unless --raw is given.

--json writes what a stream comes to as one JSON object. With invoke, --raw writes
the stream's bytes as they come.`,
		examples: []example{
			{`braid agentcore invoke "What is 6 times 7?"`, "ask the agent on this machine"},
			{`braid agentcore invoke --arn "$RUNTIME_ARN" "…"`, "ask one on AWS, signed with your keys there"},
			{`braid agentcore invoke --raw "…" | tee talk.sse | braid agentcore inspect -`, "keep the stream, and look into it"},
			{"braid agentcore inspect response.json", "a recording"},
			{"braid agentcore inspect --json response.json | jq .tools", "the summary for a program"},
		},
		flags: append([]flagSpec{
			{name: "json", help: "write only the summary, as one JSON object"},
			{name: "raw", help: "inspect: do not cut strings; invoke: write the stream as it comes"},
		}, invokeFlags()...),
		run: func(ctx context.Context, in *invocation) error { return agentcoreRun(ctx, p, in) },
	}
}

func agentcoreRun(ctx context.Context, p *process, in *invocation) error {
	const hint = "braid agentcore inspect FILE, or - for standard input"
	const both = "braid agentcore invoke PROMPT, or braid agentcore inspect FILE"
	if len(in.args) == 0 {
		return invalid(both, "braid agentcore needs to be told what to do")
	}
	if in.args[0] == "invoke" {
		return p.invoke(ctx, in)
	}
	if in.args[0] != "inspect" {
		hint := didYouMean(in.args[0], []string{"invoke", "inspect"}, "braid agentcore ", both)
		return invalid(hint, "braid agentcore cannot %q", fit(in.args[0], 40))
	}
	for _, f := range invokeFlags() {
		if _, given := in.flags[f.name]; given {
			return invalid(hint, "--%s is for braid agentcore invoke", f.name)
		}
	}
	if len(in.args) != 2 {
		return invalid(hint, "braid agentcore inspect takes one file")
	}
	from := p.stdin
	if name := in.args[1]; name != "-" {
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
	i := &inspection{out: newOutput(p.stdout), quiet: in.on("json"), whole: in.on("raw"), escape: isTerminal(p.stdout)}
	return i.run(agentcore.NewReader(from, 0))
}

// inspection shows a stream.
type inspection struct {
	out    *output
	quiet  bool
	whole  bool
	escape bool
	sum    agentcore.Summary
	// text are the pieces that will be one line, which began at the item first.
	text          strings.Builder
	kind          agentcore.Kind
	first, pieces int
}

// stringKept is how much of a string is shown, in characters.
const stringKept = 200

func (i *inspection) run(r *agentcore.Reader) error {
	for {
		it, err := r.Next()
		if err != nil {
			i.sum.End(r)
			i.endText()
			if !errors.Is(err, io.EOF) {
				_ = i.out.flush() // the other error is the one to tell
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
		if err := i.out.flush(); err != nil {
			return outputError(err)
		}
	}
	if i.quiet {
		if err := i.json(); err != nil {
			return err
		}
	} else {
		i.summary()
	}
	return outputError(i.out.flush())
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
	i.out.buf = fmt.Appendf(i.out.buf, "%6d  %s\n", n, strings.TrimSpace(fmt.Sprintf("%-17s %s", kind, words)))
}

// cut keeps the beginning of a string, and says how much more there is.
func (i *inspection) cut(s string) string {
	n := utf8.RuneCountInString(s)
	if i.whole || n <= stringKept {
		return cleanLine(s)
	}
	return cleanLine(string([]rune(s)[:stringKept])) + fmt.Sprintf("… (%d characters)", n)
}

// words are what an item says.
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
		words = append(words, usageWords(it.Usage), "latency="+short(it.Latency))
	}
	if it.Delay > 0 {
		words = append(words, "delay="+short(it.Delay))
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
	out.buf = append(out.buf, '\n')
	if text := s.Text(); text != "" {
		out.buf = append(append(out.buf, clean(text)...), "\n\n"...)
	}
	for _, u := range s.Tools {
		icon, title := u.Label()
		out.buf = fmt.Appendf(out.buf, "%s %s  #%d name=%s id=%s\n", icon, cleanLine(title), u.Index+1, cleanLine(u.Name), cleanLine(u.ID))
		if len(u.Input) > 0 {
			out.buf = fmt.Appendf(out.buf, "   input   %s\n", i.cut(string(u.Input)))
		}
		if u.Result != nil {
			said := saidBy(u.Result)
			word := "result"
			if u.Result.IsError {
				word = "error"
			}
			out.buf = fmt.Appendf(out.buf, "   %-7s %s\n", word, i.cut(said))
		}
	}
	stands := "complete"
	if !s.Complete {
		stands = "truncated"
	}
	out.buf = fmt.Appendf(out.buf, "[%s] stop=%s cycles=%d tools=%d %s latency=%s anomalies=%d\n",
		stands, cleanLine(s.Stop), s.Cycles, len(s.Tools), usageWords(s.Usage), short(s.Latency), len(s.Anomalies))
	if s.Error != "" {
		out.buf = fmt.Appendf(out.buf, "[error] %s %s\n", cleanLine(s.ErrorType), i.cut(s.Error))
	}
	for _, a := range s.Anomalies {
		words := fmt.Sprintf("[anomaly] item=%d %s %s", a.Number, a.Anomaly, cleanLine(a.Text))
		out.buf = append(append(out.buf, strings.TrimRight(words, " ")...), '\n')
	}
}

// saidBy is the text of a result, or its JSON where it has no text.
func saidBy(r *event.ToolResult) string {
	if text := event.TextOf(r.Content); text != "" {
		return text
	}
	return string(r.Structured)
}

// The summary as JSON.
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
			t.Result, t.Failed = saidBy(u.Result), u.Result.IsError
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
		line = cleanJSON(nil, line)
	}
	i.out.buf = append(append(i.out.buf, line...), '\n')
	return nil
}

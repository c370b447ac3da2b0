package event_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// Seed 2: what the Strands loop holds in its hands. The article prints Python
// values; pythonJSON makes JSON of them, which these have an equal for.

func pythonJSON(literal string) string {
	return strings.NewReplacer("'", `"`, "(", "[", ")", "]").Replace(literal)
}

// The answers of seed 2, 「LLMに問い合わせると、例えば、下記のような応答が返ってきます。」.
const (
	seed2ToolUse = `{'stop': ('tool_use', {'role': 'assistant', 'content': [{'text': '3と5を足し算します。'}, {'toolUse': {'toolUseId': 'tooluse_xxxxxx', 'name': 'add', 'input': {'a': 3, 'b': 5}}}]}, {'inputTokens': 680, 'outputTokens': 79, 'totalTokens': 759}, {'latencyMs': 1299, 'timeToFirstByteMs': 969})}`
	seed2EndTurn = `{'stop': ('end_turn', {'role': 'assistant', 'content': [{'text': '3と5を足した結果は8です。'}]}, {'inputTokens': 772, 'outputTokens': 15, 'totalTokens': 787}, {'latencyMs': 814, 'timeToFirstByteMs': 708})}`
	// The prompt of 「agent()の呼び出し」 and the message that the tool phase
	// makes (「ツール実行後の再帰処理」) with what add(3, 5) returns.
	seed2Prompt  = `{'role': 'user', 'content': [{'text': '3と5を足して'}]}`
	seed2Results = `{'role': 'user', 'content': [{'toolResult': {'toolUseId': 'tooluse_xxxxxx', 'status': 'success', 'content': [{'text': '8'}]}}]}`
)

// readStrands reads stop tuples and messages in the order of the loop.
func readStrands(frames []string) ([]event.Event, error) {
	var events []event.Event
	names := map[string]string{}
	cycle := 0
	for _, f := range frames {
		var tuple struct {
			Stop []json.RawMessage `json:"stop"`
		}
		if err := json.Unmarshal([]byte(pythonJSON(f)), &tuple); err != nil {
			return nil, err
		}
		var m strandsMessage
		if tuple.Stop == nil {
			if err := json.Unmarshal([]byte(pythonJSON(f)), &m); err != nil {
				return nil, err
			}
			read, err := strandsUserMessage(m, names, cycle)
			if err != nil {
				return nil, err
			}
			events = append(events, read...)
			continue
		}
		var stop string
		var usage strandsUsage
		var metrics strandsMetrics
		if len(tuple.Stop) != 4 {
			return nil, fmt.Errorf("a stop tuple of %d", len(tuple.Stop))
		}
		for i, into := range []any{&stop, &m, &usage, &metrics} {
			if err := json.Unmarshal(tuple.Stop[i], into); err != nil {
				return nil, err
			}
		}
		blocks, err := blocksOfStrands(m.Content)
		if err != nil {
			return nil, err
		}
		for _, c := range event.CallsOf(blocks) {
			names[c.ID] = c.Name
		}
		cycle++
		events = append(events, event.Event{Header: modelHeader(cycle), Body: &event.AssistantMessage{
			Content: blocks, Stop: oursOf(strandsStops, stop), Usage: usage.ours(),
			Latency: milliseconds(metrics.Latency), TimeToFirstByte: milliseconds(metrics.FirstByte),
		}})
	}
	return events, nil
}

func strandsUserMessage(m strandsMessage, names map[string]string, cycle int) ([]event.Event, error) {
	blocks, err := blocksOfStrands(m.Content)
	if err != nil {
		return nil, err
	}
	var events []event.Event
	var said []event.Block
	for _, b := range blocks {
		r, ok := b.(*event.ToolResult)
		if !ok {
			said = append(said, b)
			continue
		}
		r.Name = names[r.Call]
		events = append(events, event.Event{Header: toolHeader(cycle, r.Call), Body: &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone, Result: r,
		}})
	}
	if len(said) > 0 {
		events = append(events, event.Event{
			Header: event.Header{Run: seedRun, Author: event.UserAuthor}, Body: &event.UserMessage{Content: said},
		})
	}
	return events, nil
}

// writeStrands writes them back; the results of one answer are one message.
func writeStrands(events []event.Event) ([]string, error) {
	var frames []string
	var results []event.Block
	flush := func() error {
		if results == nil {
			return nil
		}
		content, err := strandsContentOf(results)
		frames = append(frames, asFrame(strandsMessage{"user", content}))
		results = nil
		return err
	}
	for i := range events {
		switch b := events[i].Body.(type) {
		case *event.StepEnded:
			results = append(results, b.Result)
		case *event.UserMessage:
			content, err := strandsContentOf(b.Content)
			if err != nil {
				return nil, err
			}
			frames = append(frames, asFrame(strandsMessage{"user", content}))
		case *event.AssistantMessage:
			if err := flush(); err != nil {
				return nil, err
			}
			content, err := strandsContentOf(b.Content)
			if err != nil {
				return nil, err
			}
			frames = append(frames, asFrame(map[string]any{"stop": []any{
				theirsOf(strandsStops, b.Stop),
				strandsMessage{"assistant", content},
				strandsUsageOf(b.Usage), strandsMetricsOf(b),
			}}))
		}
	}
	return frames, flush()
}

var strandsForm = foreignForm{
	read:  readStrands,
	write: writeStrands,
	plain: func(f string) (any, error) { return plainJSON(pythonJSON(f)) },
}

func seed2Answers() (calls, says8 event.Event) {
	calls = event.Event{Header: modelHeader(1), Body: &event.AssistantMessage{
		Content: []event.Block{
			&event.Text{Text: "3と5を足し算します。"},
			&event.ToolCall{ID: "tooluse_xxxxxx", Name: "add", Args: json.RawMessage(`{"a":3,"b":5}`)},
		},
		Stop: event.StopToolUse, Usage: event.Usage{Input: 680, Output: 79, Total: 759},
		Latency: 1299 * time.Millisecond, TimeToFirstByte: 969 * time.Millisecond,
	}}
	says8 = event.Event{Header: modelHeader(2), Body: &event.AssistantMessage{
		Content: says("3と5を足した結果は8です。"),
		Stop:    event.StopEndTurn, Usage: event.Usage{Input: 772, Output: 15, Total: 787},
		Latency: 814 * time.Millisecond, TimeToFirstByte: 708 * time.Millisecond,
	}}
	return calls, says8
}

func strandsRows() []vocabularyRow {
	calls, says8 := seed2Answers()
	alone := says8
	alone.Header = modelHeader(1)
	prompt := event.Event{
		Header: event.Header{Run: seedRun, Author: event.UserAuthor},
		Body:   &event.UserMessage{Content: says("3と5を足して")},
	}
	result := event.Event{Header: toolHeader(1, "tooluse_xxxxxx"), Body: &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone,
		Result: &event.ToolResult{Call: "tooluse_xxxxxx", Name: "add", Content: says("8")},
	}}
	return []vocabularyRow{
		{
			seed: "2", heading: "agent()の呼び出し", what: "the prompt",
			in: []string{seed2Prompt}, want: []event.Event{prompt},
		},
		{
			seed: "2", heading: "LLMを呼び出すかどうかの判断", what: "stop tuple tool_use (680/79/759, 1299/969 ms)",
			in: []string{seed2ToolUse}, want: []event.Event{calls},
		},
		{
			seed: "2", heading: "LLMを呼び出すかどうかの判断", what: "stop tuple end_turn (772/15/787, 814/708 ms)",
			in: []string{seed2EndTurn}, want: []event.Event{alone},
		},
		{
			seed: "2", heading: "ツール実行後の再帰処理", what: "tool results as one user message",
			in: []string{seed2ToolUse, seed2Results}, want: []event.Event{calls, result},
		},
		{
			seed: "2", heading: "Agentループ処理", what: "the whole conversation",
			in:   []string{seed2Prompt, seed2ToolUse, seed2Results, seed2EndTurn},
			want: []event.Event{prompt, calls, result, says8},
		},
	}
}

func TestVocabularyStrands(t *testing.T) {
	t.Parallel()
	proveRows(t, strandsForm, strandsRows())
}

// The table of seed 2, 「stopの値 アクション」: our closed list has the loop's
// reason after each value, and anything else than tool_use ends the turn.
func TestVocabularyStrandsStopDecides(t *testing.T) {
	t.Parallel()
	for stop, why := range map[string]event.Why{
		"tool_use":      event.WhyToolResults, // ツールを実行する
		"end_turn":      event.WhyEndTurn,     // 処理終了、結果を返す
		"max_tokens":    event.WhyMaxTokens,   // 例外を投げて終了する
		"something_new": event.WhyModelStop,   // tool_use以外を返すまで繰り返される
	} {
		if got := whyOf(strandsStops, stop); got != why {
			t.Errorf("after %q the loop's reason is %q, want %q", stop, got, why)
		}
	}
}

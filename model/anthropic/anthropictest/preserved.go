package anthropictest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/vendortest"
)

// Part is a part of an answer that [StartPreserved] makes: thinking, a text, a tool call, or a block of the vendor's
// own.
type Part struct {
	// Thinks marks the part as thinking, which may have no text.
	Thinks bool
	Text   string
	// Cites is a citation of the text, in wire form.
	Cites string
	// Tool is the tool that is called, and Args its arguments.
	Tool, Args string
	// Raw is a block of the vendor's own, in wire form.
	Raw string
	// Pause stops the answer after the part; the next request continues it.
	Pause bool
}

// Told describes a request to [StartPreserved].
type Told struct {
	Model, System string
	// Tools are the names of the offered tools.
	Tools []string
	// Messages counts the messages. Last is the text of the last one, and Results counts the tool results in it.
	Messages, Results int
	Last              string
	// Held reports that the answer must follow a schema.
	Held bool
	// Changes counts the messages with the role system.
	Changes int
}

// Offers reports whether a tool is offered.
func (t *Told) Offers(tool string) bool {
	return slices.Contains(t.Tools, tool)
}

// StartPreserved starts a server that binds each thinking block to everything before it, as the vendor does from
// Claude 5.5, Fable 5.1 and Mythos 5.1 on (build-with-claude/preserved-thinking, …/prefix-checks and
// …/fix-bound-to-a-different-conversation). It answers each request with the result of say. It refuses a request
//
//   - with a thinking block, if the instructions, the tools or anything else before the block have changed since it
//     was made, except cache points and thinking;
//   - with a thinking block after another one than when it was made: the oldest may be left out, but none between two
//     others;
//   - with a thinking block that another account's server made (Sonnet 5.5, Haiku 5.5);
//   - with a model's message that ends with thinking;
//   - that makes the model call a tool.
//
// It ignores thinking of another model, as the vendor does.
func StartPreserved(say func(*Told) []Part) *Server {
	s := &Server{said: map[string]string{}}
	p := &preserved{server: s, say: say}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "text/event-stream; charset=utf-8", ID: "Request-Id", Largest: largest, Learn: s.learn, Answer: p.answer,
		Check: func(r *http.Request, body []byte) *vendortest.Refusal {
			if no := s.refuse(r, body); no != nil {
				return no
			}
			if problem := p.check(body); problem != "" {
				return &vendortest.Refusal{Why: problem, Answer: Error(http.StatusBadRequest, "invalid_request_error", problem)}
			}
			return nil
		},
	})
	return s
}

// StartPreservedBedrock starts the same server as Amazon Bedrock with Claude
// (userguide/claude-messages-thinking-block-binding).
func StartPreservedBedrock(say func(*Told) []Part) *Server {
	s := &Server{said: map[string]string{}, bedrock: true}
	p := &preserved{server: s, say: say}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "application/vnd.amazon.eventstream", ID: "X-Amzn-RequestId", Largest: largestBedrock, Learn: s.learn, Answer: p.answer,
		Check: func(r *http.Request, body []byte) *vendortest.Refusal {
			if no := s.deny(r, body); no != nil {
				return no
			}
			if problem := p.check(body); problem != "" {
				return &vendortest.Refusal{Why: problem, Answer: BedrockError(http.StatusBadRequest, "ValidationException", problem)}
			}
			return nil
		},
	})
	return s
}

type preserved struct {
	server *Server
	say    func(*Told) []Part
}

// seal is the content of a signature. Only the server reads it.
type seal struct {
	Model string `json:"m"`
	// Prefix is the hash of everything before the block, Before that of the thinking before it.
	Prefix string `json:"p"`
	Before string `json:"b"`
	Text   string `json:"t"`
}

func (s seal) String() string {
	raw, _ := json.Marshal(s) //nolint:errchkjson // strings only
	return base64.StdEncoding.EncodeToString(raw)
}

func unseal(signature string) (s seal, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(signature)
	return s, err == nil && json.Unmarshal(raw, &s) == nil
}

type preservedBody struct {
	Model      string            `json:"model"`
	System     []preservedBlock  `json:"system"`
	Tools      []json.RawMessage `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Output struct {
		Format any `json:"format"`
	} `json:"output_config"`
	Messages []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

type preservedBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

// prefix is the hash of everything before a position in a request.
type prefix struct{ sum string }

func (p *prefix) add(v any) {
	raw, _ := json.Marshal(v) //nolint:errchkjson // v was parsed from JSON
	h := sha256.Sum256(append([]byte(p.sum), raw...))
	p.sum = hex.EncodeToString(h[:12])
}

// plain returns JSON without cache points, which the vendor does not compare.
func plain(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	if o, ok := v.(map[string]any); ok {
		delete(o, "cache_control")
		if list, ok := o["content"].([]any); ok {
			for _, c := range list {
				if inner, ok := c.(map[string]any); ok {
					delete(inner, "cache_control")
				}
			}
		}
	}
	return v
}

// headOf returns the hash of everything before the messages.
func headOf(o *preservedBody) (at prefix) {
	for _, b := range o.System {
		at.add(b.Text)
	}
	for _, raw := range o.Tools {
		at.add(plain(raw))
	}
	return at
}

// read calls show for each thinking block of a request, with the hash of everything before it. It calls forget where
// everything before is ignored.
func (p *preserved) read(body []byte, show func(message, block int, b *preservedBlock, at prefix), forget func()) (*preservedBody, prefix) {
	var o preservedBody
	if json.Unmarshal(body, &o) != nil {
		return &o, prefix{}
	}
	head := headOf(&o)
	at := head
	for i, m := range o.Messages {
		at.add(m.Role)
		for j, raw := range m.Content {
			var b preservedBlock
			_ = json.Unmarshal(raw, &b)
			if b.Type == "compaction" {
				// Everything before it is ignored
				// (build-with-claude/compaction-threshold#passing-compaction-blocks-back).
				at = head
				at.add("assistant")
				forget()
			}
			if b.Type == "thinking" || b.Type == "redacted_thinking" {
				show(i, j, &b, at)
				continue
			}
			at.add(plain(raw))
		}
	}
	return &o, at
}

const boundElsewhere = "messages.%d.content.%d: Invalid `signature` in `%s` block. The block is bound to a different conversation. " +
	"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the " +
	"`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. %s"

// check returns the vendor's reason to refuse an otherwise valid request.
func (p *preserved) check(body []byte) (problem string) {
	last, ends := "", -1
	fail := func(format string, args ...any) {
		if problem == "" {
			problem = fmt.Sprintf(format, args...)
		}
	}
	var asked preservedBody
	_ = json.Unmarshal(body, &asked)
	o, _ := p.read(body, func(i, j int, b *preservedBlock, at prefix) {
		sealed := b.Signature + b.Data
		s, ok := unseal(sealed)
		switch {
		case !ok:
			fail("messages.%d.content.%d: Invalid `signature` in `%s` block", i, j, b.Type)
		case s.Model != asked.Model:
			return // the seal cannot be read, and is ignored
		case s.Prefix != at.sum:
			fail(boundElsewhere, i, j, b.Type, "What stands before the block differs from when it was created.")
		case last != "" && s.Before != brief(last):
			fail(boundElsewhere, i, j, b.Type, "The `thinking` block that preceded this one when it was created is missing from this request.")
		}
		last = sealed
		if j == len(asked.Messages[i].Content)-1 {
			ends = i
		}
	}, func() { problem, last, ends = "", "", -1 })
	if ends >= 0 {
		fail("messages.%d: The final block in an assistant message cannot be `thinking`.", ends)
	}
	if o.ToolChoice.Type == "any" || o.ToolChoice.Type == "tool" {
		fail("tool_choice: type \"tool\" and \"any\" are not supported for this model.")
	}
	return problem
}

// brief returns a short form of a signature, for another signature.
func brief(signature string) string {
	if signature == "" {
		return ""
	}
	h := sha256.Sum256([]byte(signature))
	return hex.EncodeToString(h[:8])
}

// read sets the fields that describe the messages and the tools.
func (t *Told) read(o *preservedBody) {
	name := func(raw []byte) string {
		var tool struct {
			Name       string          `json:"name"`
			Server     string          `json:"mcp_server_name"`
			Definition json.RawMessage `json:"definition"`
		}
		_ = json.Unmarshal(raw, &tool)
		if tool.Definition != nil {
			_ = json.Unmarshal(tool.Definition, &tool)
		}
		return tool.Name + tool.Server
	}
	for _, raw := range o.Tools {
		t.Tools = append(t.Tools, name(raw))
	}
	for _, m := range o.Messages {
		if m.Role != "system" {
			t.Last, t.Results = "", 0
		} else {
			t.Changes++
		}
		for _, raw := range m.Content {
			var b struct {
				preservedBlock

				Tool json.RawMessage `json:"tool"`
			}
			_ = json.Unmarshal(raw, &b)
			switch {
			case b.Type == "tool_removal":
				t.Tools = slices.DeleteFunc(t.Tools, func(has string) bool { return has == name(b.Tool) })
			case b.Type == "tool_addition" && !slices.Contains(t.Tools, name(b.Tool)):
				t.Tools = append(t.Tools, name(b.Tool))
			case m.Role == "system":
				t.System = b.Text
			case b.Type == "tool_result":
				t.Results++
			default:
				t.Last += b.Text
			}
		}
	}
}

var spaces = regexp.MustCompile(`\s+`)

// answer makes the answer to a request.
func (p *preserved) answer(_ *http.Request, body []byte) Answer {
	last := ""
	var asked preservedBody
	_ = json.Unmarshal(body, &asked)
	o, at := p.read(body, func(_, _ int, b *preservedBlock, _ prefix) {
		if s, ok := unseal(b.Signature + b.Data); ok && s.Model == asked.Model {
			last = b.Signature + b.Data
		}
	}, func() { last = "" })
	told := &Told{Model: o.Model, Messages: len(o.Messages), Held: o.Output.Format != nil}
	for _, b := range o.System {
		told.System += b.Text
	}
	told.read(o)
	var chunks []model.Chunk
	stop := "end_turn"
	if o.Messages[len(o.Messages)-1].Role != "assistant" { // otherwise the answer continues the last message
		at.add("assistant")
	}
	for i, part := range p.say(told) {
		switch {
		case part.Thinks:
			signature := seal{Model: o.Model, Prefix: at.sum, Before: brief(last), Text: part.Text}.String()
			p.server.Trust(signature, part.Text)
			last = signature
			if part.Text != "" {
				chunks = append(chunks, model.Chunk{Kind: model.ChunkThinking, Index: i, Text: part.Text})
			}
			chunks = append(chunks, model.Chunk{Kind: model.ChunkSignature, Index: i, Text: signature})
		case part.Raw != "":
			if strings.Contains(part.Raw, `"type":"compaction"`) {
				at, last = headOf(o), ""
				at.add("assistant")
			}
			at.add(plain(json.RawMessage(part.Raw)))
			chunks = append(chunks, model.Chunk{Kind: model.ChunkBlock, Index: i, Block: &event.UnknownBlock{Raw: json.RawMessage(part.Raw)}})
			if part.Pause {
				stop = "pause_turn"
			}
		case part.Tool != "":
			stop = "tool_use"
			args := part.Args
			if args == "" {
				args = "{}"
			}
			// Ids are unique in the conversation.
			id := fmt.Sprintf("toolu_%s_%d", at.sum, i)
			at.add(map[string]any{"type": "tool_use", "id": id, "name": part.Tool, "input": json.RawMessage(args)})
			chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i, ID: id, Text: part.Tool},
				model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: args})
		default:
			said := map[string]any{"type": "text", "text": part.Text}
			if part.Cites != "" {
				said["citations"] = []any{plain(json.RawMessage(part.Cites))}
				chunks = append(chunks, model.Chunk{Kind: model.ChunkBlock, Index: i, Text: part.Cites})
			}
			at.add(said)
			// The vendor streams pieces of any size.
			text := part.Text
			for _, cut := range spaces.FindAllStringIndex(text, 3) {
				from := len(part.Text) - len(text)
				if cut[0] > from {
					chunks = append(chunks, model.Chunk{Kind: model.ChunkText, Index: i, Text: part.Text[from:cut[0]]})
					text = part.Text[cut[0]:]
				}
			}
			chunks = append(chunks, model.Chunk{Kind: model.ChunkText, Index: i, Text: text})
		}
	}
	u := event.Usage{Input: int64(len(body) / 4), Output: int64(8 * len(chunks))}
	if p.server.bedrock {
		return BedrockStream(chunks, stop, u)
	}
	return Stream(chunks, stop, u)
}

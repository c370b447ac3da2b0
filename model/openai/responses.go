package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// responsesDecoder turns the events of Responses into chunks
// (api-reference/responses-streaming). It skips events of unknown types and keeps items of
// unknown types as they are, because the API may add types at any time.
type responsesDecoder struct {
	to sender

	r     strictjson.Reader
	begun bool
	parts []part
	calls bool
	// refused is set by a refusal, which is part of an answer's content.
	refused bool
	// runsCustom is set if the server runs custom tools itself, as xAI does (vercel/ai,
	// xai-x-search-tool). Calls of them are not calls of the agent's tools.
	runsCustom bool
	// webs and files count the server's web and file searches.
	webs, files int64
}

// part is the part of an item that becomes a block. Its position in parts is the block's index.
type part struct {
	// item is the index of the item, content that of the part in a message; it is -1 if the
	// item is a single block.
	item, content int
	came          bool
	// sum and size are a checksum and the length of the text received.
	sum  uint64
	size int
}

// hash continues an FNV-1a hash from sum; 0 starts a new one.
func hash(sum uint64, text string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	if sum == 0 {
		sum = offset
	}
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * prime
	}
	return sum
}

// single is the content index of an item that is a single block.
const single = -1

func (d *responsesDecoder) sender() *sender { return &d.to }

// at returns the index of a block, and adds the block if it is new.
func (d *responsesDecoder) at(item, content int) int {
	for i := len(d.parts) - 1; i >= 0; i-- {
		if d.parts[i].item == item && d.parts[i].content == content {
			return i
		}
	}
	d.parts = append(d.parts, part{item: item, content: content})
	return len(d.parts) - 1
}

// came reports whether content of a block was received.
func (d *responsesDecoder) came(item, content int) bool {
	for i := range d.parts {
		if d.parts[i].item == item && d.parts[i].content == content {
			return d.parts[i].came
		}
	}
	return false
}

// event decodes one event.
func (d *responsesDecoder) event(data []byte) error {
	if d.delta(data) {
		return nil
	}
	return d.whole(data)
}

// delta is the fast path for the most frequent events. It reports false, without side effects,
// for every other event and for anything unexpected.
func (d *responsesDecoder) delta(data []byte) bool {
	const nested = 16
	r := &d.r
	r.Reset(data, nested)
	var kind model.ChunkKind
	item, content := -1, 0
	var text []byte
	has := false
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "type":
			if kind = pieceOf(r.Bytes()); kind == 0 {
				return false
			}
		case "output_index":
			item = r.Int()
		case "content_index":
			content = r.Int()
		case "delta":
			if r.Peek() != '"' {
				return false
			}
			text, has = r.Bytes(), true
		default:
			r.Skip()
		}
	}
	if r.End() != nil || kind == 0 || item < 0 || content < 0 || !has {
		return false
	}
	d.piece(kind, item, content, string(text))
	return true
}

// pieceOf returns the kind of chunk for an event type with deltas; 0 for other types.
func pieceOf(kind []byte) model.ChunkKind {
	switch string(kind) {
	case "response.output_text.delta":
		return model.ChunkText
	case "response.function_call_arguments.delta":
		return model.ChunkCallInput
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return model.ChunkThinking
	default:
		return 0
	}
}

// piece yields a delta of a block.
func (d *responsesDecoder) piece(kind model.ChunkKind, item, content int, text string) {
	if text == "" {
		return
	}
	if kind != model.ChunkText {
		content = single
	}
	i := d.at(item, content)
	p := &d.parts[i]
	p.came, p.sum, p.size = true, hash(p.sum, text), p.size+len(text)
	d.to.send(model.Chunk{Kind: kind, Index: i, Text: text})
}

// responsesEvent is any event.
type responsesEvent struct {
	Type     string          `json:"type"`
	Item     json.RawMessage `json:"item"`
	Output   int             `json:"output_index"`
	Content  int             `json:"content_index"`
	Summary  int             `json:"summary_index"`
	Delta    json.RawMessage `json:"delta"`
	Note     *annotation     `json:"annotation"`
	Number   int             `json:"annotation_index"`
	Response *response       `json:"response"`
}

type response struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *responsesUsage `json:"usage"`
	// Output is the complete answer, which a stream sends earlier in pieces.
	Output []json.RawMessage `json:"output"`
}

type annotation struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
}

// item is an item of an answer.
type item struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Call string `json:"call_id"`
	Name string `json:"name"`
	// Arguments is a string, or an object in calls of server-side tools and with some servers.
	Arguments json.RawMessage `json:"arguments"`
	Sealed    string          `json:"encrypted_content"`
	Phase     string          `json:"phase"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Content []struct {
		Type    string       `json:"type"`
		Text    string       `json:"text"`
		Refusal string       `json:"refusal"`
		Notes   []annotation `json:"annotations"`
	} `json:"content"`
}

// all decodes an answer without streaming (api-reference/responses/object).
func (d *responsesDecoder) all(data []byte) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	d.begin(&r)
	switch r.Status {
	case "failed", "cancelled":
		return d.failed(&r)
	case "incomplete":
		return d.end(&responsesEvent{Type: "response.incomplete", Response: &r})
	case "queued", "in_progress":
		return &apiError{kind: "server_error", message: "the server answers later (" + r.Status + ")"}
	default:
		return d.end(&responsesEvent{Type: "response.completed", Response: &r})
	}
}

// failed returns the error of a failed answer.
func (d *responsesDecoder) failed(r *response) error {
	d.used(r)
	e := errorOf([]byte(`{"error":` + string(r.Error) + `}`))
	if e.word() == "" && e.message == "" {
		e.kind, e.message = "server_error", strings.TrimSpace("the answer "+r.Status)
	}
	return e
}

// whole decodes an event of any kind.
func (d *responsesDecoder) whole(data []byte) error {
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if string(data) == string(doneMark) {
			return nil // from a gateway that ends both APIs with [DONE]
		}
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		d.begin(e.Response)
	case "response.output_item.added":
		return d.added(&e)
	case "response.output_item.done":
		return d.finished(&e)
	case "response.reasoning_summary_part.added":
		if e.Summary > 0 && d.came(e.Output, single) {
			d.piece(model.ChunkThinking, e.Output, single, "\n\n")
		}
	case "response.refusal.delta":
		d.refused = true
		d.piece(model.ChunkText, e.Output, e.Content, argumentText(e.Delta))
	case "response.output_text.annotation.added":
		if e.Note != nil {
			d.note(e.Output, e.Content, e.Number, e.Note)
		}
	case "response.completed", "response.incomplete":
		return d.end(&e)
	case "response.failed":
		if e.Response == nil {
			return errUnreadable
		}
		return d.failed(e.Response)
	case "error":
		return errorOf(data)
	default:
		if kind := pieceOf([]byte(e.Type)); kind != 0 && e.Output >= 0 && e.Content >= 0 {
			d.piece(kind, e.Output, e.Content, argumentText(e.Delta))
		}
	}
	return nil
}

// note yields a citation in a text of an item.
func (d *responsesDecoder) note(output, content, number int, n *annotation) {
	const most = 1 << 10
	if n.Type != "url_citation" || number < 0 || number >= most || content < 0 || content >= most {
		return
	}
	d.to.send(model.Chunk{
		Kind: model.ChunkBlock, Index: d.at(output, firstNote+content*most+number),
		Block: &event.Citation{Title: n.Title, URL: n.URL, Start: n.Start, End: n.End},
	})
}

// noted reports whether citations of an item were yielded.
func (d *responsesDecoder) noted(output int) bool {
	return slices.ContainsFunc(d.parts, func(p part) bool { return p.item == output && p.content >= firstNote })
}

// firstNote is above the index of any part of a message. displaced is above the indexes of
// parts that were streamed: it numbers complete texts whose index another text already has.
const (
	firstNote = 1 << 20
	displaced = 1 << 19
)

func (d *responsesDecoder) begin(r *response) {
	if r == nil || d.begun {
		return
	}
	d.begun = true
	d.to.send(model.Chunk{Kind: model.ChunkResponse, ID: r.ID, Text: r.Model})
}

// added handles the start of an item.
func (d *responsesDecoder) added(e *responsesEvent) error {
	var i item
	if err := json.Unmarshal(e.Item, &i); err != nil {
		return foreign(e.Item, err)
	}
	if i.Type == "function_call" {
		d.called(e.Output, &i)
	}
	return nil
}

// foreign returns nil for an item of a vendor's kind, whose members may have any type. For an
// item that Braid must understand, it returns err.
func foreign(raw json.RawMessage, err error) error {
	var i struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &i) == nil && i.Type != "" && i.Type != "function_call" && i.Type != "reasoning" && i.Type != "message" {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

func (d *responsesDecoder) called(output int, i *item) {
	d.calls = true
	d.to.send(model.Chunk{Kind: model.ChunkCall, Index: d.at(output, single), ID: i.Call, Text: d.to.tool(i.Name)})
}

// finished handles a complete item: content that was not streamed, and members that appear only
// at the end.
func (d *responsesDecoder) finished(e *responsesEvent) error {
	var i item
	if err := json.Unmarshal(e.Item, &i); err != nil {
		if err := foreign(e.Item, err); err != nil {
			return err
		}
		return d.keep(e)
	}
	switch i.Type {
	case "function_call":
		before := len(d.parts)
		if at := d.at(e.Output, single); at == before {
			d.called(e.Output, &i)
		}
		if !d.came(e.Output, single) {
			d.piece(model.ChunkCallInput, e.Output, single, argumentText(i.Arguments))
		}
	case "reasoning":
		if !d.came(e.Output, single) {
			for n, s := range i.Summary {
				if n > 0 {
					d.piece(model.ChunkThinking, e.Output, single, "\n\n")
				}
				d.piece(model.ChunkThinking, e.Output, single, s.Text)
			}
		}
		if !d.came(e.Output, single) { // models with open reasoning (gpt-oss)
			for _, c := range i.Content {
				d.piece(model.ChunkThinking, e.Output, single, c.Text)
			}
		}
		if i.Sealed != "" {
			d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: d.at(e.Output, single), Text: seal(i.ID, i.Sealed)})
		}
	case "message":
		d.message(e.Output, &i)
	default:
		return d.keep(e)
	}
	return nil
}

// message handles a complete message: the texts that were not streamed.
func (d *responsesDecoder) message(output int, i *item) {
	taken, noted := make([]bool, len(d.parts)), d.noted(output)
	for n, c := range i.Content {
		text := c.Text + c.Refusal
		at := d.streamed(output, n, len(i.Content), text, taken)
		if at < 0 {
			if text == "" {
				continue
			}
			d.refused = d.refused || c.Refusal != ""
			place := n
			if d.came(output, n) {
				place = displaced + n
			}
			d.piece(model.ChunkText, output, place, text)
			at = d.at(output, place)
		} else if at < len(taken) {
			taken[at] = true
		}
		for k := range c.Notes {
			if !noted {
				d.note(output, n, k, &c.Notes[k])
			}
		}
		if i.Phase != "" {
			d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: at, Text: phaseMark + i.Phase})
		}
	}
}

// streamed returns the part that already streamed text n of an item's count texts; -1 if none
// did. content_index of the deltas is not always the index in the item: Bedrock's gpt-oss sends
// deltas at 1 for an item with one text (recorded by ruby_llm). So an equal text at another
// index matches, and so does an index that the item does not have.
func (d *responsesDecoder) streamed(output, n, count int, text string, taken []bool) int {
	same, here, beyond := -1, -1, -1
	sum := hash(0, text)
	for i := range taken {
		p := &d.parts[i]
		switch {
		case !p.came || p.item != output || p.content == single || taken[i]:
		case p.content == n && p.size == len(text) && p.sum == sum:
			return i
		case same < 0 && p.size == len(text) && p.sum == sum:
			same = i
		case p.content == n:
			here = i
		case beyond < 0 && p.content >= count:
			beyond = i
		}
	}
	switch {
	case same >= 0:
		return same
	case here >= 0:
		return here
	default:
		return beyond
	}
}

// keep yields an item of a vendor's kind, such as a web search. It adds the prefix to the kind,
// as the log requires.
func (d *responsesDecoder) keep(e *responsesEvent) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Item, &members); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	kind := argumentText(members["type"])
	if kind == customItem && !d.runsCustom {
		d.custom(e.Output, e.Item)
		return nil
	}
	members["kind"] = strictjson.AppendString(nil, own+kind)
	raw, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if usable := strictjson.Check(raw, strictjson.DefaultDepth) == nil; !usable || kind == "" {
		return nil // it cannot be stored, and nothing else needs it
	}
	d.to.send(model.Chunk{
		Kind: model.ChunkBlock, Index: d.at(e.Output, single), Block: &event.UnknownBlock{Name: event.BlockKind(own + kind), Raw: raw},
	})
	switch kind {
	case codeItem:
		d.show(e.Output, e.Item)
	case webItem:
		d.webs += searches(e.Item)
	case filesItem:
		d.files++
	}
	return nil
}

// end handles the end event, which holds the usage and the reason.
func (d *responsesDecoder) end(e *responsesEvent) error {
	r := e.Response
	if r == nil {
		return errUnreadable
	}
	d.begin(r)
	if len(d.parts) == 0 { // nothing was streamed
		for i, raw := range r.Output {
			if err := d.finished(&responsesEvent{Item: raw, Output: i}); err != nil {
				return err
			}
		}
	}
	d.used(r)
	stop := event.StopEndTurn
	switch {
	case e.Type == "response.incomplete" && r.Incomplete != nil && r.Incomplete.Reason != "":
		switch r.Incomplete.Reason {
		case "max_output_tokens":
			stop = event.StopMaxTokens
		case "content_filter":
			stop = event.StopContentFiltered
		default: // an unknown reason stays as it is
			stop = event.StopReason(r.Incomplete.Reason)
		}
	case e.Type == "response.incomplete":
		stop = "incomplete"
	case d.calls:
		stop = event.StopToolUse
	case d.refused:
		stop = event.StopRefusal
	}
	d.to.done = true
	d.to.send(model.Chunk{Kind: model.ChunkStop, Stop: stop})
	return nil
}

// ended handles the end of the body. Without an end event the answer is incomplete.
func (d *responsesDecoder) ended() error { return errCut }

func (d *responsesDecoder) used(r *response) {
	if r.Usage == nil {
		return
	}
	u := counted(r.Usage.Input, r.Usage.In.Cached, r.Usage.In.Written, r.Usage.Output, r.Usage.Out.Reasoning, r.Usage.Total)
	u.WebSearches, u.FileSearches = d.webs, d.files
	d.to.send(model.Chunk{Kind: model.ChunkUsage, Usage: &u})
}

type responsesUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
	In     struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// show yields a program that the vendor ran, and its result, as blocks for users and for other
// vendors' models. Only the item itself is sent back to this vendor.
func (d *responsesDecoder) show(output int, raw json.RawMessage) {
	var r ran
	if json.Unmarshal(raw, &r) != nil || r.Code == nil {
		return
	}
	d.to.send(model.Chunk{
		Kind: model.ChunkBlock, Index: d.at(output, shownCode), Block: &event.Code{Language: "python", Code: *r.Code},
	})
	result := &event.CodeResult{Outcome: "ok"}
	if r.Status == "failed" || r.Status == "incomplete" {
		result.Outcome = "failed"
	}
	for _, o := range r.Outputs {
		result.Output += o.Logs
	}
	if len(r.Outputs) > 0 || result.Outcome != "ok" {
		d.to.send(model.Chunk{Kind: model.ChunkBlock, Index: d.at(output, shownResult), Block: result})
	}
}

// custom handles a call of a custom tool, whose input is free text. Braid offers no such tools,
// so the agent answers that the tool is unknown. The text is in the call's arguments.
func (d *responsesDecoder) custom(output int, raw json.RawMessage) {
	var c struct {
		item

		Input string `json:"input"`
	}
	_ = json.Unmarshal(raw, &c) // ignore members of unexpected types
	d.called(output, &c.item)
	input := append(strictjson.AppendString([]byte(`{"input":`), c.Input), '}')
	d.to.send(model.Chunk{Kind: model.ChunkCallInput, Index: d.at(output, single), Text: string(input)})
}

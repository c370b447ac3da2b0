package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// decoder turns the events of an answer into chunks (api/generate-content). Each event is a
// complete response: it holds the new content and repeats everything else. Unknown members are
// skipped and unknown parts kept as they are, because the API may add some at any time.
type decoder struct {
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	yield func(model.Chunk, error) bool
	// serial drops all calls after the first, because the API has no setting for it.
	serial bool
	// left is set when the caller stops reading.
	left bool

	r strictjson.Reader
	e answerEvent

	// Each part is a block, except that consecutive texts or thoughts are one block. open is
	// the kind of the last block, which continues unless it is signed.
	blocks int
	open   model.ChunkKind
	sealed bool

	calls     int
	citations map[event.Citation]bool
	// queries are the web searches so far. perPrompt is set if they are billed as one, as for
	// models before Gemini 3 (the vendor's page of prices).
	queries   map[string]bool
	perPrompt bool
	id, model string
	usage     event.Usage
	counted   bool
	// reason is the API's finish reason, and message its explanation. blocked is the reason why
	// the prompt was blocked.
	reason, message, blocked string
}

// answerEvent holds what the decoder reads from one event. Byte strings alias the event's data.
type answerEvent struct {
	parts           []part
	reason, message []byte
	blocked         []byte
	id, model       []byte
	usage           event.Usage
	counted         bool
	citations       []event.Citation
	// queries are searches of the web.
	queries []string
}

// part is one part of the content.
type part struct {
	kind model.ChunkKind
	text []byte
	// signature belongs to the part, whatever it is.
	signature []byte
	// id, text and args belong to a call.
	id, args []byte
	// block is a complete block.
	block event.Block
	// queries are the searches that the part reports.
	queries []string
}

// Citation blocks need indexes that no block of the answer uses.
const firstCitation = 1 << 20

// mostCitations bounds the citations of an answer, and its searches.
const mostCitations = 1000

// send yields a chunk.
func (d *decoder) send(c model.Chunk) {
	if !d.left && !d.yield(c, nil) {
		d.left = true
	}
}

// event decodes one event.
func (d *decoder) event(data []byte) error {
	e := &d.e
	*e = answerEvent{parts: e.parts[:0]}
	if !d.quick(data) {
		*e = answerEvent{parts: e.parts[:0]}
		if err := d.whole(data); err != nil {
			return err
		}
	}
	d.take(e)
	return nil
}

// quick is the fast path for text, thoughts, calls and usage. It reports false for every other
// event and for anything unexpected; the caller then ignores what it read.
func (d *decoder) quick(data []byte) bool {
	const nested = 64
	r, e := &d.r, &d.e
	r.Reset(data, nested)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "candidates":
			n := 0
			for a := r.Array(); a.Next(); {
				if n++; n > 1 || !d.candidate() {
					return false
				}
			}
		case "usageMetadata":
			d.usageOf()
		case "modelVersion":
			e.model = r.Bytes()
		case "responseId":
			e.id = r.Bytes()
		case "createTime", "modelStatus":
			r.Skip()
		default: // an error, a prompt that was blocked
			return false
		}
	}
	return r.End() == nil
}

// candidate decodes a candidate. It reports false if the slow path is needed.
func (d *decoder) candidate() bool {
	r, e := &d.r, &d.e
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "content":
			for in := r.Object(); in.Next(); {
				switch string(in.Key) {
				case "parts":
					for a := r.Array(); a.Next(); {
						if !d.part() {
							return false
						}
					}
				default:
					r.Skip()
				}
			}
		case "finishReason":
			e.reason = r.Bytes()
		case "finishMessage":
			e.message = r.Bytes()
		case "index":
			if r.Int64() != 0 {
				return false
			}
		case "citationMetadata", "groundingMetadata", "urlContextMetadata":
			return false
		default:
			r.Skip()
		}
	}
	return r.Err() == nil
}

// part decodes a part. It reports false if the slow path is needed.
func (d *decoder) part() bool {
	r := &d.r
	p := part{}
	thought, members := false, 0
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "text":
			p.kind, p.text = model.ChunkText, r.Bytes()
			members++
		case "functionCall":
			p.kind = model.ChunkCall
			members++
			for c := r.Object(); c.Next(); {
				switch string(c.Key) {
				case "name":
					p.text = r.Bytes()
				case "id":
					p.id = r.Bytes()
				case "args":
					if r.Peek() != '{' {
						return false
					}
					p.args = r.Raw(strictjson.DefaultDepth)
				default:
					return false
				}
			}
		case "thought":
			thought = r.Bool()
		case "thoughtSignature":
			p.signature = r.Bytes()
		default:
			return false
		}
	}
	if r.Err() != nil || members != 1 || (thought && p.kind != model.ChunkText) {
		return false
	}
	if thought {
		p.kind = model.ChunkThinking
	}
	d.e.parts = append(d.e.parts, p)
	return true
}

// usageOf decodes the usage.
func (d *decoder) usageOf() {
	r := &d.r
	var u wireUsage
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "promptTokenCount":
			u.Prompt = r.Int64()
		case "cachedContentTokenCount":
			u.Cached = r.Int64()
		case "candidatesTokenCount":
			u.Candidates = r.Int64()
		case "thoughtsTokenCount":
			u.Thoughts = r.Int64()
		case "toolUsePromptTokenCount":
			u.ToolUse = r.Int64()
		case "totalTokenCount":
			u.Total = r.Int64()
		default:
			r.Skip()
		}
	}
	d.e.usage, d.e.counted = u.ours(), true
}

type wireUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	ToolUse    int64 `json:"toolUsePromptTokenCount"`
	Total      int64 `json:"totalTokenCount"`
}

// ours converts the usage. The vendor's prompt count includes cached tokens, and its candidates
// count excludes thoughts. If more tokens are cached than the prompt has, Input is negative,
// and the loop reports that.
func (u *wireUsage) ours() event.Usage {
	o := event.Usage{
		Input: u.Prompt - u.Cached + u.ToolUse, CacheRead: u.Cached,
		Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts, Total: u.Total,
	}
	if o.Total == 0 {
		o.Total = o.Input + o.CacheRead + o.Output
	}
	return o
}

// wireEvent is any event.
type wireEvent struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Reason    string         `json:"finishReason"`
		Message   string         `json:"finishMessage"`
		Citations *wireCitations `json:"citationMetadata"`
		Grounding *wireGrounding `json:"groundingMetadata"`
		Fetched   *wireFetched   `json:"urlContextMetadata"`
	} `json:"candidates"`
	Usage    *wireUsage   `json:"usageMetadata"`
	Model    string       `json:"modelVersion"`
	ID       string       `json:"responseId"`
	Feedback wireFeedback `json:"promptFeedback"`
	Error    *wireError   `json:"error"`
}

type wireFeedback struct {
	Reason string `json:"blockReason"`
}

// wireCitations are the sources that the model quotes. Vertex AI has another name for the list.
type wireCitations struct {
	Sources   []wireSource `json:"citationSources"`
	Citations []wireSource `json:"citations"`
}

type wireSource struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	// Text is the result of a file search.
	Text string `json:"text"`
}

// wireFetched are the pages that the vendor fetched.
type wireFetched struct {
	Pages []struct {
		URL    string `json:"retrievedUrl"`
		Status string `json:"urlRetrievalStatus"`
	} `json:"urlMetadata"`
}

func (f *wireFetched) ours() []event.Citation {
	if f == nil {
		return nil
	}
	var out []event.Citation
	for _, p := range f.Pages {
		if p.Status == "URL_RETRIEVAL_STATUS_SUCCESS" {
			out = append(out, event.Citation{URL: p.URL})
		}
	}
	return out
}

// wireGrounding are the sources that the vendor found.
type wireGrounding struct {
	Chunks []struct {
		Web       *wireSource `json:"web"`
		Retrieved *wireSource `json:"retrievedContext"`
		Maps      *wireSource `json:"maps"`
	} `json:"groundingChunks"`
	Queries []string `json:"webSearchQueries"`
}

// wirePart is a part of any kind.
type wirePart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
	Code *struct {
		ID       string `json:"id"`
		Language string `json:"language"`
		Code     string `json:"code"`
	} `json:"executableCode"`
	Result *struct {
		ID      string `json:"id"`
		Outcome string `json:"outcome"`
		Output  string `json:"output"`
	} `json:"codeExecutionResult"`
	Invoked *struct {
		Kind string `json:"toolType"`
		Args struct {
			Queries json.RawMessage `json:"queries"`
		} `json:"args"`
	} `json:"toolCall"`
}

// whole decodes an event of any kind.
func (d *decoder) whole(data []byte) error {
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if w.Error != nil {
		return w.Error
	}
	e := &d.e
	e.model, e.id, e.blocked = []byte(w.Model), []byte(w.ID), []byte(w.Feedback.Reason)
	if w.Usage != nil {
		e.usage, e.counted = w.Usage.ours(), true
	}
	for i := range w.Candidates {
		c := &w.Candidates[i]
		if c.Index != 0 {
			continue // one is asked for
		}
		for _, raw := range c.Content.Parts {
			p, err := readPart(raw)
			if err != nil {
				return fmt.Errorf("%w: %w", errUnreadable, err)
			}
			e.parts = append(e.parts, p)
			e.queries = append(e.queries, p.queries...)
		}
		if c.Reason != "" {
			e.reason, e.message = []byte(c.Reason), []byte(c.Message)
		}
		e.citations = append(e.citations, c.Citations.ours()...)
		e.citations = append(e.citations, c.Grounding.ours()...)
		e.citations = append(e.citations, c.Fetched.ours()...)
		if c.Grounding != nil {
			e.queries = append(e.queries, c.Grounding.Queries...)
		}
	}
	return nil
}

// readPart decodes a part of any kind.
func readPart(raw json.RawMessage) (part, error) {
	var w wirePart
	if err := json.Unmarshal(raw, &w); err != nil {
		return part{}, err
	}
	p := part{signature: []byte(w.Signature)}
	switch {
	case w.Call != nil:
		p.kind, p.id, p.text = model.ChunkCall, []byte(w.Call.ID), []byte(w.Call.Name)
		if string(w.Call.Args) == "null" {
			break
		}
		var err error
		if p.args, err = strictjson.AppendCompact(nil, w.Call.Args, strictjson.DefaultDepth); err != nil {
			p.args = w.Call.Args // whoever runs the call will say what is wrong with it
		}
	case w.Text != nil && w.Thought:
		p.kind, p.text = model.ChunkThinking, []byte(*w.Text)
	case w.Text != nil:
		p.kind, p.text = model.ChunkText, []byte(*w.Text)
	case w.Code != nil:
		p.kind, p.block = model.ChunkBlock, &event.Code{
			Language: strings.ToLower(w.Code.Language), Code: w.Code.Code, ID: w.Code.ID, Signature: own + w.Signature,
		}
	case w.Result != nil:
		p.kind, p.block = model.ChunkBlock, &event.CodeResult{
			Outcome: outcome(w.Result.Outcome), Output: w.Result.Output, ID: w.Result.ID, Signature: own + w.Signature,
		}
	case w.Inline != nil && strings.HasPrefix(w.Inline.MIME, "image/"):
		data, err := base64.StdEncoding.DecodeString(w.Inline.Data)
		if err != nil {
			return part{}, err
		}
		p.kind, p.block = model.ChunkBlock, &event.Image{MIME: w.Inline.MIME, Data: data}
	default:
		p.kind, p.block = model.ChunkBlock, keep(raw)
		if w.Invoked != nil && w.Invoked.Kind == "GOOGLE_SEARCH_WEB" {
			_ = json.Unmarshal(w.Invoked.Args.Queries, &p.queries) // other arguments are no searches
		}
	}
	return p, nil
}

// keep returns a part of a vendor's kind. It adds the prefix to the kind, as the log requires.
// It returns nil for an empty part.
func keep(raw json.RawMessage) event.Block {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil || len(members) == 0 {
		return nil
	}
	kinds := make([]string, 0, len(members))
	for k := range members {
		if k != "thought" && k != "thoughtSignature" {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	kind := own + "part"
	if len(kinds) > 0 {
		kind = own + kinds[0]
	}
	members["kind"] = strictjson.AppendString(nil, kind)
	kept, err := json.Marshal(members)
	if err != nil || strictjson.Check(kept, strictjson.DefaultDepth) != nil {
		return nil
	}
	return &event.UnknownBlock{Name: event.BlockKind(kind), Raw: kept}
}

func (c *wireCitations) ours() []event.Citation {
	if c == nil {
		return nil
	}
	var out []event.Citation
	for _, s := range append(c.Sources, c.Citations...) {
		out = append(out, event.Citation{Title: s.Title, URL: s.URI})
	}
	return out
}

func (g *wireGrounding) ours() []event.Citation {
	if g == nil {
		return nil
	}
	var out []event.Citation
	for _, c := range g.Chunks {
		for _, s := range []*wireSource{c.Web, c.Retrieved, c.Maps} {
			if s != nil {
				out = append(out, event.Citation{Title: s.Title, URL: s.URI, Quote: s.Text})
			}
		}
	}
	return out
}

// take yields the content of an event.
func (d *decoder) take(e *answerEvent) {
	if string(e.id) != d.id || string(e.model) != d.model {
		if d.id == "" && d.model == "" {
			d.id, d.model = string(e.id), string(e.model)
			d.send(model.Chunk{Kind: model.ChunkResponse, ID: d.id, Text: d.model})
		}
	}
	for i := range e.parts {
		d.takePart(&e.parts[i])
	}
	for _, c := range e.citations {
		// Every later event repeats the citations.
		if c.URL == "" && c.Title == "" || d.citations[c] || len(d.citations) >= mostCitations {
			continue
		}
		if d.citations == nil {
			d.citations = map[event.Citation]bool{}
		}
		d.citations[c] = true
		d.send(model.Chunk{Kind: model.ChunkBlock, Index: firstCitation + len(d.citations), Block: &c})
	}
	for _, q := range e.queries {
		if q == "" || len(d.queries) >= mostCitations {
			continue
		}
		if d.queries == nil {
			d.queries = map[string]bool{}
		}
		d.queries[q] = true
	}
	if e.counted {
		d.usage, d.counted = e.usage, true
	}
	if len(e.reason) > 0 && string(e.reason) != d.reason {
		d.reason, d.message = string(e.reason), string(e.message)
	}
	if len(e.blocked) > 0 {
		d.blocked = string(e.blocked)
	}
}

func (d *decoder) takePart(p *part) {
	switch p.kind {
	case model.ChunkText, model.ChunkThinking:
		d.piece(p)
	case model.ChunkCall:
		d.open = 0
		if d.serial && d.calls > 0 {
			return
		}
		name := string(p.text)
		if changed, ok := d.names[name]; ok {
			name = changed
		}
		index := d.blocks
		d.blocks++
		d.calls++
		d.send(model.Chunk{Kind: model.ChunkCall, Index: index, ID: string(p.id), Text: name})
		if len(p.args) > 2 { // more than {}
			d.send(model.Chunk{Kind: model.ChunkCallInput, Index: index, Text: string(p.args)})
		}
		d.signed(index, p)
	default:
		if p.block != nil {
			d.open = 0
			d.send(model.Chunk{Kind: model.ChunkBlock, Index: d.blocks, Block: p.block})
			d.blocks++
		}
	}
}

// piece handles a text or a thought, which continues the block before it. A signature ends the
// block. It arrives with the last piece, or after it in an empty piece.
func (d *decoder) piece(p *part) {
	if len(p.text) == 0 && len(p.signature) == 0 {
		return
	}
	if d.open != p.kind || d.sealed {
		if len(p.text) == 0 && p.kind == model.ChunkText {
			// An empty text is dropped unless it is a complete block.
			d.open = 0
			d.send(model.Chunk{Kind: model.ChunkBlock, Index: d.blocks, Block: &event.Text{Signature: own + string(p.signature)}})
			d.blocks++
			return
		}
		d.open, d.sealed = p.kind, false
		d.blocks++
	}
	index := d.blocks - 1
	if len(p.text) > 0 {
		d.send(model.Chunk{Kind: p.kind, Index: index, Text: string(p.text)})
	}
	d.signed(index, p)
}

// signed yields the signature of a block.
func (d *decoder) signed(index int, p *part) {
	if len(p.signature) > 0 {
		d.sealed = true
		d.send(model.Chunk{Kind: model.ChunkSignature, Index: index, Text: own + string(p.signature)})
	}
}

// ended reports whether the answer has a finish reason. The last event has one; earlier events
// may have it too.
func (d *decoder) ended() bool { return d.reason != "" || d.blocked != "" }

// malformed reports whether the answer ended because the model could not write a call, so that
// there is nothing to run or to show.
func (d *decoder) malformed() bool {
	return d.calls == 0 && d.reason == "MALFORMED_FUNCTION_CALL"
}

// finish yields the usage and the stop reason at the end of the answer.
func (d *decoder) finish(whole bool) {
	if n := int64(len(d.queries)); n > 0 {
		if d.perPrompt {
			n = 1
		}
		d.usage.WebSearches, d.counted = n, true
	}
	if d.counted {
		sent := d.usage
		d.send(model.Chunk{Kind: model.ChunkUsage, Usage: &sent})
	}
	if whole {
		d.send(model.Chunk{Kind: model.ChunkStop, Stop: d.stop()})
	}
}

// stop maps the finish reason to Braid's (api/generate-content#FinishReason). An unknown one
// stays as it is.
func (d *decoder) stop() event.StopReason {
	if d.reason == "" {
		return blockedBy(d.blocked)
	}
	switch d.reason {
	case "STOP":
		if d.calls > 0 {
			return event.StopToolUse
		}
		return event.StopEndTurn
	case "MAX_TOKENS", "CONTINUATION":
		return event.StopMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return event.StopContentFiltered
	case "MODEL_ARMOR":
		return event.StopGuardrail
	default:
		return event.StopReason(d.reason)
	}
}

// blockedBy maps the reason why a prompt was blocked. Model Armor is the user's own guardrail;
// everything else is the vendor's filter.
func blockedBy(reason string) event.StopReason {
	if reason == "MODEL_ARMOR" {
		return event.StopGuardrail
	}
	return event.StopContentFiltered
}

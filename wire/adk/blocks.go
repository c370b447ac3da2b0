package adk

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// The roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// outcomes are ADK's words for those of [event.CodeResult].
var outcomes = map[string]string{"ok": "OUTCOME_OK", "failed": "OUTCOME_FAILED", "timeout": "OUTCOME_DEADLINE_EXCEEDED"}

// Parts returns blocks as parts. A block that ADK has no part for, such as a citation, is left out.
func Parts(blocks []event.Block) []Part {
	parts := make([]Part, 0, len(blocks))
	for _, b := range blocks {
		if p, ok := partOf(b); ok {
			parts = append(parts, p)
		}
	}
	return parts
}

func partOf(b event.Block) (p Part, ok bool) {
	switch b := b.(type) {
	case *event.Text:
		p = Part{Text: &b.Text, Signature: b.Signature}
	case *event.Thinking:
		p = Part{Text: &b.Text, Thought: True, Signature: b.Signature}
	case *event.ToolCall:
		p = Part{Call: &Call{ID: b.ID, Name: b.Name, Args: asObject(b.Args)}, Signature: b.Signature}
	case *event.ToolResult:
		p = Part{Response: responseOf(b)}
	case *event.Image:
		p = media(b.Data, "", b.MIME, b.URL)
	case *event.Document:
		if b.Data == nil && b.URL == "" {
			p = Part{Text: &b.Text}
		} else {
			p = media(b.Data, b.Name, b.MIME, b.URL)
		}
	case *event.Media:
		p = media(nil, "", b.MIME, b.URL)
	case *event.Code:
		p = Part{Code: &Code{ID: b.ID, Language: cmp.Or(strings.ToUpper(b.Language), "LANGUAGE_UNSPECIFIED"), Code: b.Code}, Signature: b.Signature}
	case *event.CodeResult:
		of := cmp.Or(outcomes[b.Outcome], "OUTCOME_UNSPECIFIED")
		p = Part{CodeResult: &CodeResult{ID: b.ID, Outcome: of, Output: b.Output}, Signature: b.Signature}
	default:
		return p, false
	}
	return p, true
}

func media(data []byte, name, mime, url string) Part {
	if data == nil {
		return Part{File: &File{MIME: mime, URI: url, Name: name}}
	}
	return Part{Inline: &Blob{MIME: mime, Data: base64.StdEncoding.EncodeToString(data), Name: name}}
}

// asObject returns a value as an object, which the arguments and the response of a function are. Another one becomes its member
// "result".
func asObject(raw json.RawMessage) json.RawMessage {
	text := strings.TrimLeft(string(raw), " \t\r\n")
	switch {
	case text == "":
		return json.RawMessage("{}")
	case text[0] == '{':
		return raw
	}
	return member("result", raw)
}

// member returns an object with one member.
func member(name string, raw json.RawMessage) json.RawMessage {
	o := object{append([]byte(nil), '{')}
	o.key(name)
	o.raw(raw)
	return o.end('}').buf
}

// responseOf returns a result as a response: its structured form, or its text as "result", or as "error" if it is one. Images
// and documents in it are parts of the response.
func responseOf(b *event.ToolResult) *Response {
	r := &Response{ID: b.Call, Name: b.Name}
	if b.Structured != nil {
		r.Response = asObject(b.Structured)
	} else {
		name := "result"
		if b.IsError {
			name = "error"
		}
		r.Response = member(name, strictjson.AppendString(nil, event.TextOf(b.Content)))
	}
	var parts []Part
	for _, c := range b.Content {
		if p, ok := partOf(c); ok && (p.Inline != nil || p.File != nil) {
			parts = append(parts, p)
		}
	}
	if parts != nil {
		o := object{append([]byte(nil), '[')}
		for i := range parts {
			parts[i].write(&o)
		}
		r.Other = map[string]json.RawMessage{"parts": o.end(']').buf}
	}
	return r
}

// Blocks returns the parts of a content as blocks. A response is an [event.ToolResult], which is an error if it has a member
// "error". Data that is no base64, and a part with nothing that Braid has a block for, are [event.ErrInvalid] and
// [event.ErrUnsupported].
func Blocks(c *Content) ([]event.Block, error) {
	if c == nil {
		return nil, nil
	}
	blocks := make([]event.Block, 0, len(c.Parts))
	for i := range c.Parts {
		b, err := blockOf(&c.Parts[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func blockOf(p *Part) (event.Block, error) {
	switch {
	case p.Call != nil:
		return &event.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Args: asObject(p.Call.Args), Signature: p.Signature}, nil
	case p.Response != nil:
		return resultOf(p.Response), nil
	case p.Inline != nil:
		return inlineOf(p.Inline)
	case p.File != nil:
		kind, _, _ := strings.Cut(p.File.MIME, "/")
		switch kind {
		case "audio", "video":
			return &event.Media{Media: kind, MIME: p.File.MIME, URL: p.File.URI}, nil
		case "image":
			return &event.Image{MIME: p.File.MIME, URL: p.File.URI}, nil
		}
		return &event.Document{Name: p.File.Name, MIME: p.File.MIME, URL: p.File.URI}, nil
	case p.Code != nil:
		return &event.Code{ID: p.Code.ID, Language: strings.ToLower(p.Code.Language), Code: p.Code.Code, Signature: p.Signature}, nil
	case p.CodeResult != nil:
		r := &event.CodeResult{ID: p.CodeResult.ID, Output: p.CodeResult.Output, Signature: p.Signature}
		for ours, theirs := range outcomes {
			if theirs == p.CodeResult.Outcome {
				r.Outcome = ours
			}
		}
		return r, nil
	case p.Text != nil && p.Thought == True:
		return &event.Thinking{Text: *p.Text, Signature: p.Signature}, nil
	case p.Text != nil:
		return &event.Text{Text: *p.Text, Signature: p.Signature}, nil
	}
	return nil, &event.Error{
		Op: "adk content", Kind: event.ErrUnsupported, Message: "a part is of a kind that is not taken here",
		Hint: "send text, inlineData, fileData, functionCall, functionResponse, executableCode or codeExecutionResult",
	}
}

func resultOf(r *Response) *event.ToolResult {
	var failed struct {
		Error json.RawMessage `json:"error"`
	}
	isError := json.Unmarshal(r.Response, &failed) == nil && failed.Error != nil && string(failed.Error) != "null"
	return &event.ToolResult{
		Call: r.ID, Name: r.Name, Structured: slices.Clone(r.Response), IsError: isError,
		Content: []event.Block{&event.Text{Text: string(r.Response)}},
	}
}

func inlineOf(b *Blob) (event.Block, error) {
	data, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(b.MIME, "image/") {
		return &event.Image{MIME: b.MIME, Data: data}, nil
	}
	return &event.Document{Name: b.Name, MIME: b.MIME, Data: data}, nil
}

// Bytes returns the data. It takes both alphabets of base64, with padding or without.
func (b *Blob) Bytes() ([]byte, error) {
	text := strings.TrimRight(b.Data, "=")
	coding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	data, err := coding.DecodeString(text)
	if err != nil {
		return nil, &event.Error{
			Op: "adk content", Kind: event.ErrInvalid, Message: "the data of a part is no base64", Hint: "encode it as base64", Err: err,
		}
	}
	return data, nil
}

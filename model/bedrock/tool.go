package bedrock

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/toolname"
)

// The ids of calls: API_runtime_ToolUseBlock.
var callIDs = toolname.IDRule{Max: 64}

// call writes a tool call. Its arguments must be an object; other and malformed ones are wrapped in an object.
func (e *encoder) call(b *event.ToolCall) {
	if e.family.noTools {
		e.text("[call of " + b.Name + "] " + string(b.Args))
		return
	}
	e.begin(`{"toolUse":{"toolUseId":`)
	e.str(e.ids.Give(b.ID, callIDs))
	e.key(`,"name":`)
	e.str(e.family.names.Wire(b.Name))
	e.key(`,"input":`)
	at := len(e.dst)
	if args := bytes.TrimSpace(b.Args); len(args) > 0 && args[0] == '{' {
		if dst, err := strictjson.AppendCompact(e.dst, args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `}},`...)
			return
		}
	} else if len(args) > 0 && b.Fault == "" {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"value":`...), args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `}}},`...)
			return
		}
	}
	e.dst = append(e.dst[:at], '{')
	if b.Invalid != "" {
		e.key(`"unreadable":`)
		e.str(b.Invalid)
	}
	e.key(`}}},`)
}

// result writes a tool's result under the wire id of its call.
func (e *encoder) result(b *event.ToolResult) {
	if e.family.noTools {
		e.text("[result of " + b.Name + "] " + event.RawText(b.Content) + string(b.Structured))
		return
	}
	e.begin(`{"toolResult":{"toolUseId":`)
	e.str(e.ids.Of(b.Call))
	e.key(`,"content":[`)
	outer, texts, files := e.blocks, e.texts, e.files
	e.blocks, e.inResult = 0, true
	for _, c := range b.Content {
		switch c.(type) {
		case *event.Image, *event.Document, *event.Media:
			if b.IsError || !e.family.resultFiles {
				// It follows after the results.
				e.aside = append(e.aside, c)
				continue
			}
		}
		e.content(c)
	}
	if len(b.Content) == 0 && len(b.Structured) > 0 {
		e.structured(b.Structured)
	}
	if e.blocks == 0 {
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], ']')
	e.blocks, e.texts, e.files, e.inResult = outer, texts, files, false
	if b.IsError && e.family.status {
		e.key(`,"status":"error"`)
	}
	e.key(`}},`)
	e.last = resultBlock
}

// structured writes a structured result. The API accepts objects as JSON.
func (e *encoder) structured(raw json.RawMessage) {
	if in := bytes.TrimSpace(raw); !e.family.textResults && len(in) > 0 && in[0] == '{' {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"json":`...), in, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `},`...)
			e.blocks++
			return
		}
	}
	e.text(string(raw))
}

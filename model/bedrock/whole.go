package bedrock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// wholeAnswer is an answer that is not streamed (API_runtime_Converse).
type wholeAnswer struct {
	metadata

	Output struct {
		Message struct {
			Content []map[string]json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"output"`
	Stop string `json:"stopReason"`
}

// answer decodes an answer that is not streamed.
func (d *decoder) answer(data []byte) error {
	var a wholeAnswer
	if err := read(data, &a); err != nil {
		return err
	}
	if a.Stop == "" {
		return errUnreadable
	}
	for i, b := range a.Output.Message.Content {
		for _, kind := range members(b, contentKinds) {
			if err := d.content(i, kind, b[kind]); err != nil {
				return err
			}
		}
		d.close(i)
	}
	d.end(a.Stop)
	d.metadata(&a.metadata)
	d.finish()
	return nil
}

// content decodes a complete block.
func (d *decoder) content(i int, kind string, raw json.RawMessage) error {
	switch kind {
	case "text":
		return d.string(raw, func(s string) { d.piece(i, textBlock, s) })
	case "toolUse":
		var call calledTool
		if err := read(raw, &call); err != nil {
			return err
		}
		if serverTool(call.Type) {
			d.keepRaw(d.add(i, droppedBlock).index, kind, raw)
			return nil
		}
		d.call(i, call.ID, call.Name)
		if in := bytes.TrimSpace(call.Input); len(in) > 0 && string(in) != "{}" && string(in) != "null" {
			d.piece(i, callBlock, string(in))
		}
		return nil
	case "reasoningContent":
		return d.thought(i, raw)
	case "citationsContent":
		var c struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Citations []json.RawMessage `json:"citations"`
		}
		if err := read(raw, &c); err != nil {
			return err
		}
		var text strings.Builder
		for _, t := range c.Content {
			text.WriteString(t.Text)
		}
		d.piece(i, textBlock, text.String())
		for _, one := range c.Citations {
			if err := d.cite(one); err != nil {
				return err
			}
		}
		return nil
	case "image":
		return d.picture(i, raw)
	default:
		d.keepRaw(d.add(i, droppedBlock).index, kind, raw)
		return nil
	}
}

// thought decodes complete thinking, whose form differs from that of a streamed piece.
func (d *decoder) thought(i int, raw json.RawMessage) error {
	var t struct {
		Text struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted []byte `json:"redactedContent"`
	}
	if err := read(raw, &t); err != nil {
		return err
	}
	piece := struct {
		Text      string `json:"text,omitempty"`
		Signature string `json:"signature,omitempty"`
		Redacted  string `json:"redactedContent,omitempty"`
	}{t.Text.Text, t.Text.Signature, base64.StdEncoding.EncodeToString(t.Redacted)}
	p, err := json.Marshal(piece)
	if err != nil {
		return err
	}
	return d.reasoning(i, p)
}

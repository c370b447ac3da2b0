package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// input is the body of a request (RunAgentInput of @ag-ui/core 1.0.0). Other fields are ignored, because a newer client may
// send more. State is the client's copy: only the agent changes the state.
type input struct {
	Thread   string            `json:"threadId"`
	Run      string            `json:"runId"`
	State    json.RawMessage   `json:"state"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Resume   []struct {
		ID      string          `json:"interruptId"`
		Status  string          `json:"status"`
		Payload json.RawMessage `json:"payload"`
	} `json:"resume"`

	Props   json.RawMessage `json:"forwardedProps"` // the member "braid" has the run's settings
	answers []front.Answer
	own     front.Settings
}

// parse reads an input.
func parse(data []byte) (in input, err error) {
	if strictjson.Check(data, strictjson.DefaultDepth) != nil || json.Unmarshal(data, &in) != nil {
		return in, front.Bad("the body is no RunAgentInput", "send one JSON object with threadId, runId and messages, each name once")
	}
	for _, id := range []string{in.Thread, in.Run} {
		if id == "" || len(id) > front.MaxID || strings.ContainsRune(id, 0) {
			return in, front.Bad("threadId or runId is missing or too long", "send both, with at most 200 bytes each")
		}
	}
	if len(in.Tools) > 0 {
		return in, front.Refusal(event.ErrUnsupported, "agents here call no tools of the client",
			"leave tools empty; the agent's own tools are the server's")
	}
	for _, a := range in.Resume {
		twice := slices.ContainsFunc(in.answers, func(b front.Answer) bool { return b.Token == a.ID })
		if a.ID == "" || twice || a.Status != "resolved" && a.Status != "cancelled" {
			return in, front.Bad("an answer names no interrupt, or one twice, or has no status",
				"send interruptId, and resolved or cancelled as status")
		}
		switch {
		case a.Status == "cancelled":
			a.Payload = nil
		case a.Payload == nil:
			a.Payload = json.RawMessage("null")
		}
		in.answers = append(in.answers, front.Answer{Token: a.ID, Value: a.Payload})
	}
	in.own, err = front.SettingsOf(in.Props)
	return in, err
}

// part is a part of a message's content.
type part struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type     string `json:"type"`
		MIMEType string `json:"mimeType"`
		Value    []byte `json:"value"`
	} `json:"source"`
}

// request makes the request for a run: what the user said last. The server has what was said before.
func (in *input) request() (r service.RunRequest, err error) {
	in.own.Set(&r)
	for _, raw := range slices.Backward(in.Messages) {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Role != "user" {
			continue
		}
		var parts []part
		if json.Unmarshal(m.Content, &r.Input) != nil && json.Unmarshal(m.Content, &parts) != nil {
			return r, front.Bad("the user's message cannot be read", "send a text, or parts with data in base64")
		}
		for i := range parts {
			switch p := &parts[i]; {
			case p.Type == "text":
				r.Attachments = append(r.Attachments, service.Attachment{Block: &event.Text{Text: p.Text}})
			case p.Type == "image" && p.Source.Type == "data":
				r.Attachments = append(r.Attachments, service.Attachment{Block: &event.Image{MIME: p.Source.MIMEType, Data: p.Source.Value}})
			case p.Type == "document" && p.Source.Type == "data":
				r.Attachments = append(r.Attachments, service.Attachment{Block: &event.Document{MIME: p.Source.MIMEType, Data: p.Source.Value}})
			default:
				return r, front.Refusal(event.ErrUnsupported, "a part of the message is of a kind that is not taken here",
					"send text, and images and documents as data")
			}
		}
		return r, nil
	}
	return r, front.Bad("there is no message of the user", "send one, or answers to interrupts as resume")
}

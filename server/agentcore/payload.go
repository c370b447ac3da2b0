package agentcore

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// payload is the body of an invocation. AgentCore leaves its form to the program; this is what
// AWS's examples have in common. Unknown fields are ignored.
type payload struct {
	front.RawSettings

	// Prompt is a string, or content blocks in Converse's form.
	Prompt json.RawMessage `json:"prompt"`
	// Input is another name for Prompt. It may also be an object with a prompt.
	Input        json.RawMessage `json:"input"`
	OutputSchema json.RawMessage `json:"output_schema"`
	// Stream selects the optional parts of the stream.
	Stream []string `json:"stream_options"`
	Action string   `json:"_agent_core_app_action"`
}

// asked is a parsed invocation.
type asked struct {
	run service.RunRequest
	own front.Settings
	// answers are answers to questions of the session's waiting run.
	answers []front.Answer
	stream  Stream
	action  string
}

type interruptResponse struct {
	ID       string          `json:"interruptId"`
	Response json.RawMessage `json:"response"`
}

// say takes the user's message or answers from the payload.
func (a *asked) say(in *payload) error {
	prompt := in.Prompt
	if len(prompt) == 0 || string(prompt) == "null" {
		prompt = in.Input
	}
	if len(prompt) > 0 && prompt[0] == '{' {
		var inner struct {
			Prompt json.RawMessage `json:"prompt"`
		}
		_ = json.Unmarshal(prompt, &inner) // it was validated
		prompt = inner.Prompt
	}
	missing := front.Bad("the body has no prompt", `send {"prompt": "…"}`)
	if len(prompt) == 0 {
		return missing
	}
	switch prompt[0] {
	case '"':
		_ = json.Unmarshal(prompt, &a.run.Input) // it was validated
		if strings.TrimSpace(a.run.Input) == "" {
			return front.Bad("the prompt is empty", "say something")
		}
		return nil
	case '[':
		return a.blocks(prompt)
	default:
		return missing
	}
}

// content is a block of a prompt in Converse's form.
type content struct {
	Text  *string `json:"text"`
	Image *struct {
		Format string `json:"format"`
		Source source `json:"source"`
	} `json:"image"`
	Document *struct {
		Format string `json:"format"`
		Name   string `json:"name"`
		Source source `json:"source"`
	} `json:"document"`
	Interrupt *interruptResponse `json:"interruptResponse"`
}

type source struct {
	// Bytes is base64, as boto3 writes bytes in JSON.
	Bytes string `json:"bytes"`
}

// blocks reads a list of either message blocks or answers.
func (a *asked) blocks(prompt []byte) error {
	var list []content
	if err := json.Unmarshal(prompt, &list); err != nil {
		return front.Bad("the prompt is not a list of content blocks", `send a string, or blocks such as {"text": "…"}`)
	}
	for i := range list {
		c := &list[i]
		switch {
		case c.Interrupt != nil:
			if c.Interrupt.ID == "" {
				return front.Bad("an interruptResponse has no interruptId", "take it from the interrupt's id")
			}
			if len(c.Interrupt.Response) == 0 {
				c.Interrupt.Response = json.RawMessage("null")
			}
			a.answers = append(a.answers, front.Answer{Token: c.Interrupt.ID, Value: c.Interrupt.Response})
		case c.Text != nil && strings.TrimSpace(*c.Text) == "":
		case c.Text != nil:
			a.run.Attachments = append(a.run.Attachments, service.Attachment{Block: &event.Text{Text: *c.Text}})
		case c.Image != nil:
			data, err := c.Image.Source.data()
			if err != nil {
				return err
			}
			a.run.Attachments = append(a.run.Attachments, service.Attachment{Block: &event.Image{MIME: mimeOf("image/", c.Image.Format), Data: data}})
		case c.Document != nil:
			data, err := c.Document.Source.data()
			if err != nil {
				return err
			}
			a.run.Attachments = append(a.run.Attachments, service.Attachment{
				Name: c.Document.Name, Block: &event.Document{MIME: mimeOf("", c.Document.Format), Name: c.Document.Name, Data: data},
			})
		default:
			return front.Bad("a content block of the prompt has an unsupported kind", "send text, image, document or interruptResponse")
		}
	}
	if len(a.answers) > 0 && len(a.run.Attachments) > 0 {
		return front.Bad("the prompt mixes answers to interrupts with other content", "send the answers alone")
	}
	if len(a.answers) == 0 && len(a.run.Attachments) == 0 {
		return front.Bad("the prompt is empty", "say something")
	}
	return nil
}

func (s *source) data() ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(s.Bytes)
	if err != nil || len(data) == 0 {
		return nil, front.Bad("the bytes of a file are not base64, or empty", "encode the file as standard base64")
	}
	return data, nil
}

// formats maps Converse's file formats to MIME types (API DocumentBlock).
var formats = map[string]string{
	"pdf": "application/pdf", "csv": "text/csv", "html": "text/html", "txt": "text/plain", "md": "text/markdown",
	"doc": "application/msword", "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xls": "application/vnd.ms-excel", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// mimeOf returns the MIME type of a file format.
func mimeOf(family, format string) string {
	format = strings.ToLower(format)
	if family != "" {
		return family + format
	}
	if mime, ok := formats[format]; ok {
		return mime
	}
	return "application/octet-stream"
}

package agentcore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// Stream selects the optional parts of a stream.
type Stream struct {
	// Data repeats each piece as {"data", "delta"} and as tool_use_stream, as Strands derives
	// them (the seed's kind 4, as JSON and never as a printed dict).
	Data bool
	// ToolUse announces each call as {"tool_name", "type": "tool_use", "debug_data"} (the seed's
	// kind 7).
	ToolUse bool
	// ASCII escapes all other characters as \uXXXX.
	ASCII bool
}

// ParseStream parses a list of the words data, tool_use and ascii. The error is
// [event.ErrInvalid].
func ParseStream(list []string) (Stream, error) {
	var s Stream
	for _, word := range list {
		switch strings.TrimSpace(word) {
		case "":
		case "data":
			s.Data = true
		case "tool_use":
			s.ToolUse = true
		case "ascii":
			s.ASCII = true
		default:
			return Stream{}, front.Bad("there is no stream option "+strconv.Quote(fit(word, 40)), "use data, tool_use or ascii")
		}
	}
	return s, nil
}

// payload is the body of an invocation. AgentCore leaves its form to the program; this is what
// AWS's examples have in common. Unknown fields are ignored.
type payload struct {
	// Prompt is a string, or content blocks in Converse's form.
	Prompt json.RawMessage `json:"prompt"`
	// Input is another name for Prompt. It may also be an object with a prompt.
	Input        json.RawMessage `json:"input"`
	Model        string          `json:"model"`
	OutputSchema json.RawMessage `json:"output_schema"`
	// Stream selects the optional parts of the stream.
	Stream []string `json:"stream_options"`
	Action string   `json:"_agent_core_app_action"`
}

// asked is a parsed invocation.
type asked struct {
	run service.RunRequest
	// answers are answers to questions of the session's waiting run.
	answers []front.Answer
	stream  Stream
	action  string
}

type interruptResponse struct {
	ID       string          `json:"interruptId"`
	Response json.RawMessage `json:"response"`
}

// readBody reads the body once and compares it with the signed hash.
func (x *exchange) readBody() ([]byte, error) {
	if x.read {
		return x.kept, x.sameHash(x.kept)
	}
	data, err := x.Body(func() error { return x.authenticate(x.scope) })
	if err != nil {
		return nil, err
	}
	// Yield to waiting goroutines, so that a full core serves all requests.
	runtime.Gosched()
	x.kept, x.read = data, true
	return x.kept, x.sameHash(x.kept)
}

func (x *exchange) sameHash(body []byte) error {
	if x.hash == "" || sigv4.Hash(body) == x.hash {
		return nil
	}
	return notSigned(sigv4.Invalid, "The SHA-256 of the body is not the one that was signed.")
}

// parse reads an invocation.
func (x *exchange) parse(body []byte) (*asked, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(body) {
		return nil, &fault{http.StatusBadRequest, validation, "Invalid encoding", "the body is not valid UTF-8"}
	}
	if err := strictjson.Check(body, strictjson.DefaultDepth); err != nil {
		return nil, &fault{http.StatusBadRequest, validation, "Invalid JSON", err.Error()}
	}
	var in payload
	body = bytes.TrimSpace(body)
	switch body[0] {
	case '{':
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, front.Bad("a field of the body has the wrong type", `send {"prompt": "…"}`)
		}
	case '"':
		in.Prompt = body
	default:
		return nil, front.Bad("the body is not a JSON object", `send {"prompt": "…"}`)
	}
	out := &asked{action: in.Action, stream: x.h.options.Stream}
	if x.h.options.Debug && in.Action != "" {
		return out, nil
	}
	if err := out.say(&in); err != nil {
		return nil, err
	}
	words := in.Stream
	if v := x.R.Header.Get(customHeader + "Braid-Stream"); v != "" {
		words = append(words, strings.Split(v, ",")...)
	}
	if len(words) > 0 {
		s, err := ParseStream(words)
		if err != nil {
			return nil, err
		}
		out.stream = s
	}
	out.run.Model = in.Model
	if s := string(in.OutputSchema); s != "" && s != "null" {
		out.run.OutputSchema = in.OutputSchema
	}
	out.run.Tokens, out.run.Shown = x.tokens()
	out.run.Key = x.retryID()
	if len(out.run.Key) > front.MaxID {
		return nil, front.Bad("the amz-sdk-invocation-id is too long", "send at most 200 bytes")
	}
	return out, nil
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
			a.run.Attachments = append(a.run.Attachments, &event.Text{Text: *c.Text})
		case c.Image != nil:
			data, err := c.Image.Source.data()
			if err != nil {
				return err
			}
			a.run.Attachments = append(a.run.Attachments, &event.Image{MIME: mimeOf("image/", c.Image.Format), Data: data})
		case c.Document != nil:
			data, err := c.Document.Source.data()
			if err != nil {
				return err
			}
			a.run.Attachments = append(a.run.Attachments, &event.Document{MIME: mimeOf("", c.Document.Format), Name: c.Document.Name, Data: data})
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

// tokens returns the secrets that the headers carry for tools: the caller's headers by their
// names after the prefix, in lower case, and the platform's tokens. They stay in memory and last
// for the run. shown are the header names whose values are not secret.
func (x *exchange) tokens() (out map[string]secret.Secret, shown []string) {
	out = map[string]secret.Secret{}
	put := func(name, value string) {
		if value != "" {
			out[name] = secret.New(value)
		}
	}
	for name := range x.R.Header {
		if rest, ok := strings.CutPrefix(name, customHeader); ok && rest != "Braid-Stream" {
			put(strings.ToLower(rest), x.R.Header.Get(name))
			if !secret.Names(rest) {
				shown = append(shown, strings.ToLower(rest))
			}
		}
	}
	for _, name := range []string{"Workloadaccesstoken", "X-Amz-Bedrock-Agentcore-Identity-Wat"} { // the later name takes precedence
		put("workload_access_token", x.R.Header.Get(name))
	}
	put("oauth2_callback_url", x.R.Header.Get("Oauth2callbackurl"))
	shown = append(shown, "oauth2_callback_url")
	if x.h.options.TrustPlatform && !x.door { // otherwise it is the credential for this server
		put("authorization", x.R.Header.Get("Authorization"))
	}
	return out, shown
}

package mcptool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// wireResult is a result as servers write it (specification 2026-07-28, tools;
// the older ones are a part of it).
//
//nolint:tagliatelle // the protocol's names
type wireResult struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
}

//nolint:tagliatelle // the protocol's names
type wireContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Data []byte `json:"data"`
	MIME string `json:"mimeType"`
	// Of links.
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Of embedded resources.
	Resource *struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"`
}

// maxBlocks is how many blocks of one result are kept. Each costs memory and a place in the log, also
// where it is empty.
const maxBlocks = 1000

// output turns a server's result into blocks:
//
//	text                   [event.Text]
//	image                  [event.Image]
//	audio                  [event.Media], with the sound in its URL
//	resource, as text      [event.Document] with its text
//	resource, as bytes     image or media by its type, else a document with its bytes
//	resource_link          text that names it: a link is no content yet
//	anything else          text: the JSON as it came
//	structuredContent      Output.Structured, as the server wrote it
//
// Text over limit bytes and blocks over maxBlocks are cut, and the result says so.
func output(raw json.RawMessage, limit int) (tool.Output, error) {
	var w wireResult
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Output{}, err
	}
	out := tool.Output{IsError: w.IsError}
	left := limit
	rest := len(w.Content) - maxBlocks
	if rest > 0 {
		w.Content = w.Content[:maxBlocks]
	}
	for _, one := range w.Content {
		out.Content = append(out.Content, block(one, &left))
	}
	if rest > 0 {
		out.Content = append(out.Content, &event.Text{Text: fmt.Sprintf("[cut: %d more blocks are left out]", rest)})
	}
	if s := bytes.TrimSpace(w.Structured); len(s) > 0 && string(s) != "null" {
		switch proper, ok := keepable(s); {
		case !ok:
		case len(proper) <= limit:
			out.Structured = proper
		case len(out.Content) == 0:
			// It would be all that the model sees.
			out.Content = []event.Block{&event.Text{Text: boundText(string(proper), &left)}}
		}
	}
	return out, nil
}

func block(raw json.RawMessage, left *int) event.Block {
	var c wireContent
	if err := json.Unmarshal(raw, &c); err != nil {
		c.Type = "" // not what its type promises
	}
	switch {
	case c.Type == "text":
		return &event.Text{Text: boundText(c.Text, left)}
	case c.Type == "image" && len(c.Data) > 0:
		return &event.Image{MIME: c.MIME, Data: c.Data}
	case c.Type == "audio" && len(c.Data) > 0:
		return media("audio", c.MIME, c.Data)
	case c.Type == "resource_link":
		return &event.Text{Text: boundText(link(&c), left)}
	case c.Type == "resource" && c.Resource != nil:
		r := c.Resource
		name, kind := fileName(r.URI), major(r.MIME)
		switch {
		case len(r.Blob) == 0:
			return &event.Document{Name: name, MIME: r.MIME, Text: boundText(r.Text, left)}
		case kind == "image":
			return &event.Image{MIME: r.MIME, Data: r.Blob}
		case kind == "audio" || kind == "video":
			return media(kind, r.MIME, r.Blob)
		default:
			return &event.Document{Name: name, MIME: r.MIME, Data: r.Blob}
		}
	}
	return &event.Text{Text: boundText(string(raw), left)}
}

// media has sound and film by reference only: the reference holds them.
func media(kind, mimeType string, data []byte) *event.Media {
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	return &event.Media{Media: kind, MIME: mimeType, URL: "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

func link(c *wireContent) string {
	title := c.Title
	if title == "" {
		title = c.Name
	}
	said := slices.DeleteFunc([]string{c.URI, title, c.MIME, c.Description}, func(s string) bool { return s == "" })
	return "[resource " + strings.Join(said, " · ") + "]"
}

func major(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	kind, _, _ = strings.Cut(kind, "/")
	return kind
}

// fileName is what a document is called: the last part of its address.
func fileName(uri string) string {
	if u, err := url.Parse(uri); err == nil {
		if name := path.Base(u.Path); name != "." && name != "/" {
			return clean(name)
		}
	}
	return clean(uri)
}

// boundText takes s out of what is left of the result's text.
func boundText(s string, left *int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= *left {
		*left -= len(s)
		return s
	}
	keep := max(*left, 0)
	*left = 0
	return shorten.Text(s, keep, fmt.Sprintf("\n[cut: this text is %d bytes long, of which the first %d are shown]", len(s), keep))
}

// keepable makes JSON that every log can keep: what has doubled keys or halves
// of characters is written anew.
func keepable(raw json.RawMessage) (json.RawMessage, bool) {
	if strictjson.Check(raw, strictjson.DefaultDepth) == nil {
		return bytes.Clone(raw), true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	again, err := json.Marshal(v)
	if err != nil || strictjson.Check(again, strictjson.DefaultDepth) != nil {
		return nil, false
	}
	return again, true
}

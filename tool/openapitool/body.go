package openapitool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// body is the request body of an operation.
type body struct {
	key      string
	required bool
	media    string
	form     byte // 'j' JSON, 'f' form, 'm' multipart, 't' text or bytes
	encoding map[string]wireEncoding
	// binary lists the properties that are files.
	binary map[string]bool
	schema any
}

//nolint:tagliatelle // OpenAPI's names
type wireEncoding struct {
	ContentType   string `json:"contentType"`
	Style         string `json:"style"`
	Explode       *bool  `json:"explode"`
	AllowReserved bool   `json:"allowReserved"`
}

type wireMedia struct {
	Schema   json.RawMessage         `json:"schema"`
	Encoding map[string]wireEncoding `json:"encoding"`
}

func isJSON(media string) bool {
	kind, _, err := mime.ParseMediaType(media)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "*/*" || kind == "application/*")
}

// rank orders media types by how well a model fills them.
func rank(media string) (order int, form byte) {
	kind, _, err := mime.ParseMediaType(media)
	switch {
	case err != nil:
		return 9, 0
	case kind == "application/json":
		return 0, 'j'
	case isJSON(media):
		return 1, 'j'
	case kind == "application/x-www-form-urlencoded":
		return 2, 'f'
	case kind == "multipart/form-data":
		return 3, 'm'
	case strings.HasPrefix(kind, "text/"):
		return 4, 't'
	case strings.HasPrefix(kind, "multipart/"):
		return 9, 0
	}
	return 5, 't'
}

// readBody reads the request body of an operation, in the media type that is best for a model.
func (l *loader) readBody(raw []byte, uses map[string]bool) (*body, error) {
	var w struct {
		Description string                     `json:"description"`
		Required    bool                       `json:"required"`
		Content     map[string]json.RawMessage `json:"content"`
	}
	if err := l.doc.read(raw, &w); err != nil {
		return nil, err
	}
	b := &body{required: w.Required}
	best := 9
	for _, media := range slices.Sorted(maps.Keys(w.Content)) {
		if order, form := rank(media); order < best {
			best, b.media, b.form = order, media, form
		}
	}
	if best == 9 {
		if len(w.Content) == 0 {
			return nil, nil //nolint:nilnil // it has no body
		}
		return nil, errors.New("has a body of a type that is not supported")
	}
	var m wireMedia
	if err := l.doc.read(w.Content[b.media], &m); err != nil {
		return nil, err
	}
	b.encoding, b.schema = m.Encoding, map[string]any{}
	if len(m.Schema) > 0 {
		var err error
		if b.schema, err = l.doc.convert(m.Schema, uses); err != nil {
			return nil, err
		}
	}
	if strings.Contains(b.media, "*") {
		b.media = "application/json"
	}
	switch b.form {
	case 't':
		b.schema = map[string]any{"type": "string", "description": "The body as " + line(b.media, 100) + ": text, or a data: URL with base64."}
	case 'f', 'm':
		b.schema = l.flat(b.schema, uses)
		b.binary = l.files(b.schema)
	}
	b.schema = described(b.schema, w.Description)
	return b, nil
}

// flat replaces a reference by its schema, so that the fields of a form are known.
func (l *loader) flat(schema any, uses map[string]bool) any {
	m, ok := schema.(map[string]any)
	ref, isRef := m["$ref"].(string)
	if !ok || !isRef {
		return schema
	}
	for name := range uses {
		def := l.doc.schemas[name]
		if def == nil || "#/$defs/"+def.name != ref || !def.done {
			continue
		}
		for next := range def.uses {
			uses[next] = true
		}
		if target, ok := def.schema.(map[string]any); ok {
			return target
		}
	}
	return schema
}

// files lists the properties of a form that are files, alone or in a list.
func (l *loader) files(schema any) map[string]bool {
	found := map[string]bool{}
	m, _ := schema.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	for name, one := range properties {
		p, _ := one.(map[string]any)
		if items, ok := p["items"].(map[string]any); ok {
			p = items
		}
		if p["format"] == "binary" {
			found[name] = true
		}
	}
	return found
}

// write returns the bytes of a body and their media type.
func (b *body) write(raw json.RawMessage) (data []byte, media string, err error) {
	switch b.form {
	case 'j':
		return raw, b.media, nil
	case 'f':
		data, err = b.writeForm(raw)
		return data, b.media, err
	case 'm':
		return b.writeMultipart(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, "", errors.New("must be a string")
	}
	data, given := content(text)
	if b.media == "application/octet-stream" && given != "" {
		return data, given, nil
	}
	return data, b.media, nil
}

// writeForm writes an object as application/x-www-form-urlencoded.
func (b *body) writeForm(raw json.RawMessage) ([]byte, error) {
	var all []pair
	err := members(raw, func(name string, v []byte) error {
		e := b.encoding[name]
		p := parameter{name: name, style: e.Style, explode: true, reserved: e.AllowReserved}
		if p.style == "" {
			p.style = "form"
		}
		p.explode = p.style == "form" || p.style == "deepObject"
		if e.Explode != nil {
			p.explode = *e.Explode
		}
		// An object is one field with JSON, unless the document says how else it is written.
		if e.Style == "" && e.Explode == nil && (v[0] == '{' || isJSON(e.ContentType) || nestedList(v)) {
			all = append(all, pair{escape(name), escape(string(v))})
			return nil
		}
		pairs, err := p.pairs(v)
		if err != nil {
			return fmt.Errorf("%s %w", line(name, 60), err)
		}
		all = append(all, pairs...)
		return nil
	})
	return []byte(query(all)), err
}

func nestedList(raw []byte) bool {
	return raw[0] == '[' && bytes.ContainsAny(raw[1:], "[{")
}

// writeMultipart writes an object as multipart/form-data: one part for each field, and for each item of a list.
func (b *body) writeMultipart(raw json.RawMessage) ([]byte, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	err := members(raw, func(name string, v []byte) error {
		if v[0] != '[' || isJSON(b.encoding[name].ContentType) {
			return b.part(w, name, v)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(v, &list); err != nil {
			return err
		}
		for _, one := range list {
			if err := b.part(w, name, bytes.TrimSpace(one)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return buf.Bytes(), w.FormDataContentType(), nil
}

var quoter = strings.NewReplacer("\\", "\\\\", "\"", "%22", "\r", "%0D", "\n", "%0A")

func (b *body) part(w *multipart.Writer, name string, v []byte) error {
	h := textproto.MIMEHeader{}
	disposition := `form-data; name="` + quoter.Replace(name) + `"`
	media, _, _ := strings.Cut(b.encoding[name].ContentType, ",")
	media = strings.TrimSpace(media)
	data := v
	if v[0] != '{' && v[0] != '[' {
		text, err := plainText(v)
		if err != nil {
			return err
		}
		data = []byte(text)
		if b.binary[name] {
			var given string
			data, given = content(text)
			disposition += `; filename="` + quoter.Replace(name) + `"`
			if media == "" || strings.Contains(media, "*") {
				media = given
			}
			if media == "" {
				media = "application/octet-stream"
			}
		}
	} else if media == "" {
		media = "application/json"
	}
	h.Set("Content-Disposition", disposition)
	if media != "" && printable(media) {
		h.Set("Content-Type", media)
	}
	part, err := w.CreatePart(h)
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	return err
}

// content is the content of a file: the text itself, or what a data: URL has in base64.
func content(text string) (data []byte, media string) {
	if head, rest, ok := strings.Cut(text, ","); ok && strings.HasPrefix(head, "data:") && len(head) < 200 {
		kind, encoded := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			kind = ""
		}
		if encoded {
			if data, err := base64.StdEncoding.DecodeString(rest); err == nil {
				return data, kind
			}
		} else if data, err := url.PathUnescape(rest); err == nil {
			return []byte(data), kind
		}
	}
	return []byte(text), ""
}

package openapitool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// document is an OpenAPI document whose parts are still JSON.
type document struct {
	// old is set for OpenAPI 3.0, whose schemas are not JSON Schema.
	old bool
	top map[string][]byte
	// parts are the components, by kind and name.
	parts map[string]map[string][]byte
	// base is where the document is from; nil if unknown. Relative servers refer to it.
	base    *url.URL
	schemas map[string]*definition
	// names has the definitions' names.
	names map[string]bool
	// nodes is how many more parts of schemas are converted, bytes how many more bytes of schemas are made.
	nodes, bytes int
}

// The bounds of one schema of a document, and of all.
const (
	mostNodesOfOne = 100_000
	mostNodes      = 2_000_000
	mostBytes      = 128 << 20
)

func newDocument(data []byte, base *url.URL) (*document, error) {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf"))
	if len(data) == 0 {
		return nil, errors.New("is empty")
	}
	if data[0] != '{' {
		var err error
		if data, err = fromYAML(data); err != nil {
			return nil, err
		}
	}
	d := &document{
		top: map[string][]byte{}, parts: map[string]map[string][]byte{}, base: base, schemas: map[string]*definition{},
		names: map[string]bool{}, nodes: mostNodes, bytes: mostBytes,
	}
	if err := members(data, func(key string, v []byte) error { d.top[key] = v; return nil }); err != nil {
		return nil, err
	}
	var version string
	if d.top["swagger"] != nil {
		return nil, errors.New("is Swagger 2.0; convert it to OpenAPI 3")
	}
	if json.Unmarshal(d.top["openapi"], &version) != nil {
		return nil, errors.New(`has no "openapi" with a version`)
	}
	switch {
	case strings.HasPrefix(version, "3.0"):
		d.old = true
	case !strings.HasPrefix(version, "3."):
		return nil, fmt.Errorf("has the version %.20q, which is not supported", version)
	}
	if d.top["components"] == nil {
		return d, nil
	}
	return d, members(d.top["components"], func(kind string, v []byte) error {
		part := map[string][]byte{}
		d.parts[kind] = part
		if strings.HasPrefix(kind, "x-") {
			return nil
		}
		return members(v, func(name string, v []byte) error { part[name] = v; return nil })
	})
}

// title is the document's name for users.
func (d *document) title() string {
	var info struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(d.top["info"], &info) != nil || info.Title == "" {
		return "OpenAPI"
	}
	return info.Title
}

// errRemote is a reference to another document. Nothing is read from there: the document's author would choose what.
var errRemote = errors.New("refers to another document, which is not read; put it into this one")

// at returns what a reference refers to.
func (d *document) at(ref string) ([]byte, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, errRemote
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil || !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("has the reference %.100q, which cannot be read", ref)
	}
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strictjson.UnescapePointer(s)
	}
	raw, rest := d.top[steps[0]], steps[1:]
	if steps[0] == "components" && len(steps) >= 3 {
		raw, rest = d.parts[steps[1]][steps[2]], steps[3:]
	}
	for _, s := range rest {
		if raw == nil || len(rest) > maxDepth {
			break
		}
		raw = child(raw, s)
	}
	if raw == nil {
		return nil, fmt.Errorf("refers to %.100q, which is not there", ref)
	}
	return raw, nil
}

// child returns a member of an object or of a list; nil if there is none.
func child(raw []byte, name string) (found []byte) {
	if raw[0] == '[' {
		var list []json.RawMessage
		var i int
		if json.Unmarshal(raw, &list) != nil || json.Unmarshal([]byte(name), &i) != nil || i < 0 || i >= len(list) {
			return nil
		}
		return list[i]
	}
	// What is no object has no members.
	_ = members(raw, func(key string, v []byte) error {
		if key == name {
			found = v
		}
		return nil
	})
	return found
}

// read decodes an object into v. If it is a reference, read decodes what it refers to.
func (d *document) read(raw []byte, v any) error {
	for range 32 {
		var r struct {
			Ref string `json:"$ref"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return errSyntax
		}
		if r.Ref == "" {
			if err := json.Unmarshal(raw, v); err != nil {
				return errors.New("has a part of the wrong type")
			}
			return nil
		}
		var err error
		if raw, err = d.at(r.Ref); err != nil {
			return err
		}
	}
	return errors.New("has a reference that refers to itself")
}

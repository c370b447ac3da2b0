package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// maxSchema is the maximum size of a schema in a file.
const maxSchema = 1 << 20

// schemaFlag requests an answer in the form of a schema.
func schemaFlag() conf.Flag {
	return conf.Flag{
		Name: "schema", Value: "FILE|JSON",
		Help: "answer with JSON for this JSON schema: a file, or the schema itself, such as {\"type\":\"object\",…}",
	}
}

// schemaOf reads the schema of the flag; nil is none.
func schemaOf(in *conf.Invocation) (json.RawMessage, error) {
	text, given := in.Flags["schema"]
	if !given {
		return nil, nil
	}
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		raw, err := readSchema(text)
		if err != nil {
			return nil, &event.Error{
				Kind: event.ErrInvalid, Message: "the file of --schema cannot be read", Err: err,
				Hint: "name a file that you may read, of at most 1 MiB, or write the schema itself, which begins with {",
			}
		}
		text = string(raw)
	}
	raw := json.RawMessage(text)
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the value of --schema is not JSON: " + err.Error(), Err: err,
			Hint: `give a JSON schema, such as {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
		}
	}
	return raw, nil
}

func readSchema(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err == nil && len(raw) > maxSchema {
		err = io.ErrShortBuffer
	}
	return raw, err
}

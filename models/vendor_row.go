package models

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/openai"
)

// vendorRow is a row of the file.
type vendorRow struct {
	Name    string `yaml:"name"`
	Title   string `yaml:"title"`
	Address string `yaml:"address"`
	// Key is the variable with the key; "" means that the server needs none.
	Key string `yaml:"key"`
	// Model is the default model; "" means none.
	Model    string               `yaml:"model"`
	Thinking openai.ThinkingPlace `yaml:"thinking"`
	Usage    *bool                `yaml:"usage"`
	Serial   *bool                `yaml:"serial"`
	Tools    *bool                `yaml:"tools"`
	Forced   string               `yaml:"forced"`
	Named    *bool                `yaml:"named"`
	LongName bool                 `yaml:"max_completion_tokens"`
	Files    bool                 `yaml:"files"`
	Schemas  bool                 `yaml:"schemas"`
	Strict   bool                 `yaml:"strict"`
	Effort   string               `yaml:"effort"`
	Seed     string               `yaml:"seed"`
	Cache    string               `yaml:"cache"`
	IDs      int                  `yaml:"ids"`
	// Errors are kinds of errors by the server's code or type.
	Errors map[string]event.ErrorKind `yaml:"errors"`
	Page   string                     `yaml:"page"`
	Read   string                     `yaml:"read"`
}

// dialect returns the server's protocol.
func (r *vendorRow) dialect() openai.Dialect {
	no := func(b *bool) bool { return b != nil && !*b }
	return openai.Dialect{
		Thinking: r.Thinking, NoUsage: no(r.Usage), NoSerial: no(r.Serial), NoTools: no(r.Tools), Forced: r.Forced,
		NoNamed: no(r.Named), LongName: r.LongName, Files: r.Files, Schemas: r.Schemas, Strict: r.Strict, Effort: r.Effort, Seed: r.Seed,
		Cache: r.Cache, IDs: r.IDs, Errors: r.Errors,
	}
}

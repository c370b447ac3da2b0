package demo

import (
	"embed"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

//go:embed scripts/*.yaml
var files embed.FS

// Default is the script of the model name "demo".
const Default = "assistant"

// Scripts lists the built-in scripts in alphabetical order.
func Scripts() []string {
	var names []string
	entries, err := files.ReadDir("scripts")
	if err != nil { // the folder is part of the program
		return nil
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Source returns the text of a built-in script; "" is [Default]. For an unknown name it returns
// an *[event.Error] of kind ErrModelNotFound that lists the scripts.
func Source(name string) ([]byte, error) {
	if name == "" {
		name = Default
	}
	if !slices.Contains(Scripts(), name) {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "there is no demo script " + quoted60(name),
			Hint: "there are " + strings.Join(Scripts(), ", "),
		}
	}
	return files.ReadFile("scripts/" + name + ".yaml")
}

// Load returns a model with a built-in script; "" is [Default]. It returns the errors of
// [Source] and [New].
func Load(name string, opts ...Option) (*Model, error) {
	if name == "" {
		name = Default
	}
	data, err := Source(name)
	if err != nil {
		return nil, err
	}
	s, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	return New(s, opts...)
}

func quoted60(s string) string { return "\"" + clip(strings.ToValidUTF8(s, "?")) + "\"" }

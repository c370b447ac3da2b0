package models

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/openai"
)

//go:embed vendors.yaml
var builtinVendors []byte

// DefaultVendors returns the vendors of this build, always the same value.
var DefaultVendors = sync.OnceValue(func() *Vendors {
	v, _ := parseVendors(builtinVendors, nil) // a test holds that it can be read
	return v
})

// Vendors are named servers with OpenAI's Chat Completions, by the part before the colon of a
// reference. They are immutable. The nil Vendors are empty.
type Vendors struct{ rows []vendorRow }

// MaxVendors bounds the size of a file of vendors in bytes.
const MaxVendors = 256 << 10

const (
	mostVendors = 500
	longestID   = 40
)

var (
	vendorNames = lazyre.New(`^[a-z][a-z0-9]{0,31}$`)
	memberNames = lazyre.New(`^[a-z][a-z_]{0,39}$`)
)

// ParseVendors parses a file of vendors and adds it to [DefaultVendors]: a row replaces the one
// with the same name. The file is strict: an unknown member, a row without an address and a name
// of another provider are errors of kind ErrInvalid. It returns ErrTooLarge for more than
// [MaxVendors] bytes.
//
//	vendors:
//	  - name: acme                    # before the colon: acme:NAME
//	    address: https://llm.acme.example/v1
//	    key: ACME_API_KEY             # the variable; left out, the server needs no key
//	    model: acme-large             # what is used where no model is named
//	    title: Acme                   # in sentences; left out, the name
//	    thinking: reasoning_content   # where thoughts go back: reasoning_content, reasoning,
//	                                  # parts, details, none; left out, where they came
//	    usage: false                  # leave stream_options out
//	    serial: false                 # leave parallel_tool_calls out
//	    tools: false                  # the models take no tools
//	    forced: any                   # tool_choice for "some tool"; left out, required; none: never
//	    named: false                  # tool_choice cannot name a tool
//	    max_completion_tokens: true   # instead of max_tokens
//	    files: true                   # PDF can be sent
//	    schemas: true                 # answers can be held to a schema
//	    strict: true                  # tools can be held to their schemas
//	    effort: reasoning             # the form of an effort: reasoning_effort, reasoning,
//	                                  # enable_thinking, thinking, none; left out, reasoning_effort
//	    seed: random_seed             # the name of the member; left out, seed
//	    cache: anthropic              # mark what to cache with cache_control
//	    ids: 9                        # letters and digits of a call's id; left out, any
//	    errors: {too_busy: overloaded} # kinds of errors by the server's code or type
func ParseVendors(data []byte) (*Vendors, error) { return parseVendors(data, DefaultVendors()) }

func parseVendors(data []byte, below *Vendors) (*Vendors, error) {
	if len(data) > MaxVendors {
		return nil, &event.Error{
			Op: vendorsOp, Kind: event.ErrTooLarge, Message: "the file of vendors is larger than 256 KiB", Hint: "leave out what is not used",
		}
	}
	var file struct {
		Date    string      `yaml:"date"`
		Vendors []vendorRow `yaml:"vendors"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, wrongVendors("it is empty")
		}
		return nil, wrongVendors(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, wrongVendors("it holds more than one YAML document")
	}
	if len(file.Vendors) > mostVendors {
		return nil, wrongVendors(fmt.Sprintf("it has more than %d vendors", mostVendors))
	}
	v := &Vendors{}
	if below != nil {
		v.rows = slices.Clone(below.rows)
	}
	var seen []string
	for i := range file.Vendors {
		row := &file.Vendors[i]
		if problem := row.problem(); problem != "" {
			return nil, wrongVendors(fmt.Sprintf("vendor %d: %s", i+1, problem))
		}
		if slices.Contains(seen, row.Name) {
			return nil, wrongVendors(fmt.Sprintf("vendor %d: %s stands twice", i+1, row.Name))
		}
		seen = append(seen, row.Name)
		if row.Title == "" {
			row.Title = row.Name
		}
		if at := slices.IndexFunc(v.rows, func(o vendorRow) bool { return o.Name == row.Name }); at >= 0 {
			v.rows[at] = *row
		} else {
			v.rows = append(v.rows, *row)
		}
	}
	return v, nil
}

// problem returns what is wrong with a row; "" means nothing.
func (r *vendorRow) problem() string {
	u, err := url.Parse(r.Address)
	switch {
	case !vendorNames.MatchString(r.Name):
		return "its name is not made of small letters and digits, at most 32"
	case slices.Contains(ownNames(), r.Name):
		return r.Name + " is a provider with an API of its own"
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return "its address is no https://host/v1"
	case r.Model != "" && presentable(r.Model) == "":
		return "model is no name of a model"
	case r.Key != "" && !variableNames.MatchString(r.Key):
		return "key names the variable that holds the key, such as ACME_API_KEY"
	case r.Thinking != "" && !slices.Contains(openai.ThinkingPlaces(), r.Thinking):
		return "thinking is one of reasoning_content, reasoning, parts, details and none"
	case r.Forced != "" && r.Forced != "any" && r.Forced != "required" && r.Forced != openai.ForcedNever:
		return "forced is required, any or none"
	case r.Effort != "" && !slices.Contains(openai.EffortForms(), r.Effort):
		return "effort is one of " + strings.Join(openai.EffortForms(), ", ")
	case r.Seed != "" && !memberNames.MatchString(r.Seed):
		return "seed is the name of a member, such as random_seed"
	case r.Cache != "" && r.Cache != openai.CacheAnthropic:
		return "cache is anthropic"
	case r.IDs < 0 || r.IDs > longestID || r.IDs > 0 && r.IDs < 6:
		return "ids is a number from 6 to 40"
	case len(r.Title) > 60 || strings.ContainsFunc(r.Title, func(c rune) bool { return c < ' ' }):
		return "its title is too long, or has control characters"
	}
	for _, code := range slices.Sorted(maps.Keys(r.Errors)) {
		switch {
		case code == "" || len(code) > 100 || strings.ContainsFunc(code, func(c rune) bool { return c <= ' ' }):
			return "errors has a code that cannot be one"
		case !slices.Contains(openai.Kinds(), r.Errors[code]):
			return "errors gives " + code + " a kind that a model's error cannot have"
		}
	}
	return ""
}

// providers returns a provider for each row.
func (v *Vendors) providers() []provider {
	if v == nil {
		return nil
	}
	list := make([]provider, len(v.rows))
	for i := range v.rows {
		row := &v.rows[i]
		list[i] = provider{name: row.Name, title: row.Title, vendor: row}
		if row.Key != "" {
			list[i].keys = []string{row.Key}
		}
		if row.Key != "" && row.Model != "" {
			list[i].model = row.Name + ":" + row.Model
		}
	}
	return list
}

// Names returns the names of the vendors in their order.
func (v *Vendors) Names() []string {
	if v == nil {
		return nil
	}
	names := make([]string, len(v.rows))
	for i := range v.rows {
		names[i] = v.rows[i].Name
	}
	return names
}

const vendorsOp = "vendors"

func wrongVendors(what string) error {
	return &event.Error{
		Op: vendorsOp, Kind: event.ErrInvalid, Message: "the file of vendors cannot be read: " + what,
		Hint: "the guide to models shows a row; each needs a name and an address",
	}
}

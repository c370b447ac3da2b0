package conf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// ModelOptions returns the settings of model calls. It fails if a server tool's token is not in the
// environment.
func (sys *System) ModelOptions(s *Settings) (model.Options, error) {
	o := model.Options{
		MaxTokens: s.MaxTokens, Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Thinking: s.ThinkingBudget, Effort: s.Effort,
		ShowThinking: s.ShowThinking != nil && *s.ShowThinking, Verbosity: s.Verbosity, ServiceTier: s.ServiceTier,
		Extra: s.Extra, Headers: s.Headers,
	}
	for i := range s.ServerTools {
		t := s.ServerTools[i].ServerTool
		if name := s.ServerTools[i].token; name != "" {
			token := sys.Getenv(name)
			if token == "" {
				return o, &event.Error{
					Kind: event.ErrInvalid, Message: "there is no token for the MCP server " + strconv.Quote(term.CleanLine(term.Fit(t.Name, 40))),
					Hint: "set " + name,
				}
			}
			t.Token = func() string { return token }
		}
		o.ServerTools = append(o.ServerTools, t)
	}
	return o, nil
}

// ServerTool is a tool that the provider runs, with the variable that holds its token.
type ServerTool struct {
	model.ServerTool

	token string
}

var (
	effortWords  = lazyre.New(`^[a-z][a-z_-]{0,19}$`)
	tierWords    = lazyre.New(`^[a-z][a-z0-9_-]{0,39}$`)
	memberNames  = lazyre.New(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	headerNames  = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	envNames     = lazyre.New(`^[A-Z_][A-Z0-9_]{0,63}$`)
	hostNames    = lazyre.New(`^[A-Za-z0-9*][A-Za-z0-9.*/_-]{0,252}$`)
	mostExtra    = 64 << 10
	serverToolOf = []model.ServerToolKind{model.WebSearch, model.WebFetch, model.CodeExecution, model.FileSearch, model.RemoteMCP}
)

// ParseEffort reads a reasoning effort.
func ParseEffort(to *model.Effort, v string) error {
	v = strings.ToLower(strings.TrimSpace(v))
	if v != "" && !effortWords.MatchString(v) {
		return errors.New("is no word such as none, low, medium, high or max")
	}
	*to = model.Effort(v)
	return nil
}

// ParseChoice reads a switch; an empty value gives nil.
func ParseChoice(to **bool, v string) error {
	*to = nil
	if v == "" {
		return nil
	}
	var on bool
	if err := ParseSwitch(&on, v); err != nil {
		return err
	}
	*to = &on
	return nil
}

// ParseTopP reads a share of probability; an empty value gives nil.
func ParseTopP(to **float64, v string) error {
	*to = nil
	if v == "" {
		return nil
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(x) || x <= 0 || x > 1 {
		return errors.New("is no number above 0 and at most 1")
	}
	*to = &x
	return nil
}

// ParseSeed reads a seed; an empty value gives nil.
func ParseSeed(to **int64, v string) error {
	*to = nil
	if v == "" {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return errors.New("is no whole number")
	}
	*to = &n
	return nil
}

// ParseTier reads a service tier.
func ParseTier(to *string, v string) error {
	if v = strings.TrimSpace(v); v != "" && !tierWords.MatchString(v) {
		return errors.New("is no word such as flex or priority")
	}
	*to = v
	return nil
}

// ParseServerTools reads one tool per line: its kind and, after "=", its settings as name=value joined by
// "&".
func ParseServerTools(v string) ([]ServerTool, error) {
	var list []ServerTool
	for line := range strings.SplitSeq(v, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		kind, rest := line, ""
		if i := strings.IndexAny(line, "=?"); i >= 0 {
			kind, rest = line[:i], line[i+1:]
		}
		t := ServerTool{ServerTool: model.ServerTool{Kind: model.ServerToolKind(kind)}}
		if !slices.Contains(serverToolOf, t.Kind) {
			return nil, errors.New("names no tool that providers run: use web_search, web_fetch, code_execution, file_search or mcp")
		}
		if err := t.set(rest); err != nil {
			return nil, err
		}
		twice := func(o ServerTool) bool { return o.Kind == t.Kind && o.Name == t.Name }
		if slices.ContainsFunc(list, twice) {
			return nil, fmt.Errorf("names %s twice", kind)
		}
		list = append(list, t)
	}
	return list, nil
}

// set reads the settings of a tool.
func (t *ServerTool) set(text string) error {
	values, err := url.ParseQuery(text)
	if err != nil {
		return errors.New("has settings that are not name=value, joined by &")
	}
	known := t.settings()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		take, ok := known[name]
		if !ok {
			if len(known) == 0 {
				return fmt.Errorf("gives settings to %s, which has none", t.Kind)
			}
			return fmt.Errorf("gives %s a setting that it does not have: there are %s", t.Kind, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if len(values[name]) != 1 || !take(values[name][0]) {
			return fmt.Errorf("gives the setting %s of %s no value that it can have", name, t.Kind)
		}
	}
	switch {
	case len(t.Domains) > 0 && len(t.Blocked) > 0:
		return errors.New("gives domains and blocked: one of the two")
	case t.Kind == model.RemoteMCP && (t.Name == "" || t.URL == ""):
		return errors.New("names an MCP server without name and url")
	case t.Kind == model.FileSearch && len(t.Stores) == 0:
		return errors.New("names no store to search in: write file_search=stores=ID")
	}
	return nil
}

// settings returns the settings of the tool's kind, each with its parser.
func (t *ServerTool) settings() map[string]func(string) bool {
	names := func(to *[]string, form *lazyre.Regexp) func(string) bool {
		return func(v string) bool {
			*to = Words(v)
			return len(*to) > 0 && !slices.ContainsFunc(*to, func(s string) bool { return !form.MatchString(s) })
		}
	}
	uses := func(v string) bool { return ParseCount(&t.MaxUses, v) == nil }
	switch t.Kind {
	case model.WebSearch, model.WebFetch:
		return map[string]func(string) bool{"max_uses": uses, "domains": names(&t.Domains, hostNames), "blocked": names(&t.Blocked, hostNames)}
	case model.FileSearch:
		return map[string]func(string) bool{"max_uses": uses, "stores": names(&t.Stores, hostNames)}
	case model.RemoteMCP:
		return map[string]func(string) bool{
			"name": func(v string) bool { t.Name = v; return memberNames.MatchString(v) },
			"url": func(v string) bool {
				t.URL = v
				u, err := url.Parse(v)
				return err == nil && u.Host != "" && u.User == nil && u.Scheme == "https"
			},
			"tools": names(&t.Tools, memberNames),
			"token": func(v string) bool { t.token = v; return envNames.MatchString(v) },
		}
	default:
		return nil
	}
}

// parseExtra reads one NAME=JSON per line; a value may span lines.
func parseExtra(v string) (map[string]json.RawMessage, error) {
	rest := strings.TrimSpace(v)
	if rest == "" {
		return nil, nil //nolint:nilnil // no members
	}
	if len(rest) > mostExtra {
		return nil, errors.New("is more than 64 KiB")
	}
	members := map[string]json.RawMessage{}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !ok || !memberNames.MatchString(name) {
			return nil, errors.New("is not NAME=JSON, such as user=\"ann\" in quotes")
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("names %s twice", name)
		}
		dec := json.NewDecoder(strings.NewReader(after))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("has a value of %s that is not JSON; a text stands in double quotes", name)
		}
		members[name] = value
		behind := after[dec.InputOffset():]
		if rest = strings.TrimSpace(behind); rest != "" && !strings.Contains(behind[:len(behind)-len(strings.TrimLeft(behind, " \t\r\n"))], "\n") {
			return nil, fmt.Errorf("has more than one value of %s", name)
		}
	}
	return members, nil
}

// parseHeaders reads one NAME=VALUE per line. The provider checks which headers are allowed.
func parseHeaders(v string) (map[string]string, error) {
	var fields map[string]string
	for line := range strings.SplitSeq(v, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !headerNames.MatchString(name) {
			return nil, errors.New("is not NAME=VALUE")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, errors.New("has control characters")
		}
		if fields == nil {
			fields = map[string]string{}
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("names %s twice", name)
		}
		fields[name] = value
	}
	return fields, nil
}

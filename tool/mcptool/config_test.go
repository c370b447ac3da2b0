package mcptool_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcptool"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()
	got, err := mcptool.ParseConfig([]byte("\ufeff" + `{
		"$schema": "x", "mcpServers": {
			"files": {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "${KEY}"}, "cwd": "/srv", "autoApprove": []},
			"docs":  {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "tools": ["search"]},
			"a b":   {"type": "streamable-http", "url": "http://127.0.0.1:9/"},
			"older": {"type": "sse", "url": "https://old.example/sse", "disabled": true},
			"plain": {"url": "https://plain.example"}
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []mcptool.Config{
		{
			Name: "files", Command: "npx", Args: []string{"-y", "server"}, Dir: "/srv",
			Env: hidden(map[string]string{"KEY": "${KEY}"}),
		},
		{
			Name: "docs", URL: "https://docs.example/mcp", Tools: []string{"search"},
			Headers: hidden(map[string]string{"Authorization": "Bearer ${TOKEN}"}),
		},
		{Name: "a b", URL: "http://127.0.0.1:9/"},
		{Name: "older", URL: "https://old.example/sse", SSE: true, Disabled: true},
		{Name: "plain", URL: "https://plain.example"},
	}
	if d := cmp.Diff(want, got, revealed(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Dial" }, cmp.Ignore())); d != "" {
		t.Error(d)
	}
}

func revealed() cmp.Option {
	return cmp.Comparer(func(a, b secret.Secret) bool { return a.Reveal() == b.Reveal() })
}

func TestConfigThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                  "no proper JSON",
		`{"mcpServers": {}`: "no proper JSON",
		`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`: "no proper JSON",
		`[]`:                                     "no JSON object",
		`{}`:                                     `has no "mcpServers" (put the servers`,
		`{"servers": {}}`:                        `has no "mcpServers" (rename the key`,
		`{"mcpservers": {}}`:                     `has no "mcpServers" (rename the key`,
		`{"mcpServers": []}`:                     `"mcpServers" is no object`,
		`{"mcpServers": {"a": 1}}`:               `"a" is no object`,
		`{"mcpServers": {"a": {}}}`:              `"a" has neither a command nor a url`,
		`{"mcpServers": {"": {"command": "x"}}}`: "a server without a name",
		`{"mcpServers": {"a": {"command": "x", "url": "https://x.example"}}}`:              "both a command and a url",
		`{"mcpServers": {"a": {"command": ["x"]}}}`:                                        `"command" is not a text`,
		`{"mcpServers": {"a": {"command": null}}}`:                                         `"command" is not a text`,
		`{"mcpServers": {"a": {"command": "x", "args": "y"}}}`:                             `"args" is not a list of texts (write a list of texts)`,
		`{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}`:                         `"env" is not an object of texts`,
		`{"mcpServers": {"a": {"command": "x", "env": {"A=B": "1"}}}}`:                     `environment variable "A=B"`,
		`{"mcpServers": {"a": {"comand": "x"}}}`:                                           `"comand" is perhaps meant to be "command"`,
		`{"mcpServers": {"a": {"type": "http"}}}`:                                          "is of type http and has no url",
		`{"mcpServers": {"a": {"type": "stdio", "url": "https://x.example"}}}`:             "is of type stdio and has no command",
		`{"mcpServers": {"a": {"type": "websocket", "url": "wss://x.example"}}}`:           `unknown type "websocket"`,
		`{"mcpServers": {"a": {"url": "ftp://x.example"}}}`:                                "no http or https address",
		`{"mcpServers": {"a": {"url": "https://"}}}`:                                       "no http or https address",
		`{"mcpServers": {"a": {"url": "https://me:pw@x.example"}}}`:                        "password in its url",
		`{"mcpServers": {"a": {"url": "https://x.example", "headers": {"Host": "y"}}}}`:    `the header "Host"`,
		`{"mcpServers": {"a": {"url": "https://x.example", "headers": {"a b": "y"}}}}`:     `the header "a b"`,
		`{"mcpServers": {"a": {"url": "https://x.example", "headers": {"A": "y\nB: z"}}}}`: `the header "A" that cannot be sent`,
		`{"mcpServers": {"a": {"command": "x", "headers": {"A": "y"}}}}`:                   "a command and settings of HTTP",
	} {
		_, err := mcptool.ParseConfig([]byte(text))
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"A": "${B}", "B": "b", "EMPTY": "", "LINES": "x\ny"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	one := func(s string) (string, error) {
		c, err := mcptool.Config{Name: "x", Command: "x", Args: []string{s}}.Expand(lookup)
		if err != nil {
			return "", err
		}
		return c.Args[0], nil
	}
	for in, want := range map[string]string{
		"plain": "plain", "${B}": "b", "<${B}${B}>": "<bb>", "${A}": "${B}", "${EMPTY}": "", "${EMPTY:-d}": "d", "${NONE:-d}": "d",
		"${NONE:-}": "", "${B:-d}": "b", "$B": "$B", "${B": "${B", "${}": "${}", "${a b}${B}": "${a b}b", "${${B}": "${b", "$${B}": "$b",
	} {
		if got, err := one(in); err != nil || got != want {
			t.Errorf("%s becomes %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := one("${NONE} ${MORE} ${NONE}"); event.KindOf(err) != event.ErrInvalid || !strings.Contains(err.Error(), "needs MORE, NONE, which is not set") {
		t.Errorf("missing: %v", err)
	}
	before := mcptool.Config{Name: "x", URL: "https://${B}.example", Headers: hidden(map[string]string{"K": "Bearer ${B}"})}
	after, err := before.Expand(lookup)
	if err != nil || after.URL != "https://b.example" || after.Headers["K"].Reveal() != "Bearer b" || before.Headers["K"].Reveal() != "Bearer ${B}" {
		t.Errorf("%v, %v", after, err)
	}
	// What is put in is checked where it is put.
	before.Headers["K"] = secret.New("${LINES}")
	if _, err := before.Expand(lookup); event.KindOf(err) != event.ErrInvalid || strings.Contains(err.Error(), "y") && strings.Contains(err.Error(), "x\n") {
		t.Errorf("a value with a line end: %v", err)
	}
}

func TestAConfigurationPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "c0ffee-key"
	all := []mcptool.Config{
		{Name: "a", Command: "/opt/x/npx", Args: []string{"--key", key}, Env: hidden(map[string]string{"K": key})},
		{Name: "b", URL: "https://b.example/mcp?key=" + key, Headers: hidden(map[string]string{"Authorization": key})},
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "a", all[0], "b", all[1], "headers", all[1].Headers)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s", all, all, all, all[0]), fmt.Sprint(all[0].Env, all[1].Headers), log.String()} {
		if strings.Contains(s, key) || s == "" {
			t.Errorf("it prints %s", s)
		}
	}
	if s := fmt.Sprint(all); s != "[a (command npx) b (http b.example)]" {
		t.Errorf("it prints %s", s)
	}
}

// The last words of a program do not repeat what it was given to keep.
func TestLastWordsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	c := with(program(t, "exit-env"), map[string]string{"API_KEY": "c0ffee-key-of-mine", "FLAG": "1"})
	_, err := mcptool.Connect(t.Context(), patient(), c)
	if got := mcptool.Stderr(err); got != "my key is [redacted], my flag 1" {
		t.Errorf("%q", got)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		`{"mcpServers":{"a":{"command":"npx","args":["-y"],"env":{"K":"${K:-v}"},"cwd":"x"}}}`,
		`{"mcpServers":{"b":{"type":"http","url":"https://x.example","headers":{"A":"Bearer ${T}"},"tools":["t"],"disabled":true}}}`,
		`{"mcpServers":{"c":{"type":"sse","url":"http://[::1]:1"}}}`, `{"servers":{}}`, `{"mcpServers":null}`, "\ufeff{}", `{"mcpServers":{"a":{"url":"${X}"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		configs, err := mcptool.ParseConfig(data)
		if err != nil {
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Message == "" || e.Hint == "" || configs != nil {
				t.Fatalf("%v, %+v", configs, err)
			}
			return
		}
		for _, c := range configs {
			if c.Name == "" || (c.Command == "") == (c.URL == "") {
				t.Fatalf("%#v", c)
			}
			// Filled in with nothing dangerous, it holds or is refused; once filled in,
			// it is filled in for good.
			full, err := c.Expand(func(string) (string, bool) { return "v", true })
			if err != nil {
				continue
			}
			again, err := full.Expand(func(string) (string, bool) { return "w", true })
			same := maps.EqualFunc(full.Headers, again.Headers, func(a, b secret.Secret) bool { return a.Reveal() == b.Reveal() })
			if err == nil && !strings.Contains(string(data), "${") && (!slices.Equal(full.Args, again.Args) || full.URL != again.URL || !same) {
				t.Fatalf("%#v became %#v", full, again)
			}
		}
	})
}

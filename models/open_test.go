package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

func none(string) string { return "" }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestOpenFindsDemoModels(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"": "demo:assistant", "demo": "demo:assistant", "demo:": "demo:assistant", "demo:assistant": "demo:assistant",
		"demo:tour": "demo:tour", "demo:seed2": "demo:seed2", "\tdemo:tour\n": "demo:tour", "demo:tour?speed=2": "demo:tour",
		"demo?characters=1&fault=cut&attempts=1&cycle=1&after=2&retry_after=1s&size=5&rate=9&first_byte=1s&total=2s": "demo:assistant",
	} {
		m, err := openIn(none, ref)
		if err != nil {
			t.Errorf("%q: %v", ref, err)
			continue
		}
		if info := m.Info(); info.Name != want || !info.Simulated {
			t.Errorf("%q: %+v", ref, info)
		}
	}
	for _, name := range Names() {
		if _, err := openIn(env("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k", "AWS_BEARER_TOKEN_BEDROCK", "k", "AWS_REGION", "us-east-1"), name); err != nil {
			t.Errorf("%s is listed and cannot be opened: %v", name, err)
		}
	}
}

func TestOpenReadsTheEnvironment(t *testing.T) {
	t.Setenv(Variable, "demo:tour")
	for ref, want := range map[string]string{"": "demo:tour", "demo:seed2": "demo:seed2"} {
		if m, err := Open(ref); err != nil || m.Info().Name != want {
			t.Errorf("%q: %v, %v", ref, m, err)
		}
	}
	t.Setenv(Variable, "dmeo")
	if _, err := Open(""); !errors.Is(err, event.ErrModelNotFound) || !strings.Contains(err.Error(), Variable) {
		t.Errorf("a wrong %s: %v", Variable, err)
	}
	if _, err := Open("dmeo"); err == nil || strings.Contains(err.Error(), Variable) {
		t.Errorf("a wrong reference: %v", err)
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	secret := "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5"
	for _, tc := range []struct {
		ref, message, hint string
		kind               event.ErrorKind
	}{
		{"anthropic:claude-sonnet-4-5", "no key for Anthropic", "set ANTHROPIC_API_KEY", event.ErrModelAuth},
		{"anthropic", "no key for Anthropic", "set ANTHROPIC_API_KEY", event.ErrModelAuth},
		{"anthropic:claude sonnet", "no model of such a name", "anthropic:claude-sonnet-5-5", event.ErrModelNotFound},
		{"anthropic:claude-sonnet-5-5?colour=1", "there is no setting of that name; there are base, beta, cache, effort, key, show, stall, thinking, tier, top_p, version", "anthropic:claude-sonnet-5-5?effort=high", event.ErrInvalid},
		{"anthropic:sk-ant-1", "no model of such a name", "anthropic:claude-sonnet-5-5", event.ErrModelNotFound},
		{"anthropic:" + secret, "no model of such a name", "anthropic:claude-sonnet-5-5", event.ErrModelNotFound},
		{"openai:gpt-5", "no key for OpenAI", "set OPENAI_API_KEY", event.ErrModelAuth},
		{"openai:sk-proj-1", "no model of such a name", "openai:gpt-6.1-sol", event.ErrModelNotFound},
		{"openai:gpt 5", "no model of such a name", "openai:gpt-6.1-sol", event.ErrModelNotFound},
		{"gemini:gemini-3", "no key for Gemini", "set GEMINI_API_KEY", event.ErrModelAuth},
		{"gemini:a b", "no model of such a name", "gemini:gemini-3", event.ErrModelNotFound},
		{"bedrock:amazon.nova-pro-v1:0", "no AWS region is set", "set AWS_REGION", event.ErrInvalid},
		{"bedrock:a b", "no model of such a name", "as AWS does, such as bedrock:", event.ErrModelNotFound},
		{"ollama", "Ollama has no model of such a name", "ollama:qwen3", event.ErrModelNotFound},
		{"ollama:qwen3?x=1", "there is no setting of that name; there are api, base", "ollama:qwen3?stall=10m", event.ErrInvalid},
		{"openai", "no key for OpenAI", "set OPENAI_API_KEY", event.ErrModelAuth},
		{"dmeo", `no model "dmeo"`, "did you mean demo?", event.ErrModelNotFound},
		{"demoo:tour", `no model "demoo:tour"`, "did you mean demo:tour?", event.ErrModelNotFound},
		{"Demo", `no model "Demo"`, "did you mean demo?", event.ErrModelNotFound},
		{"tour", `no model "tour"`, "did you mean demo:tour?", event.ErrModelNotFound},
		{"opneai:gpt-5", "no model", "did you mean openai:gpt-5?", event.ErrModelNotFound},
		{"gpt-5", `no model "gpt-5"`, "did you mean openai:gpt-5?", event.ErrModelNotFound},
		{"claude-opus-4", "no model", "did you mean anthropic:claude-opus-4?", event.ErrModelNotFound},
		{"xyzzy", `no model "xyzzy"`, "this build has demo, demo:approval", event.ErrModelNotFound},
		{"a b", "there is no such model", "this build has", event.ErrModelNotFound},
		{":", "there is no such model", "this build has", event.ErrModelNotFound},
		{"\x1b[31m", "there is no such model", "this build has", event.ErrModelNotFound},
		{secret, "there is no such model", "this build has", event.ErrModelNotFound},
		{"sk-proj-1", "there is no such model", "this build has", event.ErrModelNotFound},
		{"demo:tuor", `no demo script "tuor"`, "did you mean demo:tour?", event.ErrModelNotFound},
		{"demo:xyzzy", `no demo script "xyzzy"`, "this build has", event.ErrModelNotFound},
		{"demo:" + secret, "there is no such demo script", "this build has", event.ErrModelNotFound},
		{"demo:tour?sped=2", "there is no setting of that name; there are after, attempts", "?speed=2", event.ErrInvalid},
		{"demo:tour?speed=fast", "speed has no value", "?speed=2", event.ErrInvalid},
		{"demo:tour?speed=-1", "speed has no value", "?speed=2", event.ErrInvalid},
		{"demo:tour?speed=1&speed=2", "speed has no value that it can have, or stands twice", "", event.ErrInvalid},
		{"demo:tour?%zz", "no list of name=value", "", event.ErrInvalid},
		{"demo:tour?fault=explode", `there is no fault "explode"`, "", event.ErrInvalid},
		{"demo:tour?total=1s&first_byte=2s", "total is shorter", "", event.ErrInvalid},
	} {
		m, err := openIn(none, tc.ref)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%q: %v, %v", tc.ref, m, err)
			continue
		}
		if s := err.Error(); strings.Contains(s, secret) || strings.Contains(s, "sk-proj") || strings.Contains(s, "\x1b") {
			t.Errorf("%q is repeated: %s", tc.ref, s)
		}
	}
}

func TestScriptsFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m, err := openIn(none, "demo:"+write("my script.yaml", "rules: [{reply: Hello.}]")+"?speed=1")
	if err != nil {
		t.Fatal(err)
	}
	if info := m.Info(); info.Name != "demo:my_script" || !info.Simulated || info.ContextWindow != 0 {
		t.Errorf("Info %+v", info)
	}
	text := ""
	for c, err := range m.Stream(t.Context(), &model.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		text += c.Text
	}
	if text != "Hello." {
		t.Errorf("it says %q", text)
	}
	for ref, want := range map[string]event.ErrorKind{
		filepath.Join(dir, "none.yaml"): event.ErrModelNotFound,
		dir + "/":                       event.ErrInvalid,
		write("odd.yaml", "rule: []"):   event.ErrInvalid,
		write("empty.yml", ""):          event.ErrInvalid,
		write("big.yaml", strings.Repeat("# x\n", demo.MaxScript/4)+"#"): event.ErrTooLarge,
		write("wrong.yaml", "rules: [{reply: '${x}'}]"):                  event.ErrInvalid,
	} {
		m, err := openIn(none, "demo:"+ref)
		if m != nil || !errors.Is(err, want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %s", filepath.Base(ref), err, want)
		}
	}
}

func TestSettingsReachTheModel(t *testing.T) {
	t.Parallel()
	ask := func(ref string, attempt int) (n int, err error) {
		m, err := openIn(none, ref)
		if err != nil {
			t.Fatal(err)
		}
		req := &model.Request{Cycle: 1, Attempt: attempt, Messages: []event.Message{
			{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hello"}}},
		}}
		for c, err := range m.Stream(t.Context(), req) {
			if err != nil {
				return n, err
			}
			if c.Kind == model.ChunkText {
				n++
			}
		}
		return n, nil
	}
	if n, err := ask("demo?characters=1", 1); err != nil || n < 100 {
		t.Errorf("%d pieces of one character, %v", n, err)
	}
	var e *event.Error
	if _, err := ask("demo?fault=throttled&attempts=2&retry_after=3s", 2); !errors.As(err, &e) || e.Kind != event.ErrThrottled || e.RetryAfter != 3*time.Second {
		t.Errorf("throttled: %v", err)
	}
	if n, err := ask("demo?fault=throttled&attempts=2", 3); err != nil || n == 0 {
		t.Errorf("the third attempt: %v", err)
	}
	start := time.Now()
	if _, err := ask("demo?first_byte=30ms", 1); err != nil || time.Since(start) < 30*time.Millisecond {
		t.Errorf("the first byte after %v, %v", time.Since(start), err)
	}
}

func TestDetectInOrder(t *testing.T) {
	t.Parallel()
	const claude, nova = "anthropic:claude-sonnet-5-5", "bedrock:global.anthropic.claude-sonnet-4-6"
	for _, tc := range []struct {
		name string
		env  func(string) string
		ref  string
		want Detection
	}{
		{"nothing", none, "", Detection{Model: "demo", Source: FromNothing}},
		{"a reference", env(Variable, "demo:tour", "OPENAI_API_KEY", "x"), "demo:seed2", Detection{Model: "demo:seed2", Source: FromArgument}},
		{"the variable", env(Variable, " demo:tour ", "OPENAI_API_KEY", "x"), "  ", Detection{Model: "demo:tour", Source: FromEnvironment}},
		{"a key", env("OPENAI_API_KEY", "sk-1234"), "", Detection{
			Model: "openai:gpt-6.1-sol", Source: FromKey, Keys: []string{"OPENAI_API_KEY"}, Notes: []string{"OPENAI_API_KEY is set; using openai:gpt-6.1-sol"},
		}},
		{"a key of Google", env("GOOGLE_API_KEY", "x"), "", Detection{
			Model: "gemini:gemini-3.6-flash", Source: FromKey, Keys: []string{"GOOGLE_API_KEY"},
			Notes: []string{"GOOGLE_API_KEY is set; using gemini:gemini-3.6-flash"},
		}},
		{"a profile that may be for anything", env("AWS_PROFILE", "p"), "", Detection{
			Model: "demo", Source: FromNothing, Keys: []string{"AWS_PROFILE"},
			Notes: []string{"AWS_PROFILE is set, but no AWS region is named: set AWS_REGION; using the simulated model"},
		}},
		{"a profile and a region", env("AWS_PROFILE", "p", "AWS_DEFAULT_REGION", "eu-west-1"), "", Detection{
			Model: nova, Source: FromKey, Keys: []string{"AWS_PROFILE"}, Notes: []string{"AWS_PROFILE is set; using " + nova},
		}},
		{"a key of Bedrock", env("AWS_BEARER_TOKEN_BEDROCK", "t"), "", Detection{
			Model: nova, Source: FromKey, Keys: []string{"AWS_BEARER_TOKEN_BEDROCK"}, Notes: []string{"AWS_BEARER_TOKEN_BEDROCK is set; using " + nova},
		}},
		{"several keys", env("GOOGLE_API_KEY", "x", "GEMINI_API_KEY", "y", "ANTHROPIC_API_KEY", "z", "AWS_PROFILE", "p"), "", Detection{
			Model: claude, Source: FromKey, Keys: []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_PROFILE"},
			Notes: []string{
				"ANTHROPIC_API_KEY is set; using " + claude,
				"GEMINI_API_KEY is set; using " + claude,
				"AWS_PROFILE is set, but no AWS region is named: set AWS_REGION; using " + claude,
			},
		}},
		{"a key of Anthropic", env("ANTHROPIC_API_KEY", " sk-ant-1234\n"), "", Detection{
			Model: claude, Source: FromKey, Keys: []string{"ANTHROPIC_API_KEY"}, Notes: []string{"ANTHROPIC_API_KEY is set; using " + claude},
		}},
		{"a key and a choice", env("ANTHROPIC_API_KEY", "sk-ant-1234"), "demo", Detection{Model: "demo", Source: FromArgument}},
		{"a blank key", env("ANTHROPIC_API_KEY", " \n"), "", Detection{Model: "demo", Source: FromNothing}},
	} {
		if d := cmp.Diff(tc.want, Detect(tc.env, tc.ref)); d != "" {
			t.Errorf("%s -want +got:\n%s", tc.name, d)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, ref := range append(Names(), "gpt-5", "demo:tour?speed=1&fault=cut", "demo?%", ":", "sk-123", "opneai:x") {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if isPath(ref) {
			t.Skip("files are the operator's")
		}
		m, err := openIn(none, ref)
		var e *event.Error
		if (m == nil) == (err == nil) || err != nil && (!errors.As(err, &e) || e.Message == "" || e.Hint == "") {
			t.Fatalf("%q: %v, %v", ref, m, err)
		}
	})
}

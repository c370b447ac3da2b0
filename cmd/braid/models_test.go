package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/models"
)

// awsFiles keeps a test away from the user's own AWS files.
func awsFiles(env map[string]string) map[string]string {
	env["AWS_CONFIG_FILE"], env["AWS_SHARED_CREDENTIALS_FILE"] = os.DevNull, os.DevNull
	return env
}

// real is a process that opens real models.
func real(t *testing.T, env map[string]string, args ...string) (*process, *strings.Builder, *strings.Builder) {
	t.Helper()
	p, out, errs := testProcess(t, awsFiles(env), args...)
	p.openRef = nil
	return p, out, errs
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	key := "sk-ant-" + strings.Repeat("a1B2", 6)
	p, out, errs := real(t, map[string]string{"ANTHROPIC_API_KEY": key, "GEMINI_API_KEY": " "}, "models")
	p.localServers = func(context.Context) []models.Server {
		return []models.Server{{Name: "vLLM", Address: "127.0.0.1:8000", Models: []string{"Qwen/Qwen3-8B"}}}
	}
	if code := p.run(t.Context()); code != 0 || errs.Len() > 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	for _, want := range []string{
		"\nanthropic  ANTHROPIC_API_KEY is set\n", "  anthropic:claude-sonnet-5-5", "usual\n", " more: braid models anthropic\n",
		"$2.00    $10.00     $0.10", "\nopenai  there is no key for OpenAI\n  next: set OPENAI_API_KEY\n", "\ngemini  there is no key for Gemini\n",
		"\nbedrock  no AWS region is set", "\nollama  no Ollama answers on this machine\n",
		"\nopenai  a model server answers at 127.0.0.1:8000", "openai:Qwen/Qwen3-8B?base=http://127.0.0.1:8000/v1", "free\n",
		"anthropic:claude-sonnet-5-5 is used where none is named: a key for it is set\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), key) || strings.ContainsRune(out.String(), '\x1b') {
		t.Error("the key is shown, or a pipe gets colours")
	}
	for line := range strings.Lines(out.String()) {
		if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("blanks at the end: %q", line)
		}
	}
	if strings.Index(out.String(), "\ndemo") > strings.Index(out.String(), "\ngemini") {
		t.Error("what is not ready stands before what is")
	}
}

func TestModelsOfOneProvider(t *testing.T) {
	t.Parallel()
	p, out, errs := real(t, map[string]string{"ANTHROPIC_API_KEY": "k"}, "models", "anthropic")
	if code := p.run(t.Context()); code != 0 || errs.Len() > 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	for _, want := range []string{"anthropic:claude-haiku-4-5 ", "prompts over", "100K    $0.50     $2.50     $0.05"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "gemini") || strings.Contains(out.String(), "more:") {
		t.Errorf("not narrowed:\n%s", out)
	}
	for args, want := range map[string]string{
		"antropic": "did you mean braid models anthropic?", "xyzzy": "there are anthropic, openai, gemini, bedrock, vertex, azure, ollama, groq", "anthropic openai": "one provider at most",
	} {
		p, _, errs := real(t, map[string]string{}, append([]string{"models"}, strings.Fields(args)...)...)
		if code := p.run(t.Context()); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
	}
}

func TestModelsForPrograms(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte("prices:\n- {model: 'openai:gpt-6.1-sol', input: 1.25, output: 0, until: 2026-01-31}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, out, errs := real(t, map[string]string{"OPENAI_API_KEY": "k", "AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "eu-west-1"}, "models", "--json", "--prices", file)
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	var got modelsJSON
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Model != "openai:gpt-6.1-sol" || got.Source != models.FromKey || got.PricesDate == "" {
		t.Errorf("%+v", got)
	}
	for _, s := range got.Providers {
		switch s.Provider {
		case "openai":
			m := s.Models[0]
			if !s.Ready || s.Key != "OPENAI_API_KEY" || !m.Usual || m.Price == nil || *m.Price.Input != 1_250_000 || *m.Price.Output != 0 || m.Price.CacheRead != nil || m.Price.RanOut != "2026-01-31" || m.Price.Page != "" {
				t.Errorf("%+v", s)
			}
		case "bedrock":
			if !s.Ready || s.Region != "eu-west-1" || s.Models[0].Price == nil || s.Models[0].Price.Page == "" {
				t.Errorf("%+v", s)
			}
		case "anthropic":
			if s.Ready || s.Next != "set ANTHROPIC_API_KEY" || s.Models == nil {
				t.Errorf("%+v", s)
			}
		}
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Error("more than one line")
	}
}

func TestAWrongTableOfPricesIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte("prices:\n- {model: 'openai:x', input: one, output: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "the table of prices, line 2: a price is no plain number", "nowhere.yaml": "there is no such table of prices", t.TempDir(): "cannot be read"} {
		for _, args := range [][]string{{"models"}, {"run", "-m", "demo", "hi"}, {"doctor", "-m", "demo"}} {
			p, out, errs := real(t, map[string]string{"BRAID_PRICES": path}, args...)
			if code := p.run(t.Context()); code == 0 || !strings.Contains(out.String()+errs.String(), want) {
				t.Errorf("%v with %s: %d, %s", args, path, code, errs)
			}
		}
	}
}

func TestWordsForTokens(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "-", 500: "500", 8192: "8K", 200_000: "200K", 1_000_000: "1M", 1_047_576: "1M", 2_500_000: "2.5M"} {
		if got := tokensWord(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A call that fails goes to the next model, in the order of the flags.
func TestFallbackFlags(t *testing.T) {
	t.Parallel()
	open := func(ref string) (braid.Model, error) {
		switch ref {
		case "demo:assistant":
			return demo.Load("assistant", demo.Faults(demo.Fault{Kind: "overloaded"}))
		case "demo:tour":
			return demo.Load("tour", demo.Faults(demo.Fault{Kind: "model_auth"}))
		}
		return openTestModel(ref)
	}
	for _, tc := range []struct {
		args []string
		code int
		said string
	}{
		{args: []string{"--fallback", "demo:approval"}, said: "fallback=demo:approval"},
		{args: []string{"--fallback", "demo:tour", "--fallback", "demo:approval", "--fallback-on", "overloaded", "--fallback-on=model_auth"}, said: "fallback=demo:approval"},
		{args: []string{"--fallback", "demo:tour,demo:assistant, demo:approval", "--fallback-on", "overloaded,model_auth"}, said: "fallback=demo:approval"},
		{args: []string{"--fallback", "demo:tour"}, code: event.ErrModelAuth.Info().Exit, said: "fallback=demo:tour"},
		{args: []string{"--fallback", "nobody:x"}, code: event.ErrModelNotFound.Info().Exit, said: "from fallback"},
		{args: []string{"--fallback", "demo:tour", "--fallback-on", ""}, code: event.ErrInvalid.Info().Exit, said: "for no failure"},
	} {
		p, out, errs := testProcess(t, nil, append([]string{"run", "--trace", "-q", "-m", "demo:assistant", "hi"}, tc.args...)...)
		p.openRef, p.Stdin = open, strings.NewReader("y\n")
		code := p.run(t.Context())
		if code != tc.code || !strings.Contains(errs.String(), tc.said) {
			t.Errorf("%v: %d, want %d and %q\n%s\n%s", tc.args, code, tc.code, tc.said, out, errs)
		}
	}
}

// The doctor and the list of models agree.
func TestDoctorAgreesWithModels(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{},
		{"ANTHROPIC_API_KEY": "k"},
		{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"},
		{"AWS_PROFILE": "p"},
		{"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "us-east-1"},
		{"BRAID_MODEL": "gemini"},
		{"BRAID_MODEL": "bedrock"},
		{"BRAID_MODEL": "openai:gpt-5.4", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
	} {
		p, out, _ := real(t, env, "models", "--json")
		if code := p.run(t.Context()); code != 0 {
			t.Fatalf("%v: %d", env, code)
		}
		var got modelsJSON
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		ready := false
		provider, _, _ := strings.Cut(got.Model, ":")
		for _, s := range got.Providers {
			if s.Provider == provider && s.Ready {
				ready = true
			}
		}
		d, text, _ := real(t, env)
		r, code := examine(t, d, text)
		if broken := r.finds("model", levelBroken) != nil; broken == ready {
			t.Errorf("%v: models says that %s is ready: %v; the doctor says %+v (%d)", env, got.Model, ready, r.finds("model", levelBroken), code)
		}
	}
}

func TestFallbacksOfTheDoctor(t *testing.T) {
	t.Parallel()
	p, out, _ := testProcess(t, nil)
	r, code := examine(t, p, out, "--model", "demo:tour", "--fallback", "demo:assistant")
	if code != 0 || !strings.Contains(out.String(), "demo:assistant is its fallback") {
		t.Errorf("%d, %+v", code, r)
	}
	p, out, _ = testProcess(t, nil)
	if _, code := examine(t, p, out, "--model", "demo:tour", "--fallback", "nobody:x"); code != event.ErrModelNotFound.Info().Exit {
		t.Errorf("%d, %s", code, out)
	}
}

func TestModelsThatClientsMayName(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{
		"demo": true, "demo:tour": true, "anthropic:claude-opus-5-5": true, "openai:Qwen/Qwen3-8B": true, "bedrock:us.amazon.nova-pro-v1:0": true,
		"": false, "anthropic": true, "demo:./x.yaml": false, "demo:x.yml": false, "demo:a/b": false, "openai:x?base=http://evil.example": false, "demo?speed=1": false,
		`openai:a\b`: false, "openai:" + strings.Repeat("x", 200): false,
	} {
		if _, err := models.Named(ref); (err == nil) != want {
			t.Errorf("%s: %v", ref, err)
		}
	}
	p, _, _ := real(t, map[string]string{"ANTHROPIC_API_KEY": "k"})
	a, err := p.openAgents(t.Context(), &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "anthropic:claude-sonnet-5-5"}, AgentSettings: conf.AgentSettings{Tools: "none"},
	}}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	list := a.Models(t.Context())
	names := map[string]string{}
	for _, m := range list {
		if _, twice := names[m.Name]; twice {
			t.Errorf("%s stands twice", m.Name)
		}
		names[m.Name] = m.Why
	}
	if list[0].Name != "anthropic:claude-sonnet-5-5" || names["openai:gpt-6.1-sol"] == "" || names["demo:tour"] != "" || len(names) < 10 {
		t.Errorf("%v", names)
	}
}

func TestVendorsOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vendors.yaml")
	if err := os.WriteFile(file, []byte("vendors:\n- {name: acme, title: Acme, address: 'https://llm.example/v1', key: ACME_API_KEY}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, out, errs := real(t, map[string]string{"ACME_API_KEY": "k"}, "models", "--vendors", file)
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	for _, want := range []string{"\nacme  ACME_API_KEY is set", "\ngroq  openrouter  mistral", "braid models NAME says"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	p, out, errs = real(t, map[string]string{}, "models", "groq")
	if code := p.run(t.Context()); code != 0 || !strings.Contains(out.String(), "set GROQ_API_KEY") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	for path, want := range map[string]string{filepath.Join(t.TempDir(), "none.yaml"): "no such file of vendors", os.DevNull: "it is empty"} {
		p, _, errs = real(t, map[string]string{"BRAID_VENDORS": path}, "models")
		if code := p.run(t.Context()); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d, %s", path, code, errs)
		}
	}
}

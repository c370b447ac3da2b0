package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
)

const someList = `{"groq": {"models": {
	"openai/gpt-oss-120b": {"cost": {"input": 0.30, "output": 0.60, "cache_read": 0.075}, "limit": {"context": 131072}},
	"brand-new": {"cost": {"input": 1, "output": 2}, "limit": {"context": 64000}},
	"bad\u001b[31m": {"cost": {"input": 1, "output": 2}},
	"worse": {"cost": {"input": -1, "output": 2}}}}}`

func listFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anotherRun is a second run of the same user.
func anotherRun(t *testing.T, first *process, args ...string) (*process, *strings.Builder, *strings.Builder) {
	t.Helper()
	p, out, errs := real(t, map[string]string{"GROQ_API_KEY": "k"}, args...)
	p.ConfigDir, p.DataDir = first.ConfigDir, first.DataDir
	return p, out, errs
}

func keptCatalogue(t *testing.T, p *process) string {
	t.Helper()
	dir, err := p.ConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "braid", conf.CatalogueFile)
}

func TestRefreshIsUsedByLaterRuns(t *testing.T) {
	t.Parallel()
	p, out, errs := real(t, map[string]string{}, "models", "--refresh", listFile(t, someList))
	if code := p.run(t.Context()); code != 0 || errs.Len() > 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	path := keptCatalogue(t, p)
	for _, want := range []string{
		"changed\n  groq:openai/gpt-oss-120b: input $0.15 -> $0.30\n", "new\n  groq:brand-new: input $1.00, output $2.00, context 64K\n",
		"left out: 1 with a name that cannot be, 1 with no price that can be\n", "is kept in " + path,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Error("a name paints")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	p2, out2, _ := anotherRun(t, p, "models", "groq")
	if code := p2.run(t.Context()); code != 0 || !strings.Contains(out2.String(), "groq:brand-new ") || !strings.Contains(out2.String(), "$0.30") ||
		!strings.Contains(out2.String(), "the catalogue of 2026-11-23 goes before it") {
		t.Errorf("%d:\n%s", code, out2)
	}
	// The user's own table takes precedence over the catalogue.
	own := listFile(t, "prices:\n- {model: 'groq:brand-new', input: 7, output: 8}\n")
	p3, out3, _ := anotherRun(t, p, "models", "groq", "--prices", own)
	if code := p3.run(t.Context()); code != 0 || !strings.Contains(out3.String(), "$7.00") {
		t.Errorf("%d:\n%s", code, out3)
	}
	p4, out4, _ := anotherRun(t, p, "models", "--refresh", listFile(t, someList), "--json")
	var got refreshed
	if code := p4.run(t.Context()); code != 0 || json.Unmarshal([]byte(out4.String()), &got) != nil || !got.Written || got.LeftOut["no price that can be"] != 1 {
		t.Errorf("%d: %s", code, out4)
	}
	for _, c := range got.Changes {
		if c.Kind != pricing.ChangeUnlisted {
			t.Errorf("the same list changes %+v", c)
		}
	}
}

func TestDryRefreshKeepsNothing(t *testing.T) {
	t.Parallel()
	p, out, errs := real(t, map[string]string{}, "models", "--refresh="+listFile(t, someList), "--dry-run", "--json")
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	var got refreshed
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.Written || len(got.Changes) < 2 || got.Changes[0].Is == nil || *got.Changes[0].Is.Input != 300_000 {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(keptCatalogue(t, p)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is written: %v", err)
	}
}

// A refused refresh leaves the file unchanged.
func TestARefusedRefreshLosesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a page": "<html>", "nothing": "", "another list": `{"x": 1}`, "a broken one": someList[:100], "a deep one": strings.Repeat("[", 1<<20),
		"NaN": "prices:\n- {model: 'groq:x', input: .nan, output: 1}\n", "negative": "prices:\n- {model: 'groq:x', input: -1, output: 1}\n",
		"a bomb":     "a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nprices: [*c]\n",
		"too large":  strings.Repeat(" ", pricing.MaxCatalogue+1),
		"large YAML": "prices:\n" + strings.Repeat("- {model: 'groq:x', input: 1, output: 1}\n", 40_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, errs := real(t, map[string]string{}, "models", "--refresh", listFile(t, someList))
			if code := p.run(t.Context()); code != 0 {
				t.Fatalf("%d: %s", code, errs)
			}
			path := keptCatalogue(t, p)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p2, out2, errs2 := anotherRun(t, p, "models", "--refresh", listFile(t, text))
			if code := p2.run(t.Context()); code == 0 || errs2.Len() == 0 || out2.Len() > 0 || strings.ContainsRune(errs2.String(), '\x1b') {
				t.Errorf("%d: %s%s", code, out2, errs2)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("what was there is lost: %v", err)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// A user's file in the catalogue's place is never overwritten. An unreadable catalogue does not
// stop a run.
func TestTheCatalogueOfSomebodyElse(t *testing.T) {
	t.Parallel()
	p, _, errs := real(t, map[string]string{}, "models", "--refresh", listFile(t, someList))
	path := keptCatalogue(t, p)
	mine := "prices:\n- {model: 'groq:mine', input: 1, output: 2}\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(mine), 0o600)); err != nil {
		t.Fatal(err)
	}
	if code := p.run(t.Context()); code == 0 || !strings.Contains(errs.String(), "was not written by braid models --refresh") {
		t.Errorf("%d: %s", code, errs)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != mine {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.WriteFile(path, []byte(catalogueHead+"prices: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p2, out2, errs2 := anotherRun(t, p, "models", "groq")
	if code := p2.run(t.Context()); code != 0 || !strings.Contains(errs2.String(), "cannot be read, so the built-in prices are used") || !strings.Contains(out2.String(), "$0.15") {
		t.Errorf("%d: %s%s", code, out2, errs2)
	}
	old := catalogueHead + "date: 2026-01-01\nprices:\n- {model: 'groq:openai/gpt-oss-120b', input: 9, output: 10}\n"
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	p3, out3, _ := anotherRun(t, p, "models", "groq")
	if code := p3.run(t.Context()); code != 0 || strings.Contains(out3.String(), "$9.00") {
		t.Errorf("a catalogue older than the built-in table is used:\n%s", out3)
	}
}

func TestRefreshFromAnAddress(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	serve := func(path string, h http.HandlerFunc) { mux.HandleFunc(path, h) }
	serve("/api.json", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, someList)
	})
	serve("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api.json", http.StatusFound) })
	serve("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	serve("/out", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/x", http.StatusFound)
	})
	serve("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	serve("/teapot", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	serve("/page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>no</html>") })
	serve("/endless", func(w http.ResponseWriter, r *http.Request) {
		for block := make([]byte, 64<<10); r.Context().Err() == nil; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	serve("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	plain, safe := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	t.Cleanup(plain.Close)
	t.Cleanup(safe.Close)
	serve("/down", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/api.json", http.StatusFound)
	})
	for name, tc := range map[string]struct{ address, want string }{
		"this machine":            {plain.URL + "/api.json?token=hunter2", ""},
		"https":                   {safe.URL + "/api.json", ""},
		"moved":                   {safe.URL + "/moved", ""},
		"moved here":              {plain.URL + "/moved", ""},
		"round and round":         {plain.URL + "/round", "redirects too often"},
		"from https to http":      {safe.URL + "/down", "is not https"},
		"to another machine":      {plain.URL + "/out", "is not https"},
		"to a file":               {safe.URL + "/file", "is not https"},
		"a status":                {safe.URL + "/teapot", "status 418"},
		"a page":                  {safe.URL + "/page", "a web page"},
		"an endless one":          {safe.URL + "/endless", "larger than 16 MiB"},
		"a silent one":            {safe.URL + "/silent", "too long"},
		"http elsewhere":          {"http://192.0.2.1/api.json", "not one to fetch from"},
		"another scheme":          {"ftp://127.0.0.1/api.json", "not one to fetch from"},
		"a file by address":       {"file:///etc/passwd", "not one to fetch from"},
		"a name and a password":   {"https://me:hunter2@127.0.0.1/api.json", "not one to fetch from"},
		"a host that is no other": {"http://127.0.0.1.example.com/x", "not one to fetch from"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, errs := real(t, map[string]string{}, "models", "--refresh", tc.address)
			f := newFetcher(safe.Client().Transport)
			if strings.Contains(name, "silent") {
				f.time = 50 * time.Millisecond
			}
			in := &conf.Invocation{Cmd: new(conf.Command), Options: map[string]string{}, Flags: map[string]string{"refresh": tc.address}}
			err := p.refreshModels(t.Context(), in, f)
			e, _ := errors.AsType[*event.Error](err)
			if tc.want == "" && err != nil || tc.want != "" && (e == nil || e.Hint == "" || !strings.Contains(e.Message, tc.want)) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			kept, _ := os.ReadFile(keptCatalogue(t, p))
			if (tc.want == "") != (len(kept) > 0) || strings.Contains(string(kept)+out.String()+errs.String(), "hunter2") {
				t.Errorf("kept %q, shown %s", kept, out)
			}
			if e != nil && strings.Contains(e.Message, "hunter2") {
				t.Errorf("a secret is shown: %v", e)
			}
		})
	}
}

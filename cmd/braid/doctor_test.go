package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/tool"
)

// report is the output of braid doctor --json.
type report struct {
	Broken   int       `json:"broken"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
}

// examine runs the doctor and returns its report and exit code.
func examine(t *testing.T, p *process, out *strings.Builder, args ...string) (report, int) {
	t.Helper()
	p.Args = append([]string{"doctor", "--json"}, args...)
	code := p.run(t.Context())
	var r report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return r, code
}

// finds returns the first finding of a check at a level.
func (r report) finds(check string, l level) *finding {
	for i := range r.Findings {
		if r.Findings[i].Check == check && r.Findings[i].Level == l {
			return &r.Findings[i]
		}
	}
	return nil
}

func TestDoctorFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	p, out, errs := testProcess(t, nil)
	r, code := examine(t, p, out, "--model", "demo:tour")
	if code != 0 || r.Broken != 0 || r.Warnings != 0 || errs.Len() != 0 {
		t.Errorf("exit code %d, %+v, %s", code, r, errs)
	}
	for _, c := range checks {
		if r.finds(c.name, levelOK) == nil && r.finds(c.name, levelNote) == nil {
			t.Errorf("nothing is said about %s", c.name)
		}
	}
	for _, f := range r.Findings {
		if f.Level == levelNote && f.Next == "" {
			t.Errorf("no next step: %+v", f)
		}
	}
}

// The doctor finds each fault that it knows.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	key := "sk-" + strings.Repeat("a1B2", 6)
	for _, c := range []struct {
		name  string
		env   map[string]string
		spoil func(*testing.T, *process)
		args  []string
		check string
		level level
		text  string
		kind  event.ErrorKind
	}{
		{
			name:  "configuration that is not YAML",
			spoil: func(t *testing.T, p *process) { writeConfig(t, p, "model: [\n") },
			check: "config", level: levelBroken, text: "not YAML", kind: event.ErrInvalid,
		},
		{
			name:  "unknown name in the configuration",
			spoil: func(t *testing.T, p *process) { writeConfig(t, p, "modell: x\n") },
			check: "config", level: levelBroken, text: "line 1", kind: event.ErrInvalid,
		},
		{
			name:  "wrong value in the configuration",
			spoil: func(t *testing.T, p *process) { writeConfig(t, p, "trace: perhaps\n") },
			check: "config", level: levelBroken, text: "perhaps", kind: event.ErrInvalid,
		},
		{
			name: "wrong value in the environment", env: map[string]string{"BRAID_TIMEOUT": "soon"},
			check: "config", level: levelBroken, text: "BRAID_TIMEOUT", kind: event.ErrInvalid,
		},
		{
			name: "missing configuration that was asked for", args: []string{"--config", "nowhere.yaml"},
			check: "config", level: levelBroken, text: "no such configuration file", kind: event.ErrNotFound,
		},
		{
			name: "configuration that may not be read",
			spoil: func(t *testing.T, p *process) {
				path := writeConfig(t, p, "trace: true\n")
				if err := os.Chmod(path, 0); err != nil {
					t.Fatal(err)
				}
				if f, err := os.Open(path); err == nil {
					f.Close()
					t.Skip("this user may read everything")
				}
			},
			check: "config", level: levelBroken, text: "cannot be read", kind: event.ErrPermission,
		},
		{
			name: "configuration that others may change",
			spoil: func(t *testing.T, p *process) {
				if err := os.Chmod(writeConfig(t, p, "trace: true\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			},
			check: "config", level: levelWarning, text: "other users can change",
		},
		{
			name:  "secret in the configuration",
			spoil: func(t *testing.T, p *process) { writeConfig(t, p, "instructions: use "+key+"\n") },
			check: "config", level: levelWarning, text: "may contain a secret",
		},
		{
			name: "no folder for settings",
			spoil: func(_ *testing.T, p *process) {
				p.ConfigDir = func() (string, error) { return "", errors.New("no HOME") }
			},
			check: "config", level: levelNote, text: "no folder for settings",
		},
		{
			name: "variable that is not an option", env: map[string]string{"BRAID_MODELL": "x"},
			check: "env", level: levelWarning, text: "BRAID_MODELL is not an option",
		},
		{
			name: "proxy that is not an address", env: map[string]string{"HTTPS_PROXY": "http://[::1"},
			check: "env", level: levelWarning, text: "HTTPS_PROXY is not an address",
		},
		{
			name: "model that is none", args: []string{"--model", "nope:1"},
			check: "model", level: levelBroken, text: "no such model", kind: event.ErrModelNotFound,
		},
		{
			name:  "no model",
			check: "model", level: levelNote, text: "a simulated one answers",
		},
		{
			name: "key of a provider", env: map[string]string{"ANTHROPIC_API_KEY": key}, args: []string{"--model", "demo"},
			check: "keys", level: levelNote, text: "ANTHROPIC_API_KEY is set",
		},
		{
			name: "key with a line break", env: map[string]string{"OPENAI_API_KEY": key + "\n"}, args: []string{"--model", "demo"},
			check: "keys", level: levelWarning, text: "OPENAI_API_KEY begins or ends",
		},
		{
			name: "local server",
			spoil: func(_ *testing.T, p *process) {
				p.localServers = func(context.Context) []models.Server {
					return []models.Server{{Name: "Ollama", Address: "127.0.0.1:11434"}}
				}
			},
			check: "local", level: levelNote, text: "127.0.0.1:11434",
		},
		{
			name: "no scratch folder", args: []string{"--scratch", "/dev/null/scratch"},
			check: "scratch", level: levelBroken, text: "scratch folder", kind: event.ErrPermission,
		},
		{
			name: "scratch folder that is a file", args: []string{"--scratch", "doctor_test.go"},
			check: "scratch", level: levelBroken, text: "is not a folder", kind: event.ErrInvalid,
		},
		{
			name: "scratch folder that cannot be written to",
			spoil: func(t *testing.T, p *process) {
				dir := t.TempDir()
				if err := os.Chmod(dir, 0o500); err != nil {
					t.Fatal(err)
				}
				if err := tryWrite(dir); err == nil {
					t.Skip("this user may write everywhere")
				}
				getenv := p.Getenv
				p.Getenv = func(name string) string {
					if name == "BRAID_SCRATCH" {
						return dir
					}
					return getenv(name)
				}
			},
			check: "scratch", level: levelBroken, text: "cannot be written to", kind: event.ErrPermission,
		},
		{
			name: "data folder that is a file", args: []string{"--data", "doctor_test.go"},
			check: "data", level: levelBroken, text: "is not a folder: doctor_test.go", kind: event.ErrInvalid,
		},
		{
			name: "data folder inside a file", args: []string{"--data", "doctor_test.go/data"},
			check: "data", level: levelBroken, text: "inside a file", kind: event.ErrInvalid,
		},
		{
			name: "data folder that cannot be made", args: []string{"--data", "/proc/none/data"},
			spoil: func(t *testing.T, _ *process) {
				if tryWrite("/proc") == nil {
					t.Skip("there is no folder that nobody may write")
				}
			},
			check: "data", level: levelBroken, text: "cannot be made", kind: event.ErrPermission,
		},
		{
			name:  "no data folder",
			spoil: func(_ *testing.T, p *process) { p.DataDir = func() (string, error) { return "", os.ErrNotExist } },
			check: "data", level: levelWarning, text: "no folder for your data",
		},
		{
			name: "nothing is kept", args: []string{"--ephemeral"},
			check: "data", level: levelNote, text: "conversations are not kept",
		},
		{
			name:  "data folder that is in use",
			spoil: func(t *testing.T, p *process) { kept(t, p) },
			check: "data", level: levelNote, text: fmt.Sprintf("process %d is at work", os.Getpid()),
		},
		{
			name: "data folder that others can look into",
			spoil: func(t *testing.T, p *process) {
				kept(t, p)
				dir, _ := p.DataDir()
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			},
			check: "data", level: levelWarning, text: "other users can read",
		},
		{
			name: "journal that is none",
			spoil: func(t *testing.T, p *process) {
				dir, _ := p.DataDir()
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "journal.db"), []byte(strings.Repeat("no journal ", 1000)), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			check: "data", level: levelBroken, text: "is not a journal: ", kind: event.ErrInvalid,
		},
		{
			name: "stored file that is damaged", spoil: damageBlob,
			check: "data", level: levelWarning, text: "1 stored files are damaged",
		},
		{
			name:  "full disk",
			spoil: func(_ *testing.T, p *process) { p.freeSpace = func(string) (uint64, error) { return 1 << 20, nil } },
			check: "disk", level: levelBroken, text: "1 MiB left", kind: event.ErrStorageFull,
		},
		{
			name:  "nearly full disk",
			spoil: func(_ *testing.T, p *process) { p.freeSpace = func(string) (uint64, error) { return 100 << 20, nil } },
			check: "disk", level: levelWarning, text: "only 100 MiB left",
		},
		{
			name: "disk that cannot be looked at",
			spoil: func(_ *testing.T, p *process) {
				p.freeSpace = func(string) (uint64, error) { return 0, os.ErrPermission }
			},
			check: "disk", level: levelWarning, text: "cannot be read",
		},
		{
			name: "system without a figure for the disk",
			spoil: func(_ *testing.T, p *process) {
				p.freeSpace = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
			},
			check: "disk", level: levelNote, text: "not known on this system",
		},
		{
			name:  "clock that is slow",
			spoil: func(_ *testing.T, p *process) { p.Now = func() time.Time { return time.Unix(0, 0).UTC() } },
			check: "clock", level: levelBroken, text: "1970-01-01", kind: event.ErrUnavailable,
		},
		{
			name:  "clock that is fast",
			spoil: func(_ *testing.T, p *process) { p.Now = func() time.Time { return noon.AddDate(200, 0, 0) } },
			check: "clock", level: levelBroken, text: "cannot be", kind: event.ErrUnavailable,
		},
		{
			name: "time zone that is none", env: map[string]string{"TZ": "Mars/Olympus"},
			check: "clock", level: levelWarning, text: "not a time zone",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, out, errs := testProcess(t, c.env)
			if c.spoil != nil {
				c.spoil(t, p)
			}
			r, code := examine(t, p, out, c.args...)
			f := r.finds(c.check, c.level)
			if f == nil || !strings.Contains(f.Text, c.text) {
				t.Fatalf("not found; there is %+v", r.Findings)
			}
			if f.Next == "" {
				t.Errorf("no next step: %+v", f)
			}
			if f.Kind != c.kind || code != c.kind.Info().Exit && c.level == levelBroken {
				t.Errorf("kind %q, exit code %d", f.Kind, code)
			}
			if c.level != levelBroken && code != 0 {
				t.Errorf("exit code %d for something that is not broken", code)
			}
			if strings.Contains(out.String()+errs.String(), key) {
				t.Error("the secret is shown")
			}
		})
	}
}

// silentTool is a tool without a description.
type silentTool struct{ schema string }

func (s silentTool) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "silent", Schema: json.RawMessage(s.schema)}
}

func (silentTool) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, nil
}

func TestDoctorLooksAtTools(t *testing.T) {
	t.Parallel()
	d := &diagnosis{check: "tools"}
	d.lookAtTools([]braid.Tool{silentTool{`{"type":"object","properties":{"b":{},"a":true,"c":{"description":"well"}}}`}})
	if len(d.findings) != 2 || d.findings[0].Level != levelWarning || !strings.Contains(d.findings[1].Text, "a, b") {
		t.Errorf("got %+v", d.findings)
	}
	d = &diagnosis{check: "tools"}
	d.lookAtTools([]braid.Tool{silentTool{`{`}})
	if len(d.findings) != 2 || d.findings[1].Level != levelBroken || d.findings[1].Kind != event.ErrInvalid {
		t.Errorf("got %+v", d.findings)
	}
}

func TestDoctorTriesTheEngine(t *testing.T) {
	t.Parallel()
	say := func(words string) braid.Model {
		return demo.Answer("words", func(*model.Request) demo.Rule {
			return demo.Rule{Reply: []demo.Piece{{Text: words}}}
		})
	}
	d := &diagnosis{p: &process{}, check: "engine"}
	d.tryEngine(t.Context(), say("42 without a tool"))
	if len(d.findings) != 1 || d.findings[0].Level != levelBroken || d.findings[0].Next == "" {
		t.Errorf("a run without a tool gives %+v", d.findings)
	}
	failing, err := demo.Load("assistant", demo.Faults(demo.Fault{Kind: "model_error"}))
	if err != nil {
		t.Fatal(err)
	}
	d = &diagnosis{p: &process{}, check: "engine"}
	d.tryEngine(t.Context(), failing)
	if len(d.findings) != 1 || d.findings[0].Level != levelBroken || !strings.Contains(d.findings[0].Text, "trial run failed") {
		t.Errorf("a model that fails gives %+v", d.findings)
	}
}

func TestDoctorTellsOfAFileThatIsNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("braid.yaml", []byte("model: demo:tour\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, out, _ := testProcess(t, nil)
	r, _ := examine(t, p, out)
	if f := r.finds("config", levelNote); f == nil || !strings.Contains(f.Text, "braid.yaml") {
		t.Errorf("got %+v", r.Findings)
	}
}

func TestDoctorLooksAtTemporaryFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	p, out, _ := testProcess(t, nil)
	r, code := examine(t, p, out)
	if f := r.finds("scratch", levelBroken); f == nil || code != event.ErrNotFound.Info().Exit || !strings.Contains(f.Next, "TMPDIR") {
		t.Errorf("exit code %d, %+v", code, r.Findings)
	}
}

func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	p, out, errs := testProcess(t, map[string]string{"BRAID_MODELL": "x"}, "doctor", "--model", "nope:1")
	if code := p.run(t.Context()); code != event.ErrModelNotFound.Info().Exit {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"broken   model     there is no such model\n", "next: use demo:assistant\n", "\n1 broken, 1 warning\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if errs.Len() != 0 {
		t.Errorf("told twice: %s", errs)
	}
}

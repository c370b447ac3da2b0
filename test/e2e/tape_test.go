package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// own is what belongs to one run alone: its names, its times, and what says that it
// is a replay.
var own = regexp.MustCompile(`"(time|conversation)":"[^"]*",?|"[a-z_]+_ns":\d+,?|"kept":(true|false),|"replay":true,|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`)

// same puts a stream of --json into the form in which a recorded and a replayed one
// must be equal.
func same(out string) []string {
	out = regexp.MustCompile(`run-[A-Z0-9]{20,}`).ReplaceAllString(out, "run-1")
	return strings.Split(strings.ReplaceAll(own.ReplaceAllString(out, ""), ",}", "}"), "\n")
}

// shell runs the command in dir and gives its outputs.
func shell(t *testing.T, env []string, dir string, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), braid, args...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, &stdout, &stderr
	_ = cmd.Run() // its code says it
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// A replay gives a program the events of the recording.
func TestReplayedEventsAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	dir, env := t.TempDir(), environment(t)
	// One tool after another: those that run at once end in an order of their own.
	recorded, errs, code := shell(t, env, dir, "run", "--sequential", "--json", "-m", "demo:tour", "--record", "tour.jsonl", "Show me.")
	if code != 0 || !strings.Contains(errs, "(recorded 3 model calls in tour.jsonl; braid run --replay plays it)") {
		t.Fatalf("%d: %s", code, errs)
	}
	if info, err := os.Stat(filepath.Join(dir, "tour.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, args := range [][]string{nil, {"Show me."}, {"-m", "demo:tour"}} {
		replayed, errs, code := shell(t, env, dir, append([]string{"run", "--sequential", "--json", "--replay", "tour.jsonl"}, args...)...)
		if code != 0 || !strings.Contains(errs, "This is a replay of tour.jsonl: demo:tour is not asked") {
			t.Errorf("%d: %s", code, errs)
		}
		if d := cmp.Diff(same(recorded), same(replayed)); d != "" {
			t.Errorf("-recorded +replayed:\n%s", d)
		}
		if !strings.Contains(replayed, `"simulated":true,"replay":true`) || strings.Contains(recorded, `"replay"`) {
			t.Errorf("the result does not say that it is a replay: %s", replayed)
		}
	}
	if out, _, _ := shell(t, env, dir, "conversations"); strings.Count(strings.TrimSpace(out), "\n") != 0 {
		t.Errorf("a replay was kept:\n%s", out)
	}
}

// What a provider said is replayed without its key and after it has gone; the key stands
// nowhere in the recording.
func TestReplayNeedsNoProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := anthropictest.Start(anthropictest.Text("My key is ", anthropictest.Key[:9], anthropictest.Key[9:], ". Ask ", "away."))
	env := environment(t, "ANTHROPIC_API_KEY="+anthropictest.Key, "ANTHROPIC_BASE_URL="+server.URL)
	recorded, errs, code := shell(t, env, dir, "run", "-q", "--record", "talk.jsonl", "-m", "anthropic:claude-sonnet-5-5", "Who are you? "+anthropictest.Key)
	server.Close()
	if code != 0 || !strings.Contains(recorded, "Ask away.") || errs != "" {
		t.Fatalf("%d: %s%s", code, recorded, errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "talk.jsonl"))
	if err != nil || strings.Contains(string(text), "sk-ant") || strings.Contains(string(text), anthropictest.Key[9:]) || strings.Contains(string(text), server.URL) {
		t.Errorf("%v: %s", err, text)
	}
	bare := environment(t, "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9")
	replayed, errs, code := shell(t, bare, dir, "run", "-q", "--replay", "talk.jsonl")
	if code != 0 || replayed != "My key is [redacted]. Ask away.\n" || !strings.Contains(errs, "anthropic:claude-sonnet-5-5 is not asked") {
		t.Errorf("%d: %q, %s", code, replayed, errs)
	}
	if story, _, _ := shell(t, bare, dir, "run", "--trace", "--replay", "talk.jsonl", "Who are you? "+anthropictest.Key); !strings.Contains(story, "Ask away.") {
		t.Errorf("with the prompt: %s", story)
	}
}

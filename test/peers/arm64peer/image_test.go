//go:build peers

package arm64peer

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/wire/agentcore"
)

// image is what the Dockerfile says: how the program is built, and how it is started.
func image(t *testing.T) (build string, start []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 .*go build .*)$`).FindSubmatch(text)
	cmd := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindSubmatch(text)
	if run == nil || cmd == nil {
		t.Fatal("the Dockerfile does not build, or does not start")
	}
	if err := json.Unmarshal(cmd[1], &start); err != nil {
		t.Fatal(err)
	}
	return string(run[1]), start
}

// TestImage starts the program that the image holds, and asks it as the platform does.
func TestImage(t *testing.T) {
	build, start := image(t)
	program := filepath.Join(t.TempDir(), "braid")
	if !strings.Contains(build, "-o /out/braid ") {
		t.Fatalf("the Dockerfile builds %q", build)
	}
	build = strings.Replace(build, "/out/braid", program, 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", build)
	cmd.Dir = filepath.Join("..", "..", "..")
	cmd.Env = append(os.Environ(), "TARGETARCH=arm64", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	if f.Machine != elf.EM_AARCH64 {
		t.Errorf("it is a program for %s", f.Machine)
	}
	if lib, err := f.ImportedLibraries(); err != nil || len(lib) > 0 {
		t.Errorf("an empty image has not %q (%v)", lib, err)
	}
	_ = f.Close()

	// All as in the image, but on this machine alone.
	port := false
	for i := range start {
		if start[i] == "0.0.0.0:8080" {
			start[i], port = "127.0.0.1:0", true
		}
	}
	if !port {
		t.Fatalf("the image answers elsewhere: %q", start)
	}
	argv := append([]string{program}, start...)
	if emulator := os.Getenv("BRAID_EMULATOR"); emulator != "" {
		argv = append([]string{emulator}, argv...)
	}
	data := t.TempDir()
	serve := exec.Command(argv[0], argv[1:]...)
	serve.Env = []string{"BRAID_DATA=" + data, "TMPDIR=" + data, "HOME=" + data}
	var log bytes.Buffer
	serve.Stderr = &log
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); url != "" {
				select {
				case address <- url:
				default:
				}
			}
		}
		ended <- serve.Wait()
	}()
	defer func() {
		_ = serve.Process.Kill()
		_ = <-ended // it was killed
		if t.Failed() {
			t.Logf("%s", &log)
		}
	}()
	var url string
	select {
	case url = <-address:
	case err := <-ended:
		ended <- err
		t.Fatalf("it ended: %v\n%s", err, &log)
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not say where it is")
	}
	t.Logf("it is up after %s", time.Since(begun).Round(time.Millisecond))

	res := get(t, url+"/ping")
	var ping struct {
		Status string `json:"status"`
		Since  int64  `json:"time_of_last_update"`
	}
	if err := json.Unmarshal(res, &ping); err != nil || ping.Status != "Healthy" || ping.Since < begun.Unix()-1 {
		t.Errorf("the ping is %s (%v)", res, err)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/invocations", strings.NewReader(`{"prompt": "What is 6 times 7? 日本語で"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", strings.Repeat("a", 40))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	sum, err := agentcore.Summarize(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !sum.Complete || sum.Text() == "" || len(sum.Anomalies) > 0 || sum.Error != "" {
		t.Errorf("%s, %v: %+v", answer.Status, err, sum)
	}
	t.Logf("it said %q with %d tools after %s", sum.Text(), len(sum.Tools), time.Since(begun).Round(time.Millisecond))

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		ended <- err
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s (%v)", url, res.Status, body, err)
	}
	return body
}

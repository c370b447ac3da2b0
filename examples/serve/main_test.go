package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/secret"
	wire "github.com/braidrun/braid/wire/agentcore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the program and returns where it answers, and its token.
func start(t *testing.T, args ...string) (url, token string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := command(ctx, in, append([]string{"-addr", "127.0.0.1:0"}, args...))
		_ = in.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, token, ok := strings.Cut(strings.TrimSpace(line), "/#token=")
	if !ok {
		t.Fatalf("it prints %q", line)
	}
	return url, token
}

// The agent answers over the native API, over AgentCore's and to the page, whatever it keeps its things in.
func TestTheAgentIsServed(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"in memory":                nil,
		"in a folder":              {"-data", t.TempDir()},
		"with tenants":             {"-tenants"},
		"with tenants in a folder": {"-tenants", "-data", t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, token := start(t, args...)
			overNative(t, url, token)
			overAgentCore(t, url, token)
			page(t, url)
		})
	}
}

func overNative(t *testing.T, url, token string) {
	t.Helper()
	c, err := client.New(url, secret.New(token), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conv, err := c.Create(t.Context(), client.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(t.Context(), conv.ID, "hello", client.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.Result, "Hello!") {
		t.Errorf("the native API answers %q", r.Result)
	}
}

func overAgentCore(t *testing.T, url, token string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/invocations", strings.NewReader(`{"prompt":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	sum, err := wire.Summarize(answer.Body)
	if err != nil || !sum.Complete || !strings.HasPrefix(sum.Text(), "Hello!") {
		t.Errorf("AgentCore answers %d %q, %v", answer.StatusCode, sum.Text(), err)
	}
}

func page(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "<html") {
		t.Errorf("the page is %d %.100s, %v", answer.StatusCode, body, err)
	}
}

package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/serve"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// The whole program is in the folder examples/serve. It calls Run, which answers on Addr until ctx ends.
func ExampleServer_Run() {
	model, err := models.Open("demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background()) // in a program: signal.NotifyContext
	stop()                                                // as Ctrl-C does

	agent := braid.New("guide", model, braid.Instructions("Answer in one sentence."))
	s, err := serve.New(ctx, serve.Options{Agent: agent, Addr: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(s.Token().Reveal(), "braid_"), s.Run(ctx))
	// Output: true <nil>
}

// A program with an http.Server of its own starts and closes the server itself.
func ExampleServer_Start() {
	ctx := context.Background()
	model, err := models.Open("demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := serve.New(ctx, serve.Options{Agent: braid.New("guide", model)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	ask := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/invocations", strings.NewReader(`{"prompt": "hello"}`))
		r.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	fmt.Println(strings.TrimSpace(ask().Body.String())) // it was not started yet

	if err := s.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	sum, err := wire.Summarize(ask().Body)
	fmt.Println(strings.HasPrefix(sum.Text(), "Hello!"), err)
	// Output:
	// {"error":"the service is not started","details":"call Start on the service first"}
	// true <nil>
}

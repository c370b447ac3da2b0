package agentcore_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/server/agentcore"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// An agent of your own as a program for AgentCore Runtime: in main, give the handler to
// http.ListenAndServe(":8080", h).
func ExampleForAgent() {
	ctx := context.Background()
	model, err := models.Open("demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("guide", model, braid.Instructions("Answer in one sentence."))
	h, err := agentcore.ForAgent(ctx, agent, agentcore.Options{TrustPlatform: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close(ctx) }()

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/invocations", strings.NewReader(`{"prompt": "hello"}`)))
	sum, err := wire.Summarize(w.Body)
	fmt.Println(w.Code, sum.Complete, strings.HasPrefix(sum.Text(), "Hello!"), err)
	// Output: 200 true true <nil>
}

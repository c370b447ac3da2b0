package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
)

// A conversation with a server, printed as it is said.
func ExampleClient_Stream() {
	server := httptest.NewServer(http.HandlerFunc(pretend))
	defer server.Close()

	ctx := context.Background()
	c, err := client.New(server.URL, secret.New(os.Getenv("BRAID_TOKEN")), client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	conv, err := c.Create(ctx, client.NewConversation{Title: "Sums"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var screen client.Screen
	for f, err := range c.Stream(ctx, conv.ID, "What is 3 + 5?", client.RunOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		change := screen.Apply(f)
		if change.Replaced {
			fmt.Print("\n(once more) ") // what was shown does not hold
		}
		fmt.Print(change.Text)
		if r, ok := f.(*native.Result); ok {
			fmt.Println("\nended:", r.StopReason)
		}
	}
	// Output:
	// Eight.
	// ended: end_turn
}

// pretend answers as a server would, and breaks the stream in the middle of a word.
func pretend(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/conversations":
		fmt.Fprint(w, `{"id":"c1","title":"Sums"}`)
	case r.Method == http.MethodPost:
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Run-Id", "r1")
		fmt.Fprint(w, "id: 3:1.1\nevent: text_delta\ndata: {\"text\":\"Ei\",\"step\":\"m1\",\"attempt\":1}\n\nid: 3:1.2\nevent: te")
	case r.Header.Get("Last-Event-ID") == "3:1.1" && strings.HasSuffix(r.URL.Path, "/runs/r1/stream"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 4\nevent: message\ndata: {\"text\":\"Eight.\",\"step\":\"m1\",\"attempt\":1}\n\n",
			"id: 5\nevent: result\ndata: {\"result\":\"Eight.\",\"stop_reason\":\"end_turn\",\"status\":\"completed\"}\n\n")
	}
}

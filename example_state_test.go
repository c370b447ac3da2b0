package braid_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

const visited braid.State[[]string] = "visited"

// Tools keep values in the conversation's state. They are written with the result of the call.
func ExampleState() {
	ctx := context.Background()
	visit := braid.Func("visit", "Visits a city.", func(ctx context.Context, in whereTo) (string, error) {
		return "done", visited.Update(ctx, func(old []string) ([]string, error) { return append(old, in.City), nil })
	})
	agent := braid.New("guide", plays(requesting("visit", `{"city":"Porto"}`), requesting("visit", `{"city":"Lisbon"}`), saying("Home.")), visit)
	r, err := agent.Run(ctx, "Go.")
	showResult(r, err)
	cities, _, err := visited.Of(ctx, r.Conversation)
	fmt.Println(cities, err)
	// Output:
	// Home.
	// [Porto Lisbon] <nil>
}

// A tool reads a secret of the run. Nobody else sees it.
func ExampleWithSecrets() {
	login := braid.Func("login", "Logs in.", func(ctx context.Context, _ struct{}) (string, error) {
		return "logged in with " + tool.SecretOf(ctx, "token").Reveal(), nil
	})
	agent := braid.New("clerk", plays(requesting("login", `{}`), saying("Done.")), login)
	r, err := agent.Run(context.Background(), "Log in.",
		braid.WithSecrets(map[string]secret.Secret{"token": secret.New("s3cr3t-t0ken")}))
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	fmt.Println(strings.Contains(fmt.Sprint(messages), "s3cr3t-t0ken"), err)
	// Output:
	// Done.
	// false <nil>
}

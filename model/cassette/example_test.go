package cassette_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/model/demo"
)

// A recording stands in for a model in a test: here it is made in memory, in a test of
// yours it is a file beside it, opened by cassette.Open.
func Example() {
	inner, err := demo.New(demo.Replies("greeter", []demo.Piece{demo.Say("Hello, Ada.")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	var tape bytes.Buffer
	if _, err := braid.New("greeter", cassette.Record(inner, &tape)).Run(context.Background(), "I am Ada."); err != nil {
		fmt.Println(err)
		return
	}

	player, err := cassette.Replay(&tape)
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("greeter", player)
	result, err := agent.Run(context.Background(), "I am Ada.")
	fmt.Println(result.Text(), err, player.Left())

	_, err = agent.Run(context.Background(), "I am Bob.")
	fmt.Println(err)
	// Output:
	// Hello, Ada. <nil> 0
	// cassette: the recording is over (record it again; a replay can only repeat the recorded requests)
}

// Where a request is not the one that was recorded, the error says where.
func ExamplePlayer() {
	const tape = `{"kind":"cassette","version":1}
{"kind":"model","model":1,"name":"m"}
{"kind":"setup","setup":1}
{"kind":"request","n":1,"model":1,"run":1,"cycle":1,"attempt":1,"setup":1,"messages":[{"role":"user","content":[{"kind":"text","text":"I am Ada."}]}]}
{"kind":"chunk","n":1,"chunk":"text","text":"Hello, Ada."}
{"kind":"chunk","n":1,"chunk":"stop","stop":"end_turn"}
{"kind":"end","n":1}
`
	player, err := cassette.Replay(strings.NewReader(tape))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = braid.New("greeter", player).Run(context.Background(), "I am Bob.")
	fmt.Println(err)
	// Output:
	// cassette: this is not what was asked when it was recorded: message 1 (user), block 1, text is "I am Bob.", the recording has "I am Ada." (repeat the recorded request, or record it again; recorded is call (run 1, cycle 1) (request 1, line 4))
}

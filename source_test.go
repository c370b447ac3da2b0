package braid_test

import (
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// shelf is a source with one tool, from one server, of its name.
type shelf string

func (s shelf) Tools() []tool.Tool { return []tool.Tool{bare{string(s), `{"type":"object"}`}} }

func (s shelf) Instructions() string { return "Use " + string(s) + "." }

func (s shelf) ToolServers() []event.ToolServer {
	return []event.ToolServer{{Name: string(s), Status: "connected"}}
}

func TestWhereToolsComeFrom(t *testing.T) {
	t.Parallel()
	var none *shelf
	conv, m := braid.NewConversation(), &heard{says: [][]model.Chunk{says("x")}}
	agent := braid.New("a", m, braid.From(shelf("files"), none, moreTools{}), braid.Instructions("Be brief."), braid.From(shelf("mail")))
	if _, err := agent.Run(t.Context(), "hello", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var got, shown []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.RunStarted); ok {
			for _, s := range b.Servers {
				got = append(got, s.Name+" "+s.Status)
			}
		}
	}
	if strings.Join(got, ",") != "files connected,mail connected" {
		t.Errorf("the servers are %v", got)
	}
	for _, s := range m.asked[0].Tools {
		shown = append(shown, s.Name)
	}
	if strings.Join(shown, ",") != "files,more,mail" {
		t.Errorf("the model is shown %v", shown)
	}
	if want := "Be brief.\n\nUse files.\n\nUse mail."; m.asked[0].Instructions != want {
		t.Errorf("the model is told %q", m.asked[0].Instructions)
	}
	if err := braid.New("a", m, braid.From(shelf("files"), shelf("files"))).Err(); event.KindOf(err) != event.ErrInvalid {
		t.Errorf("two tools of one name: %v", err)
	}
}

// moreTools are a source without servers and instructions.
type moreTools struct{}

func (moreTools) Tools() []tool.Tool { return []tool.Tool{bare{"more", `{"type":"object"}`}} }

func (moreTools) Instructions() string { return "" }

package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// inPieces is an answer of one text or one call that comes in small pieces.
func inPieces(tool, text string, size int) []model.Chunk {
	kind := model.ChunkText
	var list []model.Chunk
	if tool != "" {
		kind = model.ChunkCallInput
		list = append(list, model.Chunk{Kind: model.ChunkCall, ID: "c", Text: tool})
	}
	for len(text) > 0 {
		n := min(size, len(text))
		list = append(list, model.Chunk{Kind: kind, Text: text[:n]})
		text = text[n:]
	}
	return append(list, model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn})
}

// The answer is shown as it comes in, however it was asked for, and last as a whole.
func TestAnAnswerIsShownAsItComesIn(t *testing.T) {
	t.Parallel()
	const text = `{"name":"Kyoto","people":1463723,"sights":["Kinkaku-ji","Nijo"]}`
	want := []string{
		`{"name":"","people":0}`, `{"name":"Kyo","people":0}`, `{"name":"Kyoto","people":0}`, `{"name":"Kyoto","people":1463723}`,
		`{"name":"Kyoto","people":1463723,"sights":["Kink"]}`, `{"name":"Kyoto","people":1463723,"sights":["Kinkaku-ji"]}`,
		`{"name":"Kyoto","people":1463723,"sights":["Kinkaku-ji","Nij"]}`, `{"name":"Kyoto","people":1463723,"sights":["Kinkaku-ji","Nijo"]}`,
	}
	for _, c := range []struct {
		name   string
		output bool
		says   [][]model.Chunk
		anew   bool
	}{
		{"held to it", true, [][]model.Chunk{inPieces("", text, 4)}, false},
		{"in a fence", false, [][]model.Chunk{inPieces("", "```json\n"+text+"\n```", 4)}, false},
		{"by the tool", false, [][]model.Chunk{inPieces(braid.OutputTool, text, 4)}, false},
		{"by the tool, after words", false, [][]model.Chunk{inPieces("", "Let me see {it}.", 4), inPieces(braid.OutputTool, text, 4)}, false},
		{"anew, because it was wrong", false, [][]model.Chunk{inPieces(braid.OutputTool, `{"name":"Nara"}`, 6), inPieces(braid.OutputTool, text, 4)}, true},
	} {
		var got []string
		var r braid.Result
		for v, err := range braid.StreamAs[city](t.Context(), braid.New("guide", &heard{output: c.output, says: c.says}), "Where?", braid.Into(&r)) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got = append(got, string(raw(v)))
		}
		at := 0
		for _, v := range got {
			if at < len(want) && v == want[at] {
				at++
			}
		}
		if at != len(want) || len(got) == 0 || got[len(got)-1] != want[len(want)-1] || string(r.Output) != text ||
			strings.Contains(strings.Join(got, ""), "Nara") != c.anew {
			t.Errorf("%s: it was shown as\n%s\nand %q of that did not come", c.name, strings.Join(got, "\n"), want[at:])
		}
	}
}

// Of an attempt that broke off, of an answer that a guardrail took back, and of an agent used as a tool, nothing is mixed into
// what is shown.
func TestWhatIsShownIsOneAnswer(t *testing.T) {
	t.Parallel()
	const text = `{"name":"Kyoto","people":7}`
	wrong := func(list []model.Chunk, behind ...model.Chunk) []model.Chunk {
		return append(list[:len(list)-1:len(list)-1], behind...)
	}
	stop := model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}
	below := braid.New("below", &heard{says: [][]model.Chunk{inPieces("", `{"name":"Osaka","people":1}`, 3)}})
	for name, c := range map[string]struct {
		says  [][]model.Chunk
		fails error
		parts []braid.Part
		want  string
	}{
		"an attempt that broke off": {
			says:  [][]model.Chunk{wrong(inPieces("", `{"name":"Nara","peop`, 3)), inPieces("", text, 3)},
			fails: &event.Error{Kind: event.ErrOverloaded, Message: "busy"}, want: " Nar Nara  Kyo Kyoto",
		},
		"an answer that was taken back": {
			says: [][]model.Chunk{wrong(inPieces("", `{"name":"Nara","peop`, 3),
				model.Chunk{Kind: model.ChunkRedactOutput}, model.Chunk{Kind: model.ChunkText, Text: text[:12]},
				model.Chunk{Kind: model.ChunkText, Text: text[12:]}, stop), inPieces("", text, 3)},
			want: " Nar Nara Kyo Kyoto  Kyo Kyoto",
		}, // what was said behind it is no JSON in the end, and is asked for again
		"an agent used as a tool": {
			says:  [][]model.Chunk{asksFor("below", `{"input":"go"}`), inPieces("", text, 3)},
			parts: []braid.Part{braid.AsTool(below, "")}, want: " Kyo Kyoto",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
					said := c.says[min(tries, len(c.says)-1)]
					tries++
					return func(yield func(model.Chunk, error) bool) {
						for _, one := range said {
							if !yield(one, nil) {
								return
							}
						}
						if c.fails != nil && tries == 1 {
							yield(model.Chunk{}, c.fails)
						}
					}
				}}
				var names []string
				for v, err := range braid.StreamAs[city](t.Context(), braid.New("guide", m, c.parts...), "Where?") {
					if err != nil {
						t.Fatal(err)
					}
					if n := len(names); n == 0 || names[n-1] != v.Name {
						names = append(names, v.Name)
					}
				}
				if got := strings.Join(names, " "); got != c.want {
					t.Errorf("it was shown as %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A list stands under a key of the tool's arguments: it is shown as the list that it is.
func TestAListIsShownAsItComesIn(t *testing.T) {
	t.Parallel()
	var got [][]string
	for v, err := range braid.StreamAs[[]string](t.Context(), braid.New("guide", &heard{says: [][]model.Chunk{
		inPieces(braid.OutputTool, `{"answer":["a","bc"]}`, 3),
	}}), "Which?") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	if n := len(got); n < 3 || !reflect.DeepEqual(got[n-1], []string{"a", "bc"}) || len(got[0]) > 1 {
		t.Errorf("%q", got)
	}
}

// An answer that never gets its form, and a reader that has seen enough.
func TestTheEndOfAnAnswerThatIsShown(t *testing.T) {
	t.Parallel()
	agent := braid.New("guide", &heard{says: [][]model.Chunk{inPieces(braid.OutputTool, `{"name":"Nara"}`, 3)}})
	var last error
	for _, err := range braid.StreamAs[city](t.Context(), agent, "Where?") {
		last = err
	}
	if !errors.Is(last, event.ErrInvalid) {
		t.Errorf("it ended with %v", last)
	}
	conv := braid.NewConversation()
	for _, err := range braid.StreamAs[city](t.Context(), agent, "Where?", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ended := 0
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.RunEnded); ok && b.Status == event.RunCancelled {
			ended++
		}
	}
	if ended != 1 {
		t.Error("breaking out does not cancel the run")
	}
	for _, err := range braid.StreamAs[chan int](t.Context(), agent, "Where?") {
		last = err
	}
	if !errors.Is(last, event.ErrInvalid) {
		t.Errorf("a type without a schema: %v", last)
	}
}

// A long answer is not read again for each of its pieces.
func TestALongAnswerIsNotShownForEachOfItsPieces(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("the sight of number %d", i)
	}
	text, err := json.Marshal(city{Name: "Kyoto", Sights: many})
	if err != nil {
		t.Fatal(err)
	}
	shown, last := 0, city{}
	for v, err := range braid.StreamAs[city](t.Context(), braid.New("guide", &heard{output: true, says: [][]model.Chunk{inPieces("", string(text), 4)}}), "Where?") {
		if err != nil {
			t.Fatal(err)
		}
		shown, last = shown+1, v
	}
	if pieces := len(text) / 4; shown > pieces/20 || shown < 100 || len(last.Sights) != len(many) {
		t.Errorf("%d pieces were shown %d times, and last %d sights", pieces, shown, len(last.Sights))
	}
}

package modeltest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Pixel returns a PNG image of one pixel.
func Pixel() []byte { return []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01") }

// Histories returns conversations from any provider that the loop may contain. The model must
// accept all of them.
func Histories() map[string][]event.Message {
	ask, done := user(text("Add 1 and 2.")), text("3")
	plain := result("c1", "add", done)
	return map[string][]event.Message{
		"one question": {ask},
		"two turns":    {ask, assistant(text("3.")), user(text("And 4?"))},
		"a call":       {ask, assistant(text("I add."), call("c1", "add", `{"a":1}`)), user(plain)},
		"several calls": {
			ask, assistant(call("c1", "add", `{"a":1}`), call("c2", "mul", `{"a":2}`), call("c3", "add", `{}`)),
			user(plain, result("c2", "mul", done), result("c3", "add", done)),
		},
		"a message after results":  {ask, assistant(call("c1", "add", `{"a":1}`)), user(plain, text("Hurry up."))},
		"a message before results": {ask, assistant(call("c1", "add", `{"a":1}`)), user(text("Hurry up."), plain)},
		"a failed call": {
			ask, assistant(call("c1", "add", `{"a":1}`)),
			user(&event.ToolResult{
				Call: "c1", Name: "add", IsError: true,
				Content: []event.Block{text("Error: no."), &event.Image{MIME: "image/png", Data: Pixel()}},
			}),
		},
		"a result without content": {ask, assistant(call("c1", "add", `{"a":1}`)), user(&event.ToolResult{Call: "c1", Name: "add"})},
		"a result of blanks":       {ask, assistant(call("c1", "add", `{"a":1}`)), user(result("c1", "add", text(" \n")))},
		"a result for programs": {
			ask, assistant(call("c1", "add", `{"a":1}`)),
			user(&event.ToolResult{Call: "c1", Name: "add", Structured: json.RawMessage(`{"sum":3}`)}),
		},
		"arguments of all kinds": {
			ask,
			assistant(call("c1", "add", `[1,2]`), call("c2", "add", `"x"`), call("c3", "add", `null`), call("c4", "add", ` { "a" : 1 } `)),
			user(plain, result("c2", "add", done), result("c3", "add", done), result("c4", "add", done)),
		},
		"arguments nobody can read": {
			ask, assistant(&event.ToolCall{ID: "c1", Name: "add", Invalid: `{"a":`, Fault: "it ends too early"}),
			user(plain),
		},
		"an id twice": {
			ask, assistant(call("c1", "add", `{"a":1}`)), user(plain), assistant(call("c1", "add", `{"a":2}`)), user(result("c1", "add", text("4"))),
			assistant(
				call("c1_2", "add", `{"a":3}`), call("c1", "add", `{"a":4}`),
			), user(result("c1_2", "add", text("5")), result("c1", "add", text("6"))),
		},
		"ids of other providers": {
			ask, assistant(call("call/1.2:é", "add", `{}`), call("call/1:2.é", "add", `{}`), call("", "add", `{}`)),
			user(result("call/1.2:é", "add", done), result("call/1:2.é", "add", done), result("", "add", done)),
		},
		"a tool that is gone": {
			ask, assistant(call("c1", "no longer/there", `{}`)), user(result("c1", "no longer/there", done)),
			assistant(text("So.")), user(text("Go on.")),
		},
		"blank texts":             {user(text(""), text("Hi.")), assistant(text(" ")), user(text("\n\t"))},
		"thinking of nobody's":    {ask, assistant(&event.Thinking{Text: "Hm."}, text("3.")), user(text("Why?"))},
		"thinking alone":          {ask, assistant(&event.Thinking{Text: "Hm."}), user(text("Why?"))},
		"a picture that was made": {ask, assistant(text("Here."), &event.Image{MIME: "image/png", Data: Pixel()}), user(text("Nice."))},
		"sound, long ago": {
			user(text("Hear."), &event.Media{Media: "audio", URL: "https://example.com/a"}), assistant(text("Yes.")),
			user(text("Again.")),
		},
		"an odd picture, long ago": {
			user(text("See."), &event.Image{MIME: "image/tiff", Data: []byte("II*")}), assistant(text("Yes.")),
			user(text("Again.")),
		},
		"an odd document, long ago": {
			user(text("Read."), &event.Document{Name: "x.zip", MIME: "application/zip", Data: []byte("PK")}),
			assistant(text("Yes.")), user(text("Again.")),
		},
		"code that a provider ran": {
			ask,
			assistant(&event.Code{Language: "python", Code: "1+2"}, &event.CodeResult{Outcome: "ok", Output: "3"}, text("3.")),
			user(text("Fine.")),
		},
		"a citation": {
			ask, assistant(text("3."), &event.Citation{Title: "Sums", URL: "https://example.com", Quote: "1+2=3"}),
			user(text("Fine.")),
		},
		"a block of a later version": {
			ask,
			assistant(text("3."), &event.UnknownBlock{Name: "hologram", Raw: json.RawMessage(`{"kind":"hologram","x":1}`)}),
			user(text("Fine.")),
		},
		"a picture in a result": {
			ask, assistant(call("c1", "add", `{}`)),
			user(result("c1", "add", text("See."), &event.Image{MIME: "image/png", Data: Pixel()})),
		},
		"a document in a result": {
			ask, assistant(call("c1", "add", `{}`)),
			user(result("c1", "add", &event.Document{Name: "n", MIME: "application/pdf", Data: []byte("%PDF-1.4")})),
		},
		"no UTF-8": {
			user(text("a\xffb")), assistant(text("\xff"), call("c1", "add", `{}`)),
			user(result("c1", "add", text("\xe3\x81"))),
		},
	}
}

// histories are conversations that must be sent as the vendor wants them.
func histories(t *testing.T, p *Provider) {
	try := func(t *testing.T, change func(*model.Request), messages ...event.Message) {
		t.Helper()
		m, _ := p.Open(t, Answer{Chunks: pieces(model.ChunkText, 0, "Well."), Stop: event.StopEndTurn, Usage: counted},
			Answer{Chunks: pieces(model.ChunkText, 0, "Again."), Stop: event.StopEndTurn, Usage: counted})
		req := request(messages...)
		req.Tools = []model.ToolSpec{tool("add"), tool("mul")}
		if change != nil {
			change(req)
		}
		mustAnswer(t, Call(t.Context(), m, req))
		// The next request goes on from here.
		next := *req
		next.Messages = append(append([]event.Message(nil), messages...), assistant(text("Well.")), user(text("Then?")))
		mustAnswer(t, Call(t.Context(), m, &next))
	}
	for name, messages := range Histories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.shows(t, historiesTaken)
			try(t, nil, messages...)
		})
	}
	for name, messages := range p.foreign() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.shows(t, foreign)
			try(t, nil, messages...)
		})
	}
	t.Run("no instructions, no tools", func(t *testing.T) {
		t.Parallel()
		try(t, func(r *model.Request) { r.Instructions, r.Tools = " \n", nil }, user(text("Hi.")))
	})
	t.Run("tools without parameters", func(t *testing.T) {
		t.Parallel()
		try(t, func(r *model.Request) {
			r.Tools = []model.ToolSpec{
				{Name: "a"},
				{Name: "b", Schema: json.RawMessage(`{}`)},
				{Name: "c", Schema: json.RawMessage(`{"properties":{}}`)},
			}
		}, user(text("Hi.")))
	})
	t.Run("options", func(t *testing.T) {
		t.Parallel()
		words := []string{"END", " "}
		if p.has(StopWords) {
			p.shows(t, StopWords)
		}
		if !p.has(StopWords) {
			m, peer := p.Open(t)
			req := request()
			req.Options.StopWords = words
			mustFail(t, Call(t.Context(), m, req), event.ErrUnsupported)
			if peer.Asked() != 0 {
				t.Error("words to stop at were sent")
			}
			words = words[1:] // nobody means a blank one
		}
		try(t, func(r *model.Request) {
			r.Options = model.Options{MaxTokens: 4000, StopWords: words, Thinking: 2000}
		}, user(text("Hi.")))
		try(t, func(r *model.Request) { r.Options = model.Options{Thinking: 1} }, Histories()["a call"]...)
	})
	t.Run("input of files", func(t *testing.T) {
		t.Parallel()
		for _, tc := range []struct {
			feature Feature
			input   []event.Block
		}{
			{Images, []event.Block{text("See."), &event.Image{MIME: "image/png", Data: Pixel()}, &event.Image{Data: Pixel()}}},
			{ImageURLs, []event.Block{text("See."), &event.Image{URL: "https://example.com/x.png"}}},
			{Documents, []event.Block{
				text("Read."), &event.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.4")}, &event.Document{Text: "plain"},
				&event.Document{MIME: "text/csv", Data: []byte("a,b\xff")},
			}},
			{Media, []event.Block{
				text("Listen."), &event.Media{Media: "audio", MIME: "audio/wav", URL: "https://example.com/a.wav"},
				&event.Media{Media: "video", MIME: "video/mp4", URL: "https://example.com/a.mp4"},
			}},
		} {
			t.Run(string(tc.feature), func(t *testing.T) {
				p.shows(t, tc.feature)
				try(t, nil, user(tc.input...))
			})
		}
	})
	t.Run("files as people send them", func(t *testing.T) {
		t.Parallel()
		oddFiles(t, p)
	})
	t.Run("an image too large", func(t *testing.T) {
		t.Parallel()
		tooLarge(t, p)
	})
	t.Run("names of tools", func(t *testing.T) {
		t.Parallel()
		toolNames(t, p)
	})
	t.Run("thinking goes back", func(t *testing.T) {
		t.Parallel()
		thinkingBack(t, p)
	})
}

// toolNames are mapped for the wire, and back.
func toolNames(t *testing.T, p *Provider) {
	p.shows(t, toolsNamed)
	long := "a_very_long_name_that_goes_on_and_on_until_nobody_remembers_how_it_began_"
	names := []string{"plain", "with.dots", "with dots", "日本", long + "1", long + "2"}
	var specs []model.ToolSpec
	for _, n := range names {
		specs = append(specs, tool(n))
	}
	for i, n := range names {
		heard := ""
		m, _ := p.Open(t, Answer{Chunks: calling(0, "c1", n, `{"a":1}`), Stop: event.StopToolUse, Usage: counted})
		req := request(
			user(text("Go.")), assistant(call("c0", names[(i+1)%len(names)], `{}`)),
			user(result("c0", names[(i+1)%len(names)], text("ok"))),
		)
		req.Tools = specs
		for _, b := range mustAnswer(t, Call(t.Context(), m, req)).Content {
			if c, ok := b.(*event.ToolCall); ok {
				heard = c.Name
			}
		}
		if heard != n {
			t.Errorf("the model called %q and %q was heard", n, heard)
		}
	}
}

// thinkingBack sends thinking back as it came, in the middle of a turn and in a
// later one.
func thinkingBack(t *testing.T, p *Provider) {
	p.shows(t, thinkingKept)
	first := pieces(model.ChunkThinking, 0, "Let me ", "see.")
	if p.has(SignedThinking) {
		first = append(first, model.Chunk{Kind: model.ChunkSignature, Text: "c2lnbmF0dXJl"})
	}
	if p.has(RedactedThinking) {
		first = append(first, model.Chunk{Kind: model.ChunkBlock, Index: 1, Block: &event.RedactedThinking{Data: "c2VjcmV0"}})
	}
	first = append(first, calling(2, "c1", "add", `{"a":1}`)...)
	m, peer := p.Open(t, Answer{Chunks: first, Stop: event.StopToolUse, Usage: counted},
		Answer{Chunks: pieces(model.ChunkText, 0, "3."), Stop: event.StopEndTurn, Usage: counted},
		Answer{Chunks: pieces(model.ChunkText, 0, "4."), Stop: event.StopEndTurn, Usage: counted})
	req := request(user(text("Add.")))
	req.Tools, req.Options.Thinking = []model.ToolSpec{tool("add")}, 2048
	a := mustAnswer(t, Call(t.Context(), m, req))
	req.Messages = append(req.Messages, assistant(a.Content...), user(result("c1", "add", text("3"))))
	b := mustAnswer(t, Call(t.Context(), m, req))
	req.Messages = append(req.Messages, assistant(b.Content...), user(text("And one more?")))
	mustAnswer(t, Call(t.Context(), m, req))
	// In the middle of a turn nothing may be missing.
	second := string(bodies(t, peer)[1])
	for f, want := range map[Feature]string{SignedThinking: "c2lnbmF0dXJl", RedactedThinking: "c2VjcmV0"} {
		if p.has(f) && !strings.Contains(second, want) {
			t.Errorf("%s did not go back: %s", f, second)
		}
	}
}

// unsupported is input that the vendor cannot read: it is told before anything
// is sent.
func unsupported(t *testing.T, p *Provider) {
	p.shows(t, told)
	m, peer := p.Open(t)
	input := map[string]event.Block{
		"image":    &event.Image{MIME: "image/tiff", Data: []byte("II*")},
		"document": &event.Document{Name: "a.zip", MIME: "application/zip", Data: []byte("PK")},
	}
	if !p.has(Media) {
		input["sound"] = &event.Media{Media: "audio", MIME: "audio/wav", URL: "https://example.com/a.wav"}
	}
	if !p.has(Images) {
		input["picture"] = &event.Image{MIME: "image/png", Data: Pixel()}
	}
	if !p.has(ImageURLs) {
		input["address of a picture"] = &event.Image{MIME: "image/png", URL: "https://example.com/x.png"}
	}
	if !p.has(Documents) {
		input["PDF"] = &event.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.4")}
	}
	for name, b := range input {
		r := Call(t.Context(), m, request(user(text("Look."), b)))
		mustFail(t, r, event.ErrUnsupported)
		if e := failure(t, r, event.ErrUnsupported); e.Hint == "" {
			t.Errorf("%s: no hint in %v", name, e)
		}
	}
	for _, empty := range []*model.Request{nil, {}} {
		if r := Call(t.Context(), m, empty); !errors.Is(r.Err, event.ErrInvalid) {
			t.Errorf("an empty request: %v", r.Err)
		}
	}
	if n := peer.Asked(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// toolChoice is what the model must do about tools.
func toolChoice(t *testing.T, p *Provider) {
	if p.has(ToolChoice) {
		p.shows(t, ToolChoice)
	}
	for _, c := range []model.ToolChoice{
		{},
		{Serial: true},
		{Mode: model.ToolsAny},
		{Mode: model.ToolsNone},
		{Mode: model.ToolsOne, Tool: "add"},
		{Mode: model.ToolsOne, Tool: "add.more", Serial: true},
	} {
		m, _ := p.Open(t, Answer{Chunks: pieces(model.ChunkText, 0, "x"), Stop: event.StopEndTurn, Usage: counted})
		req := request()
		req.Tools, req.ToolChoice, req.Options.Thinking = []model.ToolSpec{tool("add"), tool("add.more")}, c, 2000
		r := Call(t.Context(), m, req)
		forced := c.Mode == model.ToolsAny || c.Mode == model.ToolsOne
		if (c.Serial && !p.has(SerialCalls)) || (forced && !p.has(ToolChoice)) {
			mustFail(t, r, event.ErrUnsupported)
			continue
		}
		mustAnswer(t, r)
	}
	if p.has(SerialCalls) {
		p.shows(t, SerialCalls)
	}
	m, peer := p.Open(t)
	req := request()
	req.Tools, req.ToolChoice = []model.ToolSpec{tool("add")}, model.ToolChoice{Mode: model.ToolsOne, Tool: "sub"}
	if p.has(ToolChoice) {
		mustFail(t, Call(t.Context(), m, req), event.ErrInvalid)
	}
	req.ToolChoice = model.ToolChoice{Mode: "perhaps"}
	mustFail(t, Call(t.Context(), m, req), event.ErrUnsupported)
	if peer.Asked() != 0 {
		t.Error("it was sent nevertheless")
	}
}

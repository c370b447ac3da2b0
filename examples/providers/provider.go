package main

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

// provider opens a model, on a server of its own that plays [script]; end stops the
// server.
type provider struct {
	name string
	open func() (m braid.Model, end func(), err error)
}

// providers are all that there are.
var providers = []provider{
	{"Anthropic", openAnthropic},
	{"OpenAI Responses", func() (braid.Model, func(), error) { return openOpenAI(openaitest.Responses) }},
	{"OpenAI Chat Completions", func() (braid.Model, func(), error) { return openOpenAI(openaitest.Chat) }},
	{"demo", openDemo},
}

func openAnthropic() (braid.Model, func(), error) {
	server := anthropictest.Start()
	for _, a := range script {
		server.Add(anthropictest.Stream(a.chunks, string(a.stop), a.usage))
	}
	m, err := anthropic.New(anthropic.Default, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	return m, server.Close, err
}

func openOpenAI(api openaitest.API) (braid.Model, func(), error) {
	server := openaitest.Start()
	for _, a := range script {
		server.Add(openaitest.Stream(api, a.chunks, a.stop, a.usage))
	}
	server.Compatible = api == openaitest.Chat // servers like the vendor's have this one alone
	m, err := openai.New(openai.Default, secret.New(openaitest.Key),
		openai.Use(openai.API(api)), openai.BaseURL(server.URL), openai.HTTPClient(server.Client()))
	return m, server.Close, err
}

// openDemo needs no server: the model follows the script itself.
func openDemo() (braid.Model, func(), error) {
	s := demo.Script{Name: "providers"}
	for i, a := range script {
		s.Rules = append(s.Rules, demo.Rule{When: demo.When{Round: i + 1}, Reply: pieces(a.chunks), Stop: a.stop, Usage: &a.usage})
	}
	m, err := demo.New(s)
	return m, func() {}, err
}

// pieces are an answer's chunks as the demo model writes them: block by block.
func pieces(chunks []braid.Chunk) []demo.Piece {
	var out []demo.Piece
	at := map[int]int{}
	for _, c := range chunks {
		i, begun := at[c.Index]
		if !begun {
			i = len(out)
			at[c.Index] = i
			out = append(out, demo.Piece{})
		}
		switch c.Kind {
		case braid.ChunkText:
			out[i].Text += c.Text
		case braid.ChunkCall:
			out[i].Call = c.Text
		case braid.ChunkCallInput:
			out[i].Args = append(out[i].Args, c.Text...)
		default:
			out[i].Block = &event.Text{Text: c.Text}
		}
	}
	return out
}

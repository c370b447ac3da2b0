package main

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/models"
)

// provider is a model by its name, and the server that it is to be found on.
type provider struct {
	name string
	// model is the one string that changes.
	model string
	// serve starts a server that plays a script. It gives the environment in which
	// the model is opened: a key, and the server's address.
	serve func(script []answer) (env map[string]string, end func())
}

// providers are all that there are.
var providers = []provider{
	{"Anthropic", "anthropic:claude-sonnet-5-5", serveAnthropic},
	{"Claude on Bedrock", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", serveClaudeOnBedrock},
	{"Bedrock Converse", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0?api=converse", serveBedrock},
	{"Nova", "bedrock:us.amazon.nova-2-lite-v1:0", serveBedrock},
	{"OpenAI Responses", "openai:gpt-5.4?api=responses", responses},
	{"OpenAI Chat Completions", "openai:gpt-5.4?api=chat", chat},
	{"Gemini", "gemini:gemini-3.6-flash", serveGemini},
	{"demo", "", nil},
}

// open opens the model, as models.Open does in the environment of the process.
func (p *provider) open(script []answer) (m braid.Model, end func(), err error) {
	if p.serve == nil {
		m, err = simulated(script)
		return m, func() {}, err
	}
	env, end := p.serve(script)
	opener, err := models.NewOpener(models.Options{Env: func(name string) string { return env[name] }})
	if err != nil {
		end()
		return nil, nil, err
	}
	if m, err = opener.Open(p.model); err != nil {
		end()
		return nil, nil, err
	}
	return m, end, nil
}

func serveAnthropic(script []answer) (map[string]string, func()) {
	server := anthropictest.Start()
	for _, a := range script {
		server.Add(anthropictest.Stream(a.chunks, string(a.stop), a.usage))
	}
	return map[string]string{anthropic.KeyVariable: anthropictest.Key, anthropic.BaseVariable: server.URL}, server.Close
}

func serveClaudeOnBedrock(script []answer) (map[string]string, func()) {
	server := anthropictest.StartBedrock()
	for _, a := range script {
		server.Add(anthropictest.BedrockStream(a.chunks, string(a.stop), a.usage))
	}
	return onBedrock(anthropictest.BedrockKey, server.URL), server.Close
}

func serveBedrock(script []answer) (map[string]string, func()) {
	server := bedrocktest.Start()
	for _, a := range script {
		server.Add(bedrocktest.Stream(a.chunks, string(a.stop), a.usage))
	}
	return onBedrock(bedrocktest.Key, server.URL), server.Close
}

// onBedrock is the environment of both ways to Bedrock.
func onBedrock(key, address string) map[string]string {
	return map[string]string{
		bedrock.KeyVariable: key, bedrock.RegionVariable: "us-east-1", anthropic.BedrockBaseVariable: address,
	}
}

func responses(script []answer) (map[string]string, func()) {
	return serveOpenAI(openaitest.Responses, script)
}

func chat(script []answer) (map[string]string, func()) { return serveOpenAI(openaitest.Chat, script) }

func serveOpenAI(api openaitest.API, script []answer) (map[string]string, func()) {
	server := openaitest.Start()
	for _, a := range script {
		server.Add(openaitest.Stream(api, a.chunks, a.stop, a.usage))
	}
	server.Compatible = api == openaitest.Chat // servers like the vendor's have this one alone
	return map[string]string{openai.KeyVariable: openaitest.Key, openai.BaseVariable: server.URL}, server.Close
}

func serveGemini(script []answer) (map[string]string, func()) {
	server := geminitest.Start()
	for _, a := range script {
		server.Add(geminitest.Stream(a.chunks, "STOP", a.usage)) // its word for both ends
	}
	return map[string]string{gemini.KeyVariable: geminitest.Key, gemini.BaseVariable: server.URL}, server.Close
}

// simulated is the demo model, which needs no server: it follows the script itself.
func simulated(script []answer) (braid.Model, error) {
	s := demo.Script{Name: "providers"}
	for i, a := range script {
		s.Rules = append(s.Rules, demo.Rule{When: demo.When{Round: i + 1}, Reply: pieces(a.chunks), Stop: a.stop, Usage: &a.usage})
	}
	return demo.New(s)
}

// pieces are an answer's chunks as the demo model writes them: block by block.
func pieces(chunks []model.Chunk) []demo.Piece {
	var out []demo.Piece
	at := map[int]int{}
	for _, c := range chunks {
		if c.Kind == model.ChunkSignature {
			continue // it signs nothing
		}
		i, begun := at[c.Index]
		if !begun {
			i = len(out)
			at[c.Index] = i
			out = append(out, demo.Piece{})
		}
		switch c.Kind {
		case model.ChunkText:
			out[i].Text += c.Text
		case model.ChunkThinking:
			out[i].Thinking += c.Text
		case model.ChunkCall:
			out[i].Call = c.Text
		case model.ChunkCallInput:
			out[i].Args = append(out[i].Args, c.Text...)
		default:
			out[i].Block = &event.Text{Text: c.Text}
		}
	}
	return out
}

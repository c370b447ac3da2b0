package corpora

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// api is a vendor's interface as its addresses tell it apart.
type api string

const (
	anthropicAPI api = "anthropic"
	invokeAPI    api = "bedrock invoke"
	converseAPI  api = "converse"
	geminiAPI    api = "gemini"
	chatAPI      api = "chat"
	responsesAPI api = "responses"
)

var apis = []api{anthropicAPI, invokeAPI, converseAPI, geminiAPI, chatAPI, responsesAPI}

// exchange is one recorded request and its answer.
type exchange struct {
	// source is the project, file the recording below it, n the exchange in the file.
	source, file string
	n            int
	api          api
	host, model  string
	request      []byte
	status       int
	kind         string
	body         []byte
	stream       bool
}

func (x *exchange) name() string {
	if x.n == 0 {
		return x.source + "/" + x.file
	}
	return x.source + "/" + x.file + "#" + strconv.Itoa(x.n)
}

// sources are the projects, and the part of fantasy's recordings that BRAID_FIXTURES holds.
var sources = []string{"provider-recordings", "fantasy", "pydantic-ai", "ruby_llm", "ai"}

// folder is where the recordings of a source are; "" is nowhere.
func folder(source string) string {
	root := os.Getenv("BRAID_CORPORA")
	if source == "provider-recordings" {
		root = os.Getenv("BRAID_FIXTURES")
	}
	if root == "" {
		return ""
	}
	return filepath.Join(root, source)
}

// corpus reads all exchanges once.
var corpus = sync.OnceValues(func() ([]exchange, error) {
	var out []exchange
	for _, source := range sources {
		dir := folder(source)
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, _ := filepath.Rel(dir, path)
			found, err := readFile(path, file)
			for i := range found {
				found[i].source = source
			}
			out = append(out, found...)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return out, nil
})

// recorded gives the exchanges that are there, or skips the test.
func recorded(t *testing.T) []exchange {
	t.Helper()
	there := 0
	for _, source := range sources {
		dir := folder(source)
		if _, err := os.Stat(dir); dir == "" || err != nil {
			t.Logf("left out, because it is not there: %s", source)
			continue
		}
		there++
	}
	if there == 0 {
		t.Skip("neither BRAID_CORPORA nor BRAID_FIXTURES names a folder with recordings")
	}
	all, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no recordings")
	}
	return all
}

func readFile(path, file string) ([]exchange, error) {
	switch {
	case strings.Contains(path, "cassettes") && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")),
		(strings.Contains(path, "testdata") || strings.Contains(path, "provider-recordings")) && strings.HasSuffix(path, ".yaml"):
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return readTape(data, file), nil
	case strings.Contains(path, "__fixtures__"):
		return readFixture(path, file)
	}
	return nil, nil
}

// tape is a recording of VCR in the forms of Python, Ruby and Go.
type tape struct {
	Interactions     []interaction
	HTTPInteractions []interaction `yaml:"http_interactions"`
}

type interaction struct {
	Request struct {
		URI, URL string
		Body     yaml.Node
		Parsed   any `yaml:"parsed_body"`
	}
	Response struct {
		Body    yaml.Node
		Parsed  any `yaml:"parsed_body"`
		Headers map[string]yaml.Node
		Status  yaml.Node
		Code    int
	}
}

func readTape(data []byte, file string) []exchange {
	var t tape
	if yaml.Unmarshal(data, &t) != nil {
		return nil
	}
	var out []exchange
	for i, x := range append(t.Interactions, t.HTTPInteractions...) {
		address := x.Request.URI
		if address == "" {
			address = x.Request.URL
		}
		e := exchange{file: file, n: i, request: bodyOf(x.Request.Body, x.Request.Parsed), body: bodyOf(x.Response.Body, x.Response.Parsed)}
		if e.place(address) {
			e.status = x.Response.Code
			var status struct{ Code int }
			if x.Response.Status.Decode(&status) == nil && status.Code != 0 {
				e.status = status.Code
			}
			e.kind = header(x.Response.Headers, "Content-Type")
			e.stream = strings.HasPrefix(e.kind, "text/event-stream") || strings.HasPrefix(e.kind, "application/vnd.amazon.eventstream")
			out = append(out, e)
		}
	}
	return out
}

func header(h map[string]yaml.Node, name string) string {
	for k, v := range h {
		if !strings.EqualFold(k, name) {
			continue
		}
		var list []string
		if v.Decode(&list) == nil && len(list) > 0 {
			return list[0]
		}
		return v.Value
	}
	return ""
}

// bodyOf gives a body: text, binary, or the value that a recorder has parsed.
func bodyOf(n yaml.Node, parsed any) []byte {
	if parsed != nil {
		b, _ := json.Marshal(parsed)
		return b
	}
	if n.Kind == yaml.ScalarNode {
		return scalar(&n)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i].Value; k == "string" || k == "base64_string" {
			b := scalar(n.Content[i+1])
			if k == "base64_string" {
				if raw, err := base64.StdEncoding.DecodeString(string(b)); err == nil {
					return raw
				}
			}
			return b
		}
	}
	return nil
}

func scalar(n *yaml.Node) []byte {
	if n.Tag == "!!binary" || n.Tag == "!binary" {
		raw, _ := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		return raw
	}
	return []byte(n.Value)
}

var (
	geminiPath  = regexp.MustCompile(`/models/([^/:]+):(stream)?[gG]enerateContent$`)
	bedrockPath = regexp.MustCompile(`/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream)$`)
)

// place says which API an address belongs to; false for none of ours.
func (x *exchange) place(address string) bool {
	u, err := url.Parse(strings.NewReplacer("<", "", ">", "").Replace(address))
	if err != nil {
		return false
	}
	x.host = u.Host
	var asked struct{ Model string }
	_ = json.Unmarshal(x.request, &asked)
	x.model = asked.Model
	switch path := u.Path; {
	case strings.HasSuffix(path, "/v1/messages"):
		x.api = anthropicAPI
	case geminiPath.MatchString(path):
		x.api, x.model = geminiAPI, geminiPath.FindStringSubmatch(path)[1]
	case bedrockPath.MatchString(path):
		m := bedrockPath.FindStringSubmatch(path)
		x.api, x.model = converseAPI, m[1]
		if strings.HasPrefix(m[2], "invoke") {
			x.api = invokeAPI
			if !strings.Contains(m[1], "anthropic.claude") {
				return false
			}
		}
	case strings.HasSuffix(path, "/chat/completions"):
		x.api = chatAPI
	case strings.HasSuffix(path, "/responses") && u.Host != "":
		x.api = responsesAPI
	default:
		return false
	}
	return x.model != ""
}

// fixtures of vercel/ai are answers alone: a stream with an event a line, or one JSON value.
var fixtureAPIs = map[string]api{
	"packages/anthropic/src/__fixtures__":                anthropicAPI,
	"packages/amazon-bedrock/src/__fixtures__":           converseAPI,
	"packages/google/src/__fixtures__":                   geminiAPI,
	"packages/openai/src/responses/__fixtures__":         responsesAPI,
	"packages/azure/src/__fixtures__":                    responsesAPI,
	"packages/xai/src/responses/__fixtures__":            responsesAPI,
	"packages/open-responses/src/responses/__fixtures__": responsesAPI,
	"packages/openai/src/chat/__fixtures__":              chatAPI,
	"packages/mistral/src/__fixtures__":                  chatAPI,
	"packages/groq/src/__fixtures__":                     chatAPI,
	"packages/deepseek/src/chat/__fixtures__":            chatAPI,
	"packages/alibaba/src/__fixtures__":                  chatAPI,
	"packages/xai/src/__fixtures__":                      chatAPI,
	"packages/perplexity/src/__fixtures__":               chatAPI,
	"packages/moonshotai/src/__fixtures__":               chatAPI,
	"packages/openai-compatible/src/chat/__fixtures__":   chatAPI,
	"packages/cerebras/src/__fixtures__":                 chatAPI,
}

var fixtureModels = map[api]string{
	anthropicAPI: "claude-sonnet-4-5", converseAPI: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", geminiAPI: "gemini-2.5-pro",
	responsesAPI: "gpt-5", chatAPI: "some-model",
}

var fixtureHosts = map[string]string{
	"mistral": "api.mistral.ai", "groq": "api.groq.com", "deepseek": "api.deepseek.com", "perplexity": "api.perplexity.ai", "xai": "api.x.ai",
	"cerebras": "api.cerebras.ai", "openai": "api.openai.com",
}

func readFixture(path, file string) ([]exchange, error) {
	dir := filepath.ToSlash(filepath.Dir(file))
	a, ok := fixtureAPIs[dir]
	if !ok {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.Contains(file, "transcription") {
		return nil, nil
	}
	if a == responsesAPI && bytes.Contains(data, []byte(`"choices":`)) {
		a = chatAPI // Azure has both
	}
	pkg, _, _ := strings.Cut(strings.TrimPrefix(dir, "packages/"), "/")
	x := exchange{file: file, api: a, model: fixtureModels[a], host: fixtureHosts[pkg], status: http.StatusOK}
	switch {
	case strings.HasSuffix(file, ".chunks.txt"):
		x.stream, x.kind = true, "text/event-stream"
		if a == converseAPI {
			x.kind = "application/vnd.amazon.eventstream"
		}
		var out []exchange
		for n, answer := range answersIn(data) {
			x.n, x.body = n, streamOf(a, answer)
			out = append(out, x)
		}
		return out, nil
	case strings.HasSuffix(file, ".json"):
		if isError(data) {
			return nil, nil
		}
		x.body, x.kind = data, "application/json"
	default:
		return nil, nil
	}
	return []exchange{x}, nil
}

// answersIn cuts a fixture into its answers: some hold a whole conversation.
func answersIn(data []byte) (out [][]byte) {
	from, at := 0, 0
	for line := range bytes.Lines(data) {
		ended := bytes.Contains(data[from:at], []byte(`"type":"message_stop"`)) || bytes.Contains(data[from:at], []byte(`"type":"response.completed"`))
		begins := bytes.Contains(line, []byte(`"type":"message_start"`)) || bytes.Contains(line, []byte(`"type":"response.created"`))
		if begins && ended {
			out = append(out, data[from:at])
			from = at
		}
		at += len(line)
	}
	return append(out, data[from:])
}

func isError(data []byte) bool {
	var v struct{ Error any }
	return json.Unmarshal(data, &v) != nil || v.Error != nil
}

// streamOf makes the vendor's stream of events in lines.
func streamOf(a api, data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if a == converseAPI {
			var event map[string]json.RawMessage
			if json.Unmarshal(line, &event) != nil {
				continue
			}
			for name, payload := range event {
				out = appendFrame(out, name, payload)
			}
			continue
		}
		var typed struct{ Type string }
		_ = json.Unmarshal(line, &typed)
		if typed.Type != "" && a != geminiAPI && a != chatAPI {
			out = append(append(append(out, "event: "...), typed.Type...), '\n')
		}
		out = append(append(append(out, "data: "...), line...), '\n', '\n')
	}
	if a == chatAPI {
		out = append(out, "data: [DONE]\n\n"...)
	}
	return out
}

// frame is a message of AWS's binary event stream.
type frame struct {
	name    string
	payload []byte
}

func frames(b []byte) (out []frame) {
	for len(b) >= 16 {
		n, heads := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
		if n > len(b) || 12+heads+4 > n {
			return out
		}
		f := frame{payload: b[12+heads : n-4]}
		for h := b[12 : 12+heads]; len(h) > 4; {
			name := string(h[1 : 1+h[0]])
			h = h[1+h[0]:]
			size := int(binary.BigEndian.Uint16(h[1:]))
			value := string(h[3 : 3+size])
			if h = h[3+size:]; name == ":event-type" || name == ":exception-type" {
				f.name = value
			}
		}
		out = append(out, f)
		b = b[n:]
	}
	return out
}

// events gives the data of a stream of server-sent events, or of Bedrock's chunks.
func (x *exchange) events() (out [][]byte) {
	if x.api == invokeAPI {
		for _, f := range frames(x.body) {
			var chunk struct{ Bytes []byte }
			if json.Unmarshal(f.payload, &chunk) == nil && chunk.Bytes != nil {
				out = append(out, chunk.Bytes)
			}
		}
		return out
	}
	for line := range bytes.Lines(x.body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			out = append(out, bytes.TrimSpace(data))
		}
	}
	return out
}

// borders are the ends of the events of a stream but the last.
func (x *exchange) borders() (out []int) {
	if strings.HasPrefix(x.kind, "application/vnd") {
		at := 0
		for range frames(x.body) {
			at += int(binary.BigEndian.Uint32(x.body[at:]))
			out = append(out, at)
		}
	} else {
		for at := 0; ; {
			i := bytes.Index(x.body[at:], []byte("\n\n"))
			if r := bytes.Index(x.body[at:], []byte("\r\n\r\n")); r >= 0 && (i < 0 || r < i) {
				i = r + 2
			}
			if i < 0 {
				break
			}
			at += i + 2
			out = append(out, at)
		}
	}
	return slices.DeleteFunc(out, func(at int) bool { return at >= len(x.body) })
}

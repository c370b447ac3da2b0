package corpora

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/models"
)

// way is how an answer is put on the wire.
type way struct {
	// pieces is the size of a write: 0 is all at once, below 0 at random.
	pieces int
	// cut is where the answer ends, -1 nowhere; drop breaks the connection there instead
	// of ending the body properly.
	cut  int
	drop bool
}

// stage answers requests by their path's first part, which numbers what it plays.
type stage struct {
	server *httptest.Server
	next   atomic.Int64
	acts   sync.Map // string → *act
}

type act struct {
	x       *exchange
	way     way
	request chan []byte
}

const theKey = "sk-not-a-real-key-0123456789"

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{}
	s.server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.server.Close)
	return s
}

func (s *stage) answer(w http.ResponseWriter, r *http.Request) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	found, ok := s.acts.Load(id)
	if !ok {
		http.NotFound(w, r)
		return
	}
	a := found.(*act) //nolint:forcetypeassert // nothing else is stored
	if a.request != nil {
		b := make([]byte, 0, 4096)
		for buf := make([]byte, 32<<10); ; {
			n, err := r.Body.Read(buf)
			if b = append(b, buf[:n]...); err != nil {
				break
			}
		}
		select {
		case a.request <- b:
		default:
		}
	}
	kind := a.x.kind
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(a.x.status)
	body := a.x.body
	if a.way.cut >= 0 {
		body = body[:min(a.way.cut, len(body))]
	}
	flusher, _ := w.(http.Flusher)
	for len(body) > 0 {
		n := len(body)
		switch {
		case a.way.pieces > 0:
			n = min(n, a.way.pieces)
		case a.way.pieces < 0:
			n = min(n, 1+rand.IntN(700))
		}
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		flusher.Flush()
		body = body[n:]
	}
	if a.way.drop {
		if h, ok := w.(http.Hijacker); ok {
			if c, _, err := h.Hijack(); err == nil {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				_ = c.Close()
			}
		}
	}
}

// play asks the provider, which is answered with the recording.
func (s *stage) play(ctx context.Context, t testing.TB, x *exchange, w way, req *model.Request) (modeltest.Read, []byte) {
	t.Helper()
	id := "x" + itoa(s.next.Add(1))
	a := &act{x: x, way: w, request: make(chan []byte, 1)}
	s.acts.Store(id, a)
	defer s.acts.Delete(id)
	m, err := open(x, s.server.URL+"/"+id)
	if err != nil {
		t.Fatalf("%s: %v", x.name(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	got := modeltest.Call(ctx, m, req)
	select {
	case b := <-a.request:
		return got, b
	default:
		return got, nil
	}
}

func itoa(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// ask is a request with the tools that recordings call.
func ask() *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}}
}

// vendors finds the row of a vendor by its host.
var vendors = map[string]string{
	"api.groq.com": "groq", "openrouter.ai": "openrouter", "api.mistral.ai": "mistral", "api.x.ai": "xai", "api.deepseek.com": "deepseek",
	"api.cerebras.ai": "cerebras", "api.perplexity.ai": "perplexity",
}

var opener = sync.OnceValues(func() (*models.Opener, error) {
	return models.NewOpener(models.Options{Env: func(name string) string {
		switch name {
		case "KEY":
			return theKey
		case "AWS_REGION":
			return "us-east-1"
		case "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY":
			return "AKIDEXAMPLE"
		}
		return ""
	}})
})

// open opens the provider of a recording, at another address.
func open(x *exchange, base string) (model.Model, error) {
	o, err := opener()
	if err != nil {
		return nil, err
	}
	name := x.model
	at := "?base=" + base + "&key=KEY"
	switch x.api {
	case anthropicAPI:
		// The version of the recordings, which still takes a temperature.
		return o.Open("anthropic:" + name + at + "&version=2023-06-01")
	case geminiAPI:
		return o.Open("gemini:" + name + at)
	case invokeAPI:
		region := "us-east-1"
		if strings.HasPrefix(name, "eu.") {
			region = "eu-west-1"
		}
		return o.Open("bedrock:" + name + "?region=" + region + "&base=" + base)
	case converseAPI:
		opts := []bedrock.Option{bedrock.BaseURL(base)}
		if !x.stream {
			opts = append(opts, bedrock.Answers(bedrock.Whole))
		}
		return bedrock.New(name, aws.Config{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		}, opts...)
	case chatAPI:
		if vendor := vendors[x.host]; vendor != "" {
			return o.Open(vendor + ":" + name + at)
		}
		return o.Open("openai:" + name + at + "&api=chat")
	default:
		return o.Open("openai:" + name + at + "&api=responses")
	}
}

// got is what a provider made of an answer, in the words of said.
func got(r modeltest.Read) said {
	var s said
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			s.Text += b.Text
		case *event.Thinking:
			s.Thinking += b.Text
		case *event.ToolCall:
			args := string(b.Args)
			if b.Invalid != "" {
				args = b.Invalid
			}
			s.Calls = append(s.Calls, call{b.Name, canonical(args)})
		}
	}
	s.In, s.Out, s.Cached, s.Stop = r.Usage.Prompt(), r.Usage.Output, r.Usage.CacheRead, r.Stop
	return s
}

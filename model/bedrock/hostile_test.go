package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

// An answer that is cut at any byte is an error, whether the connection breaks or closes. None of
// its calls is complete. Only what follows the end signal may be missing.
func TestACutAtEveryByte(t *testing.T) {
	t.Parallel()
	begun := bedrocktest.Begun([]model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."},
		{Kind: model.ChunkSignature, Text: "c2ln"},
		{Kind: model.ChunkText, Index: 1, Text: "I add."},
		{Kind: model.ChunkCall, Index: 2, ID: "c1", Text: "add"},
		{Kind: model.ChunkCallInput, Index: 2, Text: `{"a":1}`},
	}) + bedrocktest.Stopped("tool_use")
	body := begun + bedrocktest.Metadata(nil, event.Usage{Input: 1})
	for n := range len(body) {
		wire := &http.Client{Transport: wire(func(*http.Request) io.ReadCloser {
			return &broken{Reader: strings.NewReader(body[:n]), err: []error{io.EOF, errors.New("connection reset")}[n%2]}
		})}
		m, err := bedrock.New(sonnet, bedrocktest.Config(), bedrock.HTTPClient(wire))
		if err != nil {
			t.Fatal(err)
		}
		r := modeltest.Call(t.Context(), m, hello())
		if n == len(begun) && n%2 == 0 { // the connection closes normally, only the usage is missing
			if r.Err != nil || r.Stop != event.StopToolUse {
				t.Errorf("cut at %d: %v", n, r.Err)
			}
			continue
		}
		if e := failed(t, r); e.Kind != event.ErrStreamCut || r.Stop != "" {
			t.Errorf("cut at %d: %v, stop %q", n, e, r.Stop)
		}
	}
}

// broken is a body that ends with an error.
type broken struct {
	io.Reader

	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

func (*broken) Close() error { return nil }

// endless is a body that repeats a text until it is closed.
type endless struct {
	begin, again, rest string
	read               int
	closed             bool
}

func (e *endless) Read(p []byte) (int, error) {
	const enough = 2 << 30
	if e.rest == "" {
		e.rest = e.again
	}
	if e.begin != "" {
		e.rest, e.begin = e.begin, ""
	}
	if e.read > enough {
		return 0, errors.New("it has read two gigabytes")
	}
	n := copy(p, e.rest)
	e.rest, e.read = e.rest[n:], e.read+n
	return n, nil
}

func (e *endless) Close() error {
	e.closed = true
	return nil
}

// Endless input is bounded before a stream, in it, and in a whole response. TestWhatIsHeldIsBounded
// has the rest.
func TestAGigabyte(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("A", 1<<20)
	var open strings.Builder
	for i := range 5000 {
		open.WriteString(bedrocktest.Event("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"hologram":{}}}`, i)))
	}
	for name, c := range map[string]struct {
		how         bedrock.Streaming
		status      int
		kind        string
		begin, more string
		most        int
		want        event.ErrorKind
	}{
		"a page":      {bedrock.Stream, 200, "text/html", "<html>", pad, 1 << 20, event.ErrModel},
		"an error":    {bedrock.Stream, 500, "text/html", "<html>", pad, 1 << 20, event.ErrUnavailable},
		"one frame":   {bedrock.Stream, 200, "application/vnd.amazon.eventstream", "\x7f\xff\xff\xff\x00\x00\x00\x00", pad, 1 << 20, event.ErrStreamCut},
		"open blocks": {bedrock.Stream, 200, "application/vnd.amazon.eventstream", "", open.String(), 2 << 20, event.ErrStreamCut},
		"at once":     {bedrock.Whole, 200, "application/json", `{"x":"`, pad, 66 << 20, event.ErrStreamCut},
	} {
		body := &endless{begin: c.begin, again: c.more}
		client := &http.Client{Transport: answers(func(r *http.Request) *http.Response {
			return &http.Response{
				StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: body, Request: r, ProtoMajor: 1, ProtoMinor: 1,
			}
		})}
		m, err := bedrock.New(latest, bedrocktest.Config(), bedrock.HTTPClient(client), bedrock.Answers(c.how))
		if err != nil {
			t.Fatal(err)
		}
		var failure error
		for _, err := range m.Stream(t.Context(), hello()) {
			failure = err
		}
		if event.KindOf(failure) != c.want || body.read > c.most || !body.closed {
			t.Errorf("%s: %v after %d bytes, closed %v", name, failure, body.read, body.closed)
		}
	}
}

type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// Values of the wrong type in any event end the answer or are ignored. Nothing panics.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	values := []string{
		`null`, `0`, `-1`, `1e400`, `9223372036854775807`, `"x"`, `""`, `[]`, `[null]`, `{}`, `{"a":{"b":[1]}}`, `true`, strings.Repeat("[", 2000), `{"text":1}`,
		`{"text":{}}`, `{"toolUse":null}`, `{"toolUse":{"toolUseId":7}}`, `{"toolUse":{"toolUseId":"a","name":"f","input":{"x":1}}}`, `{"toolUse":{"input":{}}}`,
		`{"reasoningContent":[]}`, `{"reasoningContent":{"redactedContent":"%%%"}}`, `{"image":{"source":{"bytes":"%%%"}}}`, `{"citation":{"location":{"web":[]}}}`,
		`{"text":"a","toolUse":{"input":"b"},"citation":{}}`, `{"toolResult":[{}]}`, `{"kind":{}}`,
	}
	shapes := map[string][]string{
		"messageStart":      {`%s`, `{"role":%s}`},
		"contentBlockStart": {`%s`, `{"contentBlockIndex":%s,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`, `{"contentBlockIndex":0,"start":%s}`},
		"contentBlockDelta": {`%s`, `{"contentBlockIndex":%s,"delta":{"text":"a"}}`, `{"contentBlockIndex":0,"delta":%s}`, `{"delta":%s}`},
		"contentBlockStop":  {`%s`, `{"contentBlockIndex":%s}`},
		"messageStop":       {`%s`, `{"stopReason":%s}`},
		"metadata":          {`%s`, `{"usage":%s}`, `{"usage":{"inputTokens":%s}}`, `{"trace":%s}`, `{"trace":{"guardrail":%s}}`, `{"usage":{"cacheDetails":%s}}`},
	}
	call := bedrocktest.Event("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`)
	for name, forms := range shapes {
		for _, form := range forms {
			for _, value := range values {
				payload := strings.ReplaceAll(form, "%s", value)
				for _, before := range []string{"", call} {
					for _, id := range []string{latest, nova2} {
						body := before + bedrocktest.Event(name, payload) + bedrocktest.Stopped("end_turn") + bedrocktest.Metadata(nil, event.Usage{})
						wire := &http.Client{Transport: wire(func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(body)) })}
						m, err := bedrock.New(id, bedrocktest.Config(), bedrock.HTTPClient(wire))
						if err != nil {
							t.Fatal(err)
						}
						if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil && failed(t, r).Kind != event.ErrStreamCut {
							t.Errorf("%s %s: %v", name, payload, r.Err)
						}
					}
				}
			}
		}
	}
}

// Cancelling ends a call in each phase and closes what the call opened.
func TestCancelledInEachPhase(t *testing.T) {
	t.Parallel()
	begun := bedrocktest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "Hello."}})
	for name, c := range map[string]struct {
		how    bedrock.Streaming
		answer bedrocktest.Answer
		waits  bool // whether the call waits for credentials
	}{
		"before it is signed":    {bedrock.Stream, bedrocktest.Answer{}, true},
		"before the header":      {bedrock.Stream, bedrocktest.Answer{Silent: true}, false},
		"in the stream":          {bedrock.Stream, bedrocktest.Answer{Body: begun, Stall: true}, false},
		"behind the end signal":  {bedrock.Stream, bedrocktest.Answer{Body: begun + bedrocktest.Stopped("end_turn"), Stall: true}, false},
		"in an error":            {bedrock.Stream, bedrocktest.Answer{Status: 500, Body: "<html>", Stall: true}, false},
		"in an answer at once":   {bedrock.Whole, bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: "{", Stall: true}, false},
		"before an answer comes": {bedrock.Whole, bedrocktest.Answer{Silent: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := bedrocktest.Start(c.answer)
				t.Cleanup(server.Close)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cfg := bedrocktest.Config()
				if c.waits {
					cfg.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
						cancel()
						<-ctx.Done()
						return aws.Credentials{}, ctx.Err()
					})
				} else {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				m, err := bedrock.New(pro, cfg, bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()), bedrock.Answers(c.how))
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				e := failed(t, modeltest.Call(ctx, m, hello()))
				if e.Kind != event.ErrCancelled || time.Since(begun) > 50*time.Millisecond {
					t.Errorf("%v after %v", e, time.Since(begun))
				}
				if !c.waits && !server.Left(3*time.Second) {
					t.Error("the connection stays open")
				}
			})
		})
	}
}

// A whole response of the wrong form is an error, and nothing panics.
func TestHostileWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`null`, `[]`, `{}`, `{"stopReason":7}`, `{"stopReason":"end_turn","output":[]}`, `{"stopReason":"end_turn","output":{"message":{"content":{}}}}`,
		`{"stopReason":"end_turn","output":{"message":{"content":[7]}}}`, `{"stopReason":"end_turn","output":{"message":{"content":[{"toolUse":[]}]}}}`,
		`{"stopReason":"end_turn","output":{"message":{"content":[{"reasoningContent":{"redactedContent":"%"}}]}}}`, `{"stopReason":"end_turn","usage":{"inputTokens":"1"}}`,
		`<html>`, ``, `{"stopReason":"end_turn"`,
	} {
		m, _ := open(t, sonnet, []bedrock.Option{bedrock.Answers(bedrock.Whole)},
			bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: body})
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrStreamCut {
			t.Errorf("%s: %v", body, e)
		}
	}
	// Arguments that are not an object are passed on unchanged. The loop reports them.
	m, _ := open(t, sonnet, []bedrock.Option{bedrock.Answers(bedrock.Whole)}, bedrocktest.Answer{
		Header: map[string]string{"Content-Type": "application/json"},
		Body: `{"stopReason":"tool_use","output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"f","input":[1]}},` +
			`{"toolUse":{"toolUseId":"a","name":"f","input":"x"}}]}}}`,
	})
	r := modeltest.Call(t.Context(), m, &model.Request{Messages: hello().Messages, Tools: []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}})
	if r.Err != nil || len(event.CallsOf(r.Content)) != 2 {
		t.Errorf("%v %+v", r.Err, r.Content)
	}
}

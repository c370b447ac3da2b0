package agentcore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/bedrockagentcore"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcore/types"
	"github.com/aws/smithy-go"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// client is AWS's own, with the keys of somebody.
func (s *site) client(id string, options ...func(*sdk.Options)) *sdk.Client {
	k := keys[id]
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL), HTTPClient: doer(s.send),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: k.Secret.Reveal(), SessionToken: k.Session.Reveal()}, nil
		}),
		RetryMaxAttempts: 3,
	}, options...)
}

// send sends what an SDK wants sent, from a body of its own: the SDK closes its request's
// body as soon as the head of an answer is there, and where the answer was faster than
// net/http's own goroutine, that takes it for a failure and breaks the connection off.
func (s *site) send(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return s.Client().Do(r)
}

const (
	acme = "AKIDEXAMPLE000000001"
	bolt = "AKIDEXAMPLE000000002"
)

func invocation(prompt string) *sdk.InvokeAgentRuntimeInput {
	return &sdk.InvokeAgentRuntimeInput{AgentRuntimeArn: aws.String(arn), Payload: []byte(promptBody(prompt)), RuntimeSessionId: aws.String(session)}
}

func TestSDKInvokes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	in := invocation("use clock")
	in.Qualifier, in.TraceId, in.TraceParent = aws.String("DEFAULT"), aws.String("Root=1-2-3"), aws.String("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	in.TraceState, in.Baggage, in.McpSessionId = aws.String("a=b"), aws.String("k=v"), aws.String("mcp-1")
	in.RuntimeUserId = aws.String("somebody else")
	out, err := s.client(acme).InvokeAgentRuntime(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	if *out.RuntimeSessionId != session || !strings.HasPrefix(*out.ContentType, "text/event-stream") || *out.StatusCode != 200 ||
		*out.TraceId != *in.TraceId || *out.TraceParent != *in.TraceParent || *out.TraceState != "a=b" || *out.Baggage != "k=v" || *out.McpSessionId != "mcp-1" {
		t.Errorf("%+v", out)
	}
	sum, err := wire.Summarize(out.Response)
	if err != nil || sum.Text() != "it is noon" || len(sum.Tools) != 1 || !sum.Complete || sum.Cycles != 2 || sum.Usage.Total != 20 || len(sum.Anomalies) > 0 {
		t.Errorf("%+v %v", sum, err)
	}
	if a := s.agent.Load(); a.Tenant != "acme" || a.User != "ann" {
		t.Errorf("the run is of %+v: the key says whose it is", a.Principal)
	}
	// Without a session there is a new one, and it is told.
	in = invocation("count")
	in.RuntimeSessionId = nil
	out, err = s.client(acme).InvokeAgentRuntime(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	if len(*out.RuntimeSessionId) < 33 || *out.RuntimeSessionId == session {
		t.Error(*out.RuntimeSessionId)
	}
}

// What the agent says arrives as it says it, and not in one piece at the end.
func TestSDKStreams(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	out, err := s.client(acme).InvokeAgentRuntime(t.Context(), invocation("slowly please"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	lines := bufio.NewScanner(out.Response)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("%q did not come: %v", text, lines.Err())
	}
	for _, word := range []string{`"you "`, `"said "`, `"slowly "`, `"please"`} {
		until(word)
		if word != `"please"` {
			s.gate <- struct{}{} // the model says the next word only now
		}
	}
	until(`{"result"`)
}

func TestSDKTenants(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	count := func(key string) string {
		out, err := s.client(key).InvokeAgentRuntime(t.Context(), invocation("count"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Response.Close()
		sum, _ := wire.Summarize(out.Response)
		return sum.Text()
	}
	if got := []string{count(acme), count(acme), count(bolt), count(acme)}; got[1] != "there are III" || got[2] != "there are I" || got[3] != "there are IIIII" {
		t.Errorf("sessions of one id: %v", got)
	}
	if a := s.agent.Load(); a.Tenant != "acme" {
		t.Error(a.Tenant)
	}
}

func TestSDKErrors(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	s := open(t, nil)
	counted := func(o *sdk.Options) {
		o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
			attempts.Add(1)
			return s.send(r)
		})
		o.Retryer = quick{o.Retryer}
	}
	refused := func(want string, attemptsWanted int64, in *sdk.InvokeAgentRuntimeInput, options ...func(*sdk.Options)) error {
		t.Helper()
		attempts.Store(0)
		out, err := s.client(acme, append([]func(*sdk.Options){counted}, options...)...).InvokeAgentRuntime(t.Context(), in)
		if err == nil {
			_ = out.Response.Close()
			t.Errorf("it was answered, want %s", want)
			return nil
		}
		if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != want || attempts.Load() != attemptsWanted {
			t.Errorf("%v after %d attempts, want %s after %d", err, attempts.Load(), want, attemptsWanted)
		}
		return err
	}
	as := func(change func(*sdk.InvokeAgentRuntimeInput)) *sdk.InvokeAgentRuntimeInput {
		in := invocation("hello")
		change(in)
		return in
	}
	type input = sdk.InvokeAgentRuntimeInput

	err := refused("ValidationException", 1, as(func(in *input) { in.Payload = []byte("{") }))
	if e, ok := errors.AsType[*types.ValidationException](err); !ok || !strings.Contains(*e.Message, "Invalid JSON") {
		t.Errorf("%#v", err)
	}
	_ = refused("ValidationException", 1, as(func(in *input) { in.RuntimeSessionId = aws.String("short") }))
	err = refused("ResourceNotFoundException", 1, as(func(in *input) { in.AgentRuntimeArn = aws.String(strings.Replace(arn, "guide", "other", 1)) }))
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
		t.Errorf("%#v", err)
	}
	_ = refused("ResourceNotFoundException", 1, as(func(in *input) { in.Qualifier = aws.String("PROD") }))
	before := s.calls.Load()
	err = refused("RuntimeClientError", 1, as(func(in *input) {
		in.Payload, in.Accept = []byte(promptBody("break now")), aws.String("application/json")
	}))
	if e, ok := errors.AsType[*types.RuntimeClientError](err); !ok || *e.Message != "Read timed out" {
		t.Errorf("%#v", err)
	}
	if n := s.calls.Load() - before; n != 1 {
		t.Errorf("a failed agent ran %d times", n)
	}
	credentials := func(id, secret, session string) func(*sdk.Options) {
		return func(o *sdk.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: session}, nil
			})
		}
	}
	_ = refused("InvalidSignatureException", 1, invocation("hello"), credentials(acme, "other", ""))
	_ = refused("UnrecognizedClientException", 1, invocation("hello"), credentials("AKIDEXAMPLE000000009", "secret-of-acme", ""))
	_ = refused("UnrecognizedClientException", 1, invocation("hello"), credentials(bolt, "secret-of-bolt", ""))
	_ = refused("InvalidSignatureException", 1, invocation("hello"), func(o *sdk.Options) { o.Region = "eu-west-1" })

	// Two runs at once in one session.
	slow, err := s.client(acme).InvokeAgentRuntime(t.Context(), invocation("slowly please"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Response.Close()
	err = refused("RetryableConflictException", 1, invocation("hello"))
	if _, ok := errors.AsType[*types.RetryableConflictException](err); !ok {
		t.Errorf("%#v", err)
	}
}

// quick does not wait between attempts.
type quick struct{ aws.Retryer }

func (quick) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// An attempt whose answer was lost is not run again: the next one gets the first's stream.
func TestSDKRetryRunsOnce(t *testing.T) {
	t.Parallel()
	for _, withSession := range []bool{true, false} {
		s := open(t, nil)
		var attempts atomic.Int64
		c := s.client(acme, func(o *sdk.Options) {
			o.Retryer = quick{o.Retryer}
			o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
				res, err := s.send(r)
				if err == nil && attempts.Add(1) < 3 {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					return nil, &event.Error{Kind: event.ErrUnavailable, Message: "connection reset", Err: io.ErrUnexpectedEOF}
				}
				return res, err
			})
		})
		in := invocation("use clock")
		if !withSession {
			in.RuntimeSessionId = nil
		}
		out, err := c.InvokeAgentRuntime(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := wire.Summarize(out.Response)
		_ = out.Response.Close()
		if err != nil || sum.Text() != "it is noon" || len(sum.Tools) != 1 {
			t.Errorf("%+v %v", sum, err)
		}
		if attempts.Load() != 3 || s.calls.Load() != 2 {
			t.Errorf("%d attempts, %d calls of the model", attempts.Load(), s.calls.Load())
		}
	}
}

// Whoever destroys the stream cancels the run, once the time for coming back is over.
func TestSDKDisconnectCancels(t *testing.T) {
	t.Parallel()
	s := open(t, func(_ *service.Options, o *agentcore.Options) { o.Grace = time.Millisecond })
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	out, err := s.client(acme).InvokeAgentRuntime(ctx, invocation("slowly please"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out.Response, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = out.Response.Close()
	leave()
	s.ends(service.Principal{Tenant: "acme"}, event.RunCancelled)
}

// ends waits until the session's last run has ended so.
func (s *site) ends(who service.Principal, want event.RunStatus) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		conv, err := s.service.ConversationNamed(s.t.Context(), who, "agentcore session "+session)
		if err != nil {
			s.t.Fatal(err)
		}
		runs, err := s.service.ListRuns(s.t.Context(), who, conv.ID, 0, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		last := runs[len(runs)-1].Status
		if last == want {
			return
		}
		if last.Ended() || time.Now().After(deadline) {
			s.t.Fatalf("the run is %s, want %s", last, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestSDKStopsASession(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := s.client(acme)
	stop := func(id string) (*sdk.StopRuntimeSessionOutput, error) {
		return c.StopRuntimeSession(t.Context(), &sdk.StopRuntimeSessionInput{AgentRuntimeArn: aws.String(arn), RuntimeSessionId: aws.String(id)})
	}
	if _, err := stop(session); !isAPI(err, "ResourceNotFoundException") {
		t.Error(err)
	}
	out, err := c.InvokeAgentRuntime(t.Context(), invocation("slowly please"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	stopped, err := stop(session)
	if err != nil || *stopped.RuntimeSessionId != session || *stopped.StatusCode != 200 {
		t.Fatal(stopped, err)
	}
	sum, err := wire.Summarize(out.Response)
	if err != nil || sum.Stop != "cancelled" || !sum.Complete {
		t.Errorf("%+v %v", sum, err)
	}
	// The machine is another one then.
	out, err = c.InvokeAgentRuntime(t.Context(), invocation("count"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	if sum, err := wire.Summarize(out.Response); err != nil || sum.Text() != "there are I" {
		t.Errorf("%+v %v", sum, err)
	}
}

func isAPI(err error, code string) bool {
	e, ok := errors.AsType[smithy.APIError](err)
	return ok && e.ErrorCode() == code
}

func TestSDKAgentCard(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	out, err := s.client(acme).GetAgentCard(t.Context(), &sdk.GetAgentCardInput{AgentRuntimeArn: aws.String(arn)})
	if err != nil {
		t.Fatal(err)
	}
	var card map[string]any
	if err := out.AgentCard.UnmarshalSmithyDocument(&card); err != nil || card["name"] != "agent" || card["protocolVersion"] != "0.3.0" {
		t.Errorf("%v %v", card, err)
	}
	if len(*out.RuntimeSessionId) < 33 {
		t.Error(*out.RuntimeSessionId)
	}
}

// signed signs a request by hand, as of some time.
func (s *site) signed(r *http.Request, body string, at time.Time, region string) *http.Request {
	s.t.Helper()
	r.Header.Del("Authorization")
	k := aws.Credentials{AccessKeyID: acme, SecretAccessKey: keys[acme].Secret.Reveal()}
	if err := v4.NewSigner().SignHTTP(s.t.Context(), k, r, sigv4.Hash([]byte(body)), "bedrock-agentcore", region, at); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const body = `{"prompt": "hello"}`
	path := "/runtimes/" + encoded(arn) + "/invocations"
	request := func(body string, headers ...string) *http.Request {
		return s.request(t.Context(), http.MethodPost, path, body, headers...)
	}
	now := time.Now()
	refused := func(name string, r *http.Request, code string) {
		t.Helper()
		a := s.do(r)
		if a.code != 403 || a.head.Get(errorType) != code {
			t.Errorf("%s: %d %s %s", name, a.code, a.head.Get(errorType), a.body)
		}
	}
	s.do(s.signed(request(body), body, now, "us-east-1")).has(t, 200, `{"result"`)
	s.do(s.signed(request(body, "X-Amz-Content-Sha256", sigv4.Hash([]byte(body))), body, now, "us-east-1")).has(t, 200, `{"result"`)
	s.do(s.signed(request(body), body, now.Add(-4*time.Minute), "us-east-1")).has(t, 200)
	refused("a clock that is slow", s.signed(request(body), body, now.Add(-6*time.Minute), "us-east-1"), "InvalidSignatureException")
	refused("a clock that is fast", s.signed(request(body), body, now.Add(6*time.Minute), "us-east-1"), "InvalidSignatureException")
	refused("another region", s.signed(request(body), body, now, "eu-west-1"), "InvalidSignatureException")
	refused("another body", s.signed(request(`{"prompt": "gimme"}`), body, now, "us-east-1"), "InvalidSignatureException")
	refused("another body than its hash says",
		s.signed(request(`{"prompt": "gimme"}`, "X-Amz-Content-Sha256", sigv4.Hash([]byte(body))), body, now, "us-east-1"), "InvalidSignatureException")
	refused("no hash", s.signed(request(body, "X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"), body, now, "us-east-1"), "InvalidSignatureException")
	moved := s.signed(request(body), body, now, "us-east-1")
	moved.Header.Set(sessionHeader, strings.Repeat("b", 40))
	refused("a session put in later", moved, "InvalidSignatureException")
	bare := s.signed(request(body, sessionHeader, ""), body, now, "us-east-1")
	bare.Header.Set(sessionHeader, session)
	refused("a session that is not signed", bare, "InvalidSignatureException")
	refused("nothing", request(body, "Authorization", ""), "MissingAuthenticationTokenException")
	refused("half of it", request(body, "Authorization", "AWS4-HMAC-SHA256 Credential="+acme+"/20260101/us-east-1"), "IncompleteSignatureException")
	refused("another token", request(body, "Authorization", "Bearer no"), "AccessDeniedException")
	s.do(request(body)).has(t, 200, `{"result"`) // the bearer token opens AWS's door, too
	// The container's door knows no keys.
	if a := s.do(s.signed(s.request(t.Context(), http.MethodPost, "/invocations", body), body, now, "us-east-1")); a.code != 401 {
		t.Errorf("%d %s", a.code, a.body)
	}
}

// The wire snapshots that come with the SDK: what it sends is taken, and what it reads is
// sent.
func TestSDKSnapshots(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/bedrockagentcore").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, nil)
	s.say("hello", aUser, "__RuntimeUserId__").has(t, 200) // the user of the snapshot
	values := map[string]string{
		"__AgentRuntimeArn__": encoded(arn), "__AccountId__": "123456789012", "__Qualifier__": "DEFAULT", "__RuntimeSessionId__": session,
		"__Accept__": "text/event-stream", "__ContentType__": "application/octet-stream",
	}
	for _, op := range []string{"InvokeAgentRuntime", "GetAgentCard", "StopRuntimeSession"} {
		t.Run(op, func(t *testing.T) {
			head, body := snapshot(t, string(bytes.TrimSpace(dir)), "request", op)
			for name, value := range values {
				head[0] = strings.ReplaceAll(head[0], name, value)
			}
			method, path, _ := strings.Cut(head[0], " ")
			sent := map[string]string{}
			if body == "blob" {
				body = promptBody("hello")
			}
			r := s.request(t.Context(), method, path, body)
			for _, line := range head[1:] {
				name, value, ok := strings.Cut(line, ": ")
				if !ok {
					continue
				}
				if v, known := values[value]; known {
					value = v
				}
				r.Header.Set(name, value)
				sent[name] = value
			}
			a := s.do(r)
			a.has(t, 200)
			want, _ := snapshot(t, string(bytes.TrimSpace(dir)), "response", op)
			for _, line := range want[1:] {
				name, _, ok := strings.Cut(line, ": ")
				if !ok || name == "X-Amzn-Bedrock-Agentcore-Runtime-Session-Endpoint-Url" { // there is one endpoint
					continue
				}
				got := a.head.Get(name)
				if v, echoed := sent[name]; got == "" || echoed && name != "Content-Type" && got != v {
					t.Errorf("%s: %q, sent %q", name, got, v)
				}
			}
		})
	}
}

// snapshot reads one of the SDK's: the lines of the head, and the body.
func snapshot(t *testing.T, dir, kind, op string) (head []string, body string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, kind+"_snapshot", op+"."+kind+".snap"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if kind == "request" {
		first, rest, _ := strings.Cut(text, "\n\n")
		lines, body, _ := strings.Cut(rest, "\n\n")
		return append([]string{first}, strings.Split(lines, "\n")...), body
	}
	lines, body, _ := strings.Cut(text, "\n\n")
	return strings.Split(lines, "\n"), body
}

//go:build peers

package agentcorepeer

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/wire/agentcore"
)

// TestAWSClient has AWS's own client for JavaScript ask the front door.
func TestAWSClient(t *testing.T) {
	s := serve(t)
	type refusal struct {
		Problem, Name, Message, All string
		Status, Attempts            int
	}
	var got struct {
		Pieces struct {
			Problem, Type, Session, Request, All string
			Status, Head                         int
			At                                   []int
		}
		Unnamed struct{ Problem, Session string }
		Turns   struct {
			Problem string
			All     []string
		}
		Whole struct {
			Problem, Type string
			Body          struct{ Result struct{ Type string } }
		}
		Short, Unknown, Signature, BadJSON, Failed, Busy refusal
		Retry                                            struct {
			Problem, All, Session string
			Requests, Attempts    int
		}
		Leaves struct {
			Problem, All string
			Free         int
		}
		Stop struct {
			Problem, Session, All string
			Status, Ended         int
		}
		Card struct {
			Problem string
			Status  int
			Card    struct{ Name string }
		}
	}
	node(t, &got, "aws.mjs", s.url, s.arn, s.key, s.secret)

	said := func(stream string) string {
		sum, err := agentcore.Summarize(strings.NewReader(stream))
		if err != nil || !sum.Complete || len(sum.Anomalies) > 0 {
			t.Errorf("the stream is not whole: %v, %+v\n%s", err, sum, stream)
			return ""
		}
		return sum.Text()
	}
	p := got.Pieces
	if p.Problem != "" || p.Status != 200 || !strings.HasPrefix(p.Type, "text/event-stream") || p.Session != "pieces"+strings.Repeat("-0123456789", 4)[:34] ||
		p.Request == "" || !strings.HasSuffix(said(p.All), "twenty") {
		t.Errorf("pieces: %+v", p)
	}
	const steps, long = 5, 200 // it takes half a second, and comes in some twenty pieces
	if len(p.At) < steps || p.At[len(p.At)-1]-p.At[0] < long {
		t.Errorf("the pieces come at %v ms", p.At)
	}
	if len(got.Unnamed.Session) < 33 {
		t.Errorf("unnamed: %+v", got.Unnamed)
	}
	if len(got.Turns.All) != 2 || said(got.Turns.All[0]) != `You said "first".` || said(got.Turns.All[1]) != `You said "second".` {
		t.Errorf("turns: %+v", got.Turns)
	}
	if got.Whole.Type != "application/json" || got.Whole.Body.Result.Type != "agent_result" {
		t.Errorf("whole: %+v", got.Whole)
	}
	for name, c := range map[string]struct {
		got    refusal
		want   string
		status int
	}{
		"a short session":   {got.Short, "ValidationException", 400},
		"an unknown ARN":    {got.Unknown, "ResourceNotFoundException", 404},
		"a wrong signature": {got.Signature, "InvalidSignatureException", 403},
		"bad JSON":          {got.BadJSON, "ValidationException", 400},
		"a failed agent":    {got.Failed, "RuntimeClientError", 424},
		"a busy session":    {got.Busy, "RetryableConflictException", 409},
	} {
		if c.got.Name != c.want || c.got.Status != c.status || c.got.Attempts != 1 || c.got.Message == "" {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
	if r := got.Retry; r.Problem != "" || r.Requests != 2 || r.Attempts != 2 || said(r.All) != `You said "hello".` {
		t.Errorf("retry: %+v", r)
	}
	if got.Leaves.Problem != "" || got.Leaves.Free > 10_000 {
		t.Errorf("leaves: %+v", got.Leaves)
	}
	if st := got.Stop; st.Problem != "" || st.Status != 200 || st.Ended > 10_000 || !strings.Contains(st.All, `"stop_reason": "cancelled"`) {
		t.Errorf("stop: %+v", st)
	}
	if got.Card.Problem != "" || got.Card.Status != 200 || got.Card.Card.Name == "" {
		t.Errorf("card: %+v", got.Card)
	}
	// What ran: pieces, unnamed, two turns, whole, retry (once), and what was asked again after
	// leaving, which ends with its reader; the agent that failed; leaving, busy and stop.
	eventually(t, "the runs do not end", func() bool { r := s.runs(t); return r["running"] == 0 && r["queued"] == 0 })
	if r := s.runs(t); r["failed"] != 1 || r["cancelled"] != 3 || r["completed"] != 7 {
		t.Errorf("a retry ran twice, or who leaves does not cancel: %v", r)
	}
}

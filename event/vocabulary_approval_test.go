package event_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/braidrun/braid/event"
)

// An approval is the one answer that every wire writes and every engine reads.
func TestVocabularyApproval(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		json string
		want event.Approval
		out  string // where it is written shorter than it was read
	}{
		{json: `true`, want: event.Approval{Approved: true}},
		{json: `false`, want: event.Approval{}},
		{json: `{"approved":true}`, want: event.Approval{Approved: true}, out: `true`},
		{json: `{}`, want: event.Approval{}, out: `false`},
		{
			json: `{"approved":true,"args":{"command":"a && b < c"}}`,
			want: event.Approval{Approved: true, Args: json.RawMessage(`{"command":"a && b < c"}`)},
		},
		{
			json: `{"approved":false,"reason":"not today","stop":true}`,
			want: event.Approval{Reason: "not today", Stop: true},
		},
		{
			json: `{"approved":false,"payload":null}`,
			want: event.Approval{Payload: json.RawMessage("null")},
		},
	} {
		var got event.Approval
		if err := json.Unmarshal([]byte(row.json), &got); err != nil {
			t.Errorf("%s: %v", row.json, err)
			continue
		}
		if !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s became %+v", row.json, got)
		}
		out := row.out
		if out == "" {
			out = row.json
		}
		if written := asFrame(got); written != out {
			t.Errorf("%s is written as %s", row.json, written)
		}
	}
	for _, bad := range []string{`null`, `"yes"`, `1`, `[]`, `{"approved":"yes"}`} {
		got := event.Approval{Approved: true}
		err := json.Unmarshal([]byte(bad), &got)
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s gave %+v and %v", bad, got, err)
		}
	}
}

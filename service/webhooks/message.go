package webhooks

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// message is one message before it is signed.
type message struct {
	// id is the webhook-id. It is the same for every webhook and every attempt.
	id      string
	of      directory.WebhookEvent
	payload []byte
}

// payload is the body of a message. It has ids and figures, and no text of users, models or tools.
type payload struct {
	Type      directory.WebhookEvent `json:"type"`
	Timestamp time.Time              `json:"timestamp"`
	Data      any                    `json:"data"`
}

// place says where an event belongs.
type place struct {
	Tenant       string `json:"tenant_id"`
	Conversation string `json:"conversation_id"`
	Run          string `json:"run_id"`
	// Seq is the event's place in the conversation's log.
	Seq int64 `json:"seq"`
}

// endedData is the data of run.ended and run.limit_reached.
type endedData struct {
	place

	Status     event.RunStatus  `json:"status"`
	StopReason event.StopReason `json:"stop_reason,omitempty"`
	// Error has the kind and the code of the error, and not its text.
	Error      *endedError `json:"error,omitempty"`
	Cycles     int         `json:"cycles"`
	DurationMS int64       `json:"duration_ms"`
	Usage      usage       `json:"usage"`
	// Cost is in 1e-9 US dollars; null is unknown.
	Cost *int64 `json:"cost_nano_usd"`
}

type endedError struct {
	Kind event.ErrorKind `json:"kind"`
	Code string          `json:"code,omitempty"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

// askedData is the data of question.asked.
type askedData struct {
	place

	Question string             `json:"question_id"`
	Kind     event.QuestionKind `json:"kind"`
	// Tool is the name of the tool that asks, or whose call needs an approval.
	Tool    string    `json:"tool,omitempty"`
	Expires time.Time `json:"expires_at,omitzero"`
}

// pingData is the data of webhook.ping.
type pingData struct {
	Tenant  string `json:"tenant_id"`
	Webhook string `json:"webhook_id"`
}

// longestWord bounds names and codes in a payload. Together with the ids that bounds the payload.
const longestWord = 256

// matters reports whether an event becomes a message.
func matters(e *event.Event) bool {
	switch e.Body.(type) {
	case *event.RunEnded, *event.Asked:
		return true
	}
	return false
}

// messagesOf returns the messages about an event.
func messagesOf(tenant string, e *event.Event) (list []message, err error) {
	at := place{tenant, e.Conversation, e.Run, e.Seq}
	add := func(of directory.WebhookEvent, data any) {
		m := message{id: messageID(at, of), of: of}
		var failed error
		if m.payload, failed = json.Marshal(payload{of, e.Time.UTC(), data}); failed != nil {
			err = failed
		}
		list = append(list, m)
	}
	switch b := e.Body.(type) {
	case *event.RunEnded:
		data := endedOf(at, b)
		add(directory.WebhookRunEnded, data)
		if limited(b) {
			add(directory.WebhookLimitReached, data)
		}
	case *event.Asked:
		add(directory.WebhookQuestionAsked, askedData{at, b.Token, b.Ask, short(b.Tool), b.Expires})
	}
	return list, err
}

func endedOf(at place, b *event.RunEnded) endedData {
	d := endedData{
		place: at, Status: b.Status, StopReason: b.Stop, Cycles: b.Cycles, DurationMS: b.Duration.Milliseconds(), Cost: b.CostNanoUSD,
		Usage: usage{b.Usage.Input, b.Usage.Output, b.Usage.CacheRead, b.Usage.CacheWrite},
	}
	if b.Err != nil {
		d.Error = &endedError{b.Err.Kind, short(b.Err.Code)}
	}
	return d
}

// limited reports whether a limit of the run or a quota of its tenant has ended it.
func limited(b *event.RunEnded) bool {
	return b.Why == event.WhyLimit || strings.HasPrefix(string(b.Stop), "limit_") ||
		b.Err != nil && (b.Err.Kind == event.ErrLimit || b.Err.Kind == event.ErrQuota)
}

func short(s string) string {
	if len(s) <= longestWord {
		return s
	}
	return strings.ToValidUTF8(s[:longestWord], "") + "…"
}

var idLetters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// messageID returns the id of a message. It follows from the event's place, so every process makes
// the same one. It contains no full stop, which separates it from what is signed with it.
func messageID(at place, of directory.WebhookEvent) string {
	h := sha256.New()
	for _, part := range []string{at.Tenant, at.Conversation, at.Run, strconv.FormatInt(at.Seq, 10), string(of)} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return "msg_" + idLetters.EncodeToString(h.Sum(nil)[:20])
}

// ping returns a message for a test.
func ping(w *directory.Webhook) (message, error) {
	now := time.Now().UTC()
	m := message{id: "msg_" + strings.ToLower(rand.Text()), of: directory.WebhookPing}
	var err error
	m.payload, err = json.Marshal(payload{m.of, now, pingData{w.Tenant, w.ID}})
	return m, err
}

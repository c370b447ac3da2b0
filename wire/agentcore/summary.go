package agentcore

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// Summary sums up a stream. The zero Summary is that of an empty stream.
type Summary struct {
	// Answers are the texts of the messages that have text, in order.
	Answers []string
	// Tools holds each call once; see [Reader.Tools].
	Tools []*ToolUse
	// Cycles counts the ended model calls; Usage and Latency are their totals.
	Cycles  int
	Usage   event.Usage
	Latency time.Duration
	// Stop is the last stop reason, in the stream's own word.
	Stop string
	// Error and ErrorType are the message and class of the error that ended the stream.
	Error, ErrorType string
	// Items counts the items.
	Items int
	// Anomalies are the stream's defects.
	Anomalies []Found
	// Complete reports whether the run ended; see [Reader.Complete].
	Complete bool

	answer  strings.Builder
	stopped bool
}

// Found is an anomaly and its position.
type Found struct {
	// Number is the item's number, counted from 1.
	Number  int
	Anomaly Anomaly
	// Text is the beginning of the defective input.
	Text string
}

// foundText bounds [Found.Text] in bytes, and anomaliesKept the number of anomalies.
const (
	foundText     = 200
	anomaliesKept = 1000
)

// Text returns all that the agent said, with a blank line between messages.
func (s *Summary) Text() string { return strings.Join(s.Answers, "\n\n") }

// Summarize reads a stream to its end. If the underlying reader fails, it returns the error and
// the summary so far.
func Summarize(from io.Reader) (*Summary, error) {
	r := NewReader(from, 0)
	s := &Summary{}
	for {
		it, err := r.Next()
		if err != nil {
			s.End(r)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return s, err
		}
		s.Add(it)
	}
}

// Add adds an item.
func (s *Summary) Add(it *Item) {
	s.Items = it.Number
	if it.Anomaly != "" && len(s.Anomalies) < anomaliesKept {
		raw := it.Raw
		s.Anomalies = append(s.Anomalies, Found{it.Number, it.Anomaly, strings.ToValidUTF8(string(raw[:min(len(raw), foundText)]), "\uFFFD")})
	}
	switch it.Kind {
	case KindText:
		if !it.Repeats {
			s.answer.Write(it.Text)
		}
	case KindReplaced:
		s.answer.Reset()
		s.answer.Write(it.Text)
	case KindMessageStart:
		if s.stopped {
			s.close()
		}
		s.answer.Reset() // drop the text of a failed attempt
	case KindMessageStop:
		s.stopped, s.Stop = true, it.Stop
	case KindMetadata:
		s.Cycles++
		s.Usage = s.Usage.Add(it.Usage)
		s.Latency += it.Latency
	case KindMessage:
		if it.Role != "user" {
			s.answer.Reset()
			s.answer.WriteString(event.RawText(it.Content))
			s.close()
		}
	case KindResult:
		if it.Stop != "" {
			s.Stop = it.Stop
		}
		if !it.Repeats && s.answer.Len() == 0 {
			s.answer.Write(it.Text)
		}
	case KindError:
		s.Error, s.ErrorType = string(it.Text), it.ErrorType
	case KindForceStop:
		s.Error = string(it.Text)
	}
}

func (s *Summary) close() {
	if s.answer.Len() > 0 {
		s.Answers = append(s.Answers, s.answer.String())
	}
	s.answer.Reset()
	s.stopped = false
}

// End adds what the reader knows at the end of the stream.
func (s *Summary) End(r *Reader) {
	s.close()
	s.Tools, s.Complete = r.Tools(), r.Complete()
}

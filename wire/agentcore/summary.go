package agentcore

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// Summary is what a whole stream comes to. The zero Summary is that of an empty stream.
type Summary struct {
	// Answers are the texts of the messages that have any, in order.
	Answers []string
	// Tools are the calls, each once; see [Reader.Tools].
	Tools []*ToolUse
	// Cycles counts the model calls that ended; Usage and Latency are summed over them.
	Cycles  int
	Usage   event.Usage
	Latency time.Duration
	// Stop is the last stop reason, in the stream's own word.
	Stop string
	// Error is the sentence of an error that ended the stream, ErrorType its class.
	Error, ErrorType string
	// Items counts what the stream said.
	Items int
	// Anomalies are what is wrong with it.
	Anomalies []Found
	// Complete says that the run came to an end; see [Reader.Complete].
	Complete bool

	answer  strings.Builder
	stopped bool
}

// Found is an anomaly in its place.
type Found struct {
	// Number is that of the item, from 1.
	Number  int
	Anomaly Anomaly
	// Text is the beginning of what is wrong.
	Text string
}

// foundText bounds [Found.Text] in bytes, and anomaliesKept their number.
const (
	foundText     = 200
	anomaliesKept = 1000
)

// Text is all that the agent said, with a blank line between messages.
func (s *Summary) Text() string { return strings.Join(s.Answers, "\n\n") }

// Summarize reads a stream to its end. The summary is good as far as it came also where
// the reader below fails.
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

// Add takes an item in.
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
		s.answer.Reset() // what an attempt said that failed
	case KindMessageStop:
		s.stopped, s.Stop = true, it.Stop
	case KindMetadata:
		s.Cycles++
		s.Usage = s.Usage.Add(it.Usage)
		s.Latency += it.Latency
	case KindMessage:
		if it.Role != "user" {
			s.answer.Reset()
			s.answer.WriteString(event.TextOf(it.Content))
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

// End takes in what the reader knows at the end.
func (s *Summary) End(r *Reader) {
	s.close()
	s.Tools, s.Complete = r.Tools(), r.Complete()
}

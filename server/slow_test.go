package server_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// flood says more than anybody reads a byte at a time. It goes on once its first words were read.
type flood struct {
	chunk string
	read  <-chan struct{}
}

const floodChunks = 300

func (flood) Info() model.Info { return model.Info{Name: "test:flood", Simulated: true} }

func (f flood) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for range floodChunks {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: f.chunk}, nil) {
				return
			}
			<-f.read
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

var lastID = regexp.MustCompile(`(?m)^id: (.*)\n(?:.+\n)*\n`)

// A reader of a byte now and then is waited for by nobody: it is cut off with an id that
// it can come again with, and then it has everything.
func TestAReaderThatHardlyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slows, read := make(chan struct{}), make(chan struct{})
		model := flood{strings.Repeat("flood ", 680) + "\n", slows}
		s := open(t, func(o *service.Options, _ *server.Options) {
			o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
				return braid.New("assistant", model), nil
			}
		})
		l := loopback.Listen()
		const patience = 300 * time.Millisecond
		s.behind(t, l, server.Options{WriteTime: patience})
		conv := "/v1/conversations/" + s.conversation()
		slow, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		if _, err := io.WriteString(slow, "GET "+conv+"/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var seen bytes.Buffer
		go func() {
			defer close(read)
			begun := sync.OnceFunc(func() { close(slows) })
			defer begun()
			one := make([]byte, 1)
			// The clock stands still meanwhile, so looking at all of it for each byte would take as long as it takes.
			for !bytes.HasSuffix(seen.Bytes(), []byte("\n\n")) || !bytes.Contains(seen.Bytes(), []byte("event: text_delta\n")) {
				if _, err := slow.Read(one); err != nil || seen.Len() == 64<<10 {
					t.Errorf("the slow reader is sent no delta in %d bytes: %v", seen.Len(), err)
					return
				}
				seen.Write(one)
			}
			begun()
			for range 200 {
				time.Sleep(50 * time.Millisecond)
				if _, err := slow.Read(one); err != nil {
					return
				}
				seen.Write(one)
			}
		}()

		synctest.Wait() // a stream that begins after its run has no deltas

		// Another reader is as quick as ever.
		begun := time.Now()
		res := s.ask("POST", conv+"/runs", `{"user_input":"go"}`)
		quick, err := io.ReadAll(res.Body)
		if err != nil || !bytes.Contains(quick, []byte("event: result\n")) {
			t.Fatalf("the quick reader: %v, %d bytes", err, len(quick))
		}
		if took := time.Since(begun); took >= patience {
			t.Errorf("the quick reader waits for %v", took)
		}
		<-slows
		<-read // it was cut off
		if took := time.Since(begun); took > 2*patience {
			t.Errorf("the slow reader is cut off after %v", took)
		}
		// Nothing is held for it any more.
		synctest.Wait()
		s.streams(0)
		if bytes.Contains(seen.Bytes(), []byte("event: result\n")) {
			t.Fatalf("the slow reader got everything in %d bytes; say more", seen.Len())
		}
		ids := lastID.FindAllSubmatch(seen.Bytes(), -1)
		back := s.ask("GET", conv+"/runs/"+res.Header.Get("X-Run-Id")+"/stream", "", "Last-Event-ID", string(ids[len(ids)-1][1]))
		rest, err := io.ReadAll(back.Body)
		if err != nil || back.StatusCode != 200 {
			t.Fatalf("%s %v", back.Status, err)
		}
		if n := bytes.Count(rest, []byte("event: result\n")); n != 1 {
			t.Errorf("%d results", n)
		}
		said := bytes.Count(rest, []byte("flood flood"))
		if said < floodChunks/2 {
			t.Errorf("coming again it is told %d of the words", said)
		}
	})
}

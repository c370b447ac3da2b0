package server_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// flood says more than the buffers of a connection hold.
type flood struct{ chunk string }

const floodChunks = 3000

func (flood) Info() braid.ModelInfo { return braid.ModelInfo{Name: "test:flood", Simulated: true} }

func (f flood) Stream(context.Context, *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) {
		for range floodChunks {
			if !yield(braid.Chunk{Kind: braid.ChunkText, Text: f.chunk}, nil) {
				return
			}
		}
		yield(braid.Chunk{Kind: braid.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

var lastID = regexp.MustCompile(`(?m)^id: (.*)\n(?:.+\n)*\n`)

// A reader of a byte now and then is waited for by nobody: it is cut off with an id that
// it can come again with, and then it has everything.
func TestAReaderThatHardlyReads(t *testing.T) {
	t.Parallel()
	model := flood{strings.Repeat("flood ", 680) + "\n"}
	s := open(t, func(o *service.Options, _ *server.Options) {
		o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", model), nil
		}
	})
	addr := s.real(t, server.Options{WriteTime: 300 * time.Millisecond})
	conv := "/v1/conversations/" + s.conversation()

	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := slow.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(slow, "GET "+conv+"/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	one := make([]byte, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for range 40 { // about two seconds, and then as much as came
			if _, err := slow.Read(one); err != nil {
				return
			}
			seen.Write(one)
			time.Sleep(50 * time.Millisecond)
		}
		_ = slow.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.Copy(&seen, slow)
	}()

	// Another reader is as quick as ever; it has more time, so that a busy machine is no slow one.
	begun := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+conv+"/runs", strings.NewReader(`{"user_input":"go"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	quick, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(quick, []byte("event: result\n")) {
		t.Fatalf("the quick reader: %v, %d bytes", err, len(quick))
	}
	took := time.Since(begun)
	// Nothing is held for the slow one any more, though it is still reading.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		m, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(m)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body) // what is missing is looked for again
		_ = res.Body.Close()
		if bytes.Contains(raw, []byte("\nbraid_streams 0\n")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the stream of the slow reader is still open")
		}
	}
	<-read
	if bytes.Contains(seen.Bytes(), []byte("event: result\n")) {
		t.Fatalf("the slow reader got everything in %d bytes; say more", seen.Len())
	}
	t.Logf("quick: %d bytes in %v; slow: %d bytes", len(quick), took, seen.Len())
	ids := lastID.FindAllSubmatch(seen.Bytes(), -1)
	if len(ids) == 0 {
		t.Fatalf("the slow reader has no id: %d bytes", seen.Len())
	}
	run := res.Header.Get("X-Run-Id")
	back := s.ask("GET", conv+"/runs/"+run+"/stream", "", "Last-Event-ID", string(ids[len(ids)-1][1]))
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
}

package cassette_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

const (
	header  = `{"kind":"cassette","version":1}` + "\n"
	named   = `{"kind":"model","model":1,"name":"m"}` + "\n"
	setup   = `{"kind":"setup","setup":1}` + "\n"
	request = `{"kind":"request","n":1,"model":1,"setup":1}` + "\n"
	answer  = `{"kind":"chunk","n":1,"chunk":"text","text":"hi"}` + "\n" + `{"kind":"chunk","n":1,"chunk":"stop"}` + "\n"
	over    = `{"kind":"end","n":1}` + "\n"
	good    = header + named + setup + request + answer + over
)

// What is no recording is refused, with the line and what is wrong with it.
func TestBadRecordings(t *testing.T) {
	t.Parallel()
	if _, err := cassette.Replay(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		kind  event.ErrorKind
		words string
	}{
		"nothing":           {"", event.ErrInvalid, "is empty"},
		"white space":       {" \n\n", event.ErrInvalid, `ends before it names a model`},
		"another file":      {"# notes\n", event.ErrInvalid, "line 1 of the recording is wrong"},
		"half a header":     {`{"kind":"casse`, event.ErrInvalid, "line 1"},
		"other JSON":        {`{"a":1}` + "\n", event.ErrInvalid, `begins with a line of kind "cassette"`},
		"a list":            {`[1]` + "\n", event.ErrInvalid, "line 1"},
		"no model":          {header, event.ErrInvalid, "ends before it names a model"},
		"a later version":   {`{"kind":"cassette","version":2,"new":true}` + "\n", event.ErrNewer, "of version 2, this program reads up to 1"},
		"no version":        {`{"kind":"cassette"}` + "\n", event.ErrInvalid, "there is no version 0"},
		"two recordings":    {good + good, event.ErrInvalid, "line 8 of the recording is wrong: there is a second header"},
		"an unknown kind":   {header + named + `{"kind":"song"}` + "\n", event.ErrInvalid, `line 3 of the recording is wrong: there is no line of kind "song"`},
		"an unknown key":    {header + `{"kind":"model","model":1,"name":"m","colour":1}` + "\n", event.ErrInvalid, `unknown key "colour"`},
		"a key in capitals": {header + `{"kind":"model","Model":1,"name":"m"}` + "\n", event.ErrInvalid, `line 2`},
		"a key twice":       {header + `{"kind":"model","model":1,"model":1}` + "\n", event.ErrInvalid, `duplicate key "model"`},
		"an unknown chunk":  {header + named + setup + request + `{"kind":"chunk","n":1,"chunk":"song"}` + "\n", event.ErrInvalid, `no chunk of kind "song"`},
		"an unknown model":  {header + named + setup + `{"kind":"request","n":1,"model":2,"setup":1}` + "\n", event.ErrInvalid, "there is no model 2"},
		"an unknown setup":  {header + named + request, event.ErrInvalid, "there is no setup 1"},
		"a later request":   {header + named + setup + strings.Replace(request, `"n":1`, `"n":2`, 1), event.ErrInvalid, "request 2 is out of order"},
		"itself": {
			header + named + setup + strings.Replace(request, `"setup":1`, `"setup":1,"as":1,"keep":1`, 1), event.ErrInvalid, "no earlier request 1",
		},
		"more than there is": {
			good + `{"kind":"request","n":2,"model":1,"setup":1,"as":1,"keep":1}` + "\n", event.ErrInvalid, "request 1 has no 1 messages",
		},
		"a chunk of nobody": {header + named + answer, event.ErrInvalid, "there is no request 1"},
		"a chunk too late":  {good + answer, event.ErrInvalid, "request 1 has ended already"},
		"two ends":          {good + over, event.ErrInvalid, "request 1 has ended already"},
		"a bad block":       {header + named + setup + request + `{"kind":"chunk","n":1,"chunk":"block","block":{"kind":"text","txt":1}}` + "\n", event.ErrInvalid, `unknown key "txt"`},
		"an odd end":        {header + named + setup + request + `{"kind":"end","n":1,"left":"bored"}` + "\n", event.ErrInvalid, `"bored"`},
		"two errors":        {header + named + setup + request + `{"kind":"end","n":1,"plain":"x","error":{"kind":"internal"}}` + "\n", event.ErrInvalid, "one error"},
		"text and base64":   {header + named + setup + request + `{"kind":"chunk","n":1,"chunk":"text","text":"a","base64":"YQ=="}` + "\n", event.ErrInvalid, "either text or base64"},
		"wrong in the middle": {
			strings.Replace(good, `{"kind":"setup"`, `{"kind":"setup`, 1), event.ErrInvalid, "line 3 of the recording is wrong",
		},
		"no UTF-8":      {header + "\xff\n", event.ErrInvalid, "line 2"},
		"deeper nested": {header + strings.Repeat("[", 2000), event.ErrInvalid, "line 2"},
		"a huge line":   {header + named + `{"kind":"` + strings.Repeat("x", cassette.MaxLine) + `"}`, event.ErrTooLarge, "line 3 of the recording is longer than 64 MiB"},
	} {
		p, err := cassette.Replay(strings.NewReader(c.text))
		if event.KindOf(err) != c.kind || p != nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var e *event.Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: no hint in %v", name, err)
		}
	}
}

// A recording that was cut anywhere, as by a kill, is read as far as it goes; what it
// has lost is told when it is asked for.
func TestACutRecording(t *testing.T) {
	t.Parallel()
	run := func(m model.Model, conv *braid.Conversation, input string) error {
		_, err := braid.New("a", m).Run(t.Context(), input, braid.In(conv))
		return err
	}
	tape := recording(t, echo, func(m model.Model) {
		conv := braid.NewConversation()
		for _, input := range []string{"one", "日本", "three"} {
			if err := run(m, conv, input); err != nil {
				t.Fatal(err)
			}
		}
	})
	readable := bytes.Index(tape, []byte(`"kind":"setup"`)) // header and model are whole
	for n := range tape {
		player, err := cassette.Replay(bytes.NewReader(tape[:n]))
		if n < readable-2 {
			if err == nil && n < readable-3 {
				t.Errorf("%d bytes are a recording", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		conv := braid.NewConversation()
		for _, input := range []string{"one", "日本", "three"} {
			err = run(player, conv, input)
			if err != nil {
				break
			}
		}
		whole := n >= len(tape)-1 // the last line end says nothing
		if (err == nil) != whole {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if err != nil && !strings.Contains(err.Error(), "breaks off inside this answer") && !strings.Contains(err.Error(), "its end is missing") &&
			!strings.Contains(err.Error(), "the recording is over") {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// FuzzReplay: whatever a file holds, it is read or refused, and plays or says why not.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, "hi", "h\\u00e9", 1)))
	f.Add([]byte(good[:len(good)-9]))
	f.Add([]byte(header + named + setup + request + `{"kind":"chunk","n":1,"chunk":"block","block_text":"{\"kind\": \"odd\"}"}` + "\n" +
		`{"kind":"end","n":1,"error":{"kind":"throttled","retry_after_ns":5},"left":"cancelled"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := cassette.Replay(bytes.NewReader(text))
		if err != nil {
			var e *event.Error
			if !errors.As(err, &e) || e.Message == "" || e.Hint == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range p.Left() + 1 {
			for _, err := range p.Stream(ctx, &model.Request{Run: "r"}) {
				_ = err
			}
		}
		p.Inputs()
		p.Info()
	})
}

// FuzzRoundTrip: what a model says is said again, whatever it is.
func FuzzRoundTrip(f *testing.F) {
	f.Add("one", "two\xff", "é\"", 3)
	f.Fuzz(func(t *testing.T, a, b, c string, n int) {
		if strings.Contains(a+b+c, "://") || len(a+b+c) > 15 {
			return // what looks like a secret is hidden
		}
		chunks := []model.Chunk{
			{Kind: model.ChunkText, Text: a, Index: n},
			{Kind: model.ChunkThinking, Text: b},
			{Kind: model.ChunkCall, ID: strings.ToValidUTF8(c, "."), Text: b},
			{Kind: model.ChunkCallInput, Text: c},
			{Kind: model.ChunkStop, Stop: event.StopReason(strings.ToValidUTF8(a, "."))},
		}
		m := said(func(*model.Request) ([]model.Chunk, error) { return chunks, nil })
		hear := func(m model.Model) (got []model.Chunk) {
			for c, err := range m.Stream(t.Context(), &model.Request{Instructions: a}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, c)
			}
			return got
		}
		tape := recording(t, m, func(m model.Model) { hear(m) })
		got := hear(open(t, tape))
		for i := range chunks {
			if got[i] != chunks[i] {
				t.Fatalf("%+v became %+v", chunks[i], got[i])
			}
		}
	})
}

// full is a disk without space behind some writes.
type full struct {
	bytes.Buffer
	writes int
	err    error
}

func (f *full) Write(p []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

// A recording that cannot be written is no silent loss: the run fails, and where the
// request could not be written, the model is not asked.
func TestWhatCannotBeWrittenFailsTheRun(t *testing.T) {
	t.Parallel()
	for writes := range 5 {
		w := &full{writes: writes, err: &fs.PathError{Op: "write", Path: "secret/place", Err: syscall.ENOSPC}}
		asked := 0
		rec := cassette.Record(said(func(req *model.Request) ([]model.Chunk, error) {
			asked++
			return echo(req)
		}), w)
		_, err := braid.New("a", rec).Run(t.Context(), "hi")
		if writes == 4 {
			if err != nil || rec.Err() != nil || rec.Calls() != 1 {
				t.Errorf("enough space: %v, %v", err, rec.Err())
			}
			continue
		}
		if event.KindOf(err) != event.ErrInternal || !strings.Contains(err.Error(), "no space left") || !errors.Is(rec.Err(), event.ErrStorageFull) || strings.Contains(err.Error(), "place") {
			t.Errorf("after %d writes: %v, %v", writes, err, rec.Err())
		}
		if (asked > 0) != (writes == 3) {
			t.Errorf("after %d writes the model was asked %d times", writes, asked)
		}
	}
	// One who leaves before the end hears of it with the next call.
	w := &full{writes: 3, err: errors.New("gone")}
	rec := cassette.Record(echo, w)
	req := &model.Request{Messages: []event.Message{{Role: event.RoleUser}}}
	for _, err := range rec.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	for _, err := range rec.Stream(t.Context(), req) {
		if event.KindOf(err) != event.ErrInternal || event.KindOf(rec.Err()) != event.ErrUnavailable {
			t.Errorf("the next call: %v, %v", err, rec.Err())
		}
	}
}

// A file is its owner's alone, and nothing is overwritten unless that is wanted.
func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	f, err := cassette.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(good); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cassette.Create(path); event.KindOf(err) != event.ErrConflict || strings.Contains(err.Error(), "talk") {
		t.Errorf("over another: %v", err)
	}
	if p, err := cassette.Open(path); err != nil || p.Info().Name != "m" || p.Truncated() {
		t.Errorf("left alone: %v", err)
	}
	f, err = cassette.Overwrite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		err  error
		kind event.ErrorKind
	}{
		"no folder":        {second(cassette.Create(filepath.Join(dir, "x", "y"))), event.ErrNotFound},
		"over a folder":    {second(cassette.Overwrite(dir)), event.ErrInvalid},
		"reading none":     {second(cassette.Open(filepath.Join(dir, "none"))), event.ErrNotFound},
		"reading a folder": {second(cassette.Open(dir)), event.ErrInvalid},
	} {
		if event.KindOf(c.err) != c.kind || strings.Contains(c.err.Error(), dir) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What a program that is killed has recorded can be read and replayed.
func TestKilledWhileRecording(t *testing.T) {
	t.Parallel()
	const path = "BRAID_TEST_CASSETTE"
	talk := func(m model.Model, runs int) (done int, err error) {
		conv := braid.NewConversation()
		for range runs {
			if _, err := braid.New("a", m, clock("noon")).Run(context.Background(), "go on", braid.In(conv)); err != nil {
				return done, err
			}
			done++
		}
		return done, nil
	}
	if name := os.Getenv(path); name != "" { // the program that is killed
		f, err := cassette.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = talk(cassette.Record(echo, f), 1<<20)
		return
	}
	name := filepath.Join(t.TempDir(), "talk.jsonl")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileRecording$")
	cmd.Env = append(os.Environ(), path+"="+name)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(name); err == nil && info.Size() > 20_000 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	player, err := cassette.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	done, err := talk(player, 1<<20)
	if done < 2 || event.KindOf(err) != event.ErrNotFound && event.KindOf(err) != event.ErrInvalid {
		t.Errorf("%d runs, then %v", done, err)
	}
}

// Two recordings of the same are the same bytes, where no times are kept; and a
// long conversation is not written again with each request.
func TestRecordingsCanBeCompared(t *testing.T) {
	t.Parallel()
	talk := func(m model.Model) {
		conv := braid.NewConversation()
		for range 100 {
			if _, err := braid.New("a", m, clock("noon")).Run(t.Context(), "go on", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := recording(t, echo, talk, cassette.Timeless())
	two := recording(t, echo, talk, cassette.Timeless())
	if !bytes.Equal(one, two) {
		t.Error("they differ")
	}
	if n := len(one) / 200; n > 1000 {
		t.Errorf("%d bytes a call", n)
	}
	if !json.Valid(one[:bytes.IndexByte(one, '\n')]) || bytes.Contains(one, []byte("at_ns")) || bytes.Contains(one, []byte("recorded")) {
		t.Errorf("there are times: %s", one[:200])
	}
}

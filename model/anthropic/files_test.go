package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
)

// about is a question about a file.
func about(b event.Block) *model.Request {
	r := hello()
	r.Messages[0].Content = append(r.Messages[0].Content, b)
	return r
}

// A file is uploaded once, named in requests that the vendor takes, and deleted.
func TestFiles(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil, anthropictest.Text("a"), anthropictest.Text("b"), anthropictest.Text("c"))
	store := model.Files(wrapped{m})
	var urls []string
	for _, f := range []model.File{
		{Name: "C:\\papers\\a \"b\".pdf", Content: strings.NewReader("%PDF-1.7 " + strings.Repeat("x", 300<<10))},
		{Name: "dir/pixel.png", MIME: "image/png", Content: iotest.OneByteReader(strings.NewReader(string(modeltest.Pixel())))},
		{Content: strings.NewReader("plain words")},
	} {
		url, err := store.Upload(t.Context(), f)
		if err != nil || !strings.HasPrefix(url, "anthropic-file:file_") {
			t.Fatalf("%q: %s, %v", f.Name, url, err)
		}
		urls = append(urls, url)
	}
	kept := server.Files()
	for id, want := range map[string]struct {
		name, kind string
		size       int
	}{
		"file_test1": {"a _b_.pdf", "application/pdf", 300<<10 + 9}, "file_test2": {"pixel.png", "image/png", len(modeltest.Pixel())},
		"file_test3": {"file", "text/plain", 11},
	} {
		if f := kept[id]; f.Name != want.name || f.MIME != want.kind || len(f.Content) != want.size {
			t.Errorf("%s: %s %s, %d bytes", id, f.Name, f.MIME, len(f.Content))
		}
	}
	for i, b := range []event.Block{
		&event.Document{URL: urls[0], MIME: "application/pdf", Name: "The paper"}, &event.Image{URL: urls[1]}, &event.Document{URL: urls[2]},
	} {
		if r := modeltest.Call(t.Context(), m, about(b)); r.Err != nil {
			t.Errorf("%d: %v", i, r.Err)
		}
	}
	asked := server.Asked()
	for i, want := range []string{
		`{"type":"document","source":{"type":"file","file_id":"file_test1"},"title":"The paper"}`,
		`{"type":"image","source":{"type":"file","file_id":"file_test2"}}`, `{"type":"document","source":{"type":"file","file_id":"file_test3"}}`,
	} {
		if body := string(asked[3+i].Body); !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	for range 2 { // deleting what is gone is no error
		if err := store.Delete(t.Context(), urls[1]); err != nil {
			t.Error(err)
		}
	}
	if n := len(server.Files()); n != 2 {
		t.Errorf("%d files are left", n)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, about(&event.Image{URL: urls[1]}))); e.Kind != event.ErrInvalid || !strings.Contains(e.Message, "file_test2") {
		t.Errorf("a file that is gone: %v", e)
	}
	for _, r := range server.Asked() {
		if r.Header.Get("Anthropic-Beta") != "" || r.Header.Get("Anthropic-Version") != "2026-10-21" {
			t.Errorf("%s: %v", r.Path, r.Header)
		}
	}
}

// What cannot be sent as a file is an error before anything is sent.
func TestFilesThatAreNotSent(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil)
	amazon, bedrock := openBedrock(t, haiku, nil)
	const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for name, tc := range map[string]struct {
		m    *anthropic.Model
		b    event.Block
		want event.ErrorKind
		says string
	}{
		"another vendor's image":    {m, &event.Image{URL: "openai-file:file-1"}, event.ErrInvalid, "openai"},
		"another vendor's document": {m, &event.Document{URL: "gemini-file:x", MIME: "application/pdf"}, event.ErrInvalid, "gemini"},
		"another vendor's sheet":    {m, &event.Document{URL: "openai-file:x", MIME: docx}, event.ErrInvalid, "openai"},
		"on Bedrock, another's":     {amazon, &event.Image{URL: "openai-file:file-1"}, event.ErrInvalid, "openai"},
		"no id":                     {m, &event.Image{URL: "anthropic-file:a/../b"}, event.ErrInvalid, "not one that Anthropic gave"},
		"on Bedrock":                {amazon, &event.Document{URL: "anthropic-file:f"}, event.ErrUnsupported, "keeps no files"},
		"Word as data":              {m, &event.Document{Data: []byte("PK"), MIME: docx}, event.ErrUnsupported, "code_execution"},
		"Word by its name":          {m, &event.Document{Data: []byte("PK\x03\x04"), Name: "a.docx"}, event.ErrUnsupported, "code_execution"},
		"Word without code":         {m, &event.Document{URL: "anthropic-file:f", MIME: docx}, event.ErrUnsupported, "code_execution"},
		"a table without code":      {m, &event.Document{URL: "anthropic-file:f", MIME: "text/csv"}, event.ErrUnsupported, "code_execution"},
		"something else":            {m, &event.Document{Data: []byte("x"), MIME: "model/obj"}, event.ErrUnsupported, "send PDF or text"},
	} {
		e := failed(t, modeltest.Call(t.Context(), tc.m, about(tc.b)))
		if e.Kind != tc.want || !strings.Contains(e.Message+e.Hint, tc.says) {
			t.Errorf("%s: %s: %v", name, e.Kind, e)
		}
	}
	if n := len(server.Asked()) + len(bedrock.Asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	file := func() model.File { return model.File{Name: "a.txt", Content: strings.NewReader("words")} }
	upload := func(status int, kind, body string) error {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		_, err := places(t, s.URL, s.Client())["api"].Upload(t.Context(), file())
		return err
	}
	for name, tc := range map[string]struct {
		status     int
		kind, body string
		want       event.ErrorKind
	}{
		"a wrong key":  {401, "application/json", anthropictest.Error(401, "authentication_error", "invalid x-api-key").Body, event.ErrModelAuth},
		"no such API":  {404, "text/html", "<html>", event.ErrUnsupported},
		"a quota":      {400, "application/json", anthropictest.Error(400, "invalid_request_error", "storage quota exceeded").Body, event.ErrInvalid},
		"too large":    {413, "application/json", anthropictest.Error(413, "request_too_large", "x").Body, event.ErrTooLarge},
		"overloaded":   {529, "application/json", anthropictest.Error(529, "overloaded_error", "x").Body, event.ErrOverloaded},
		"a page":       {200, "text/html", "<html>", event.ErrModel},
		"no id":        {200, "application/json", `{"type":"file"}`, event.ErrModel},
		"a strange id": {200, "application/json", `{"id":"../x"}`, event.ErrModel},
		"a cut":        {200, "application/json", `{"id":"fi`, event.ErrStreamCut},
	} {
		if err := upload(tc.status, tc.kind, tc.body); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, server := open(t, sonnet, nil)
	if _, err := m.Upload(t.Context(), model.File{Name: "x"}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("no content: %v", err)
	}
	broken := model.File{Name: "x", Content: io.MultiReader(strings.NewReader(strings.Repeat("x", 100<<10)), iotest.ErrReader(errors.New("the disk failed")))}
	if _, err := m.Upload(t.Context(), broken); !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a broken disk: %v", err)
	}
	if n := len(server.Files()); n != 0 {
		t.Errorf("%d files", n)
	}
	for name, m := range places(t, server.URL, server.Client()) {
		_, err := m.Upload(t.Context(), file())
		gone := m.Delete(t.Context(), "anthropic-file:x")
		if name != "api" && (!errors.Is(err, event.ErrUnsupported) || !errors.Is(gone, event.ErrUnsupported)) {
			t.Errorf("%s: %v, %v", name, err, gone)
		}
	}
	for _, address := range []string{"", "https://e.com/x", "openai-file:x", "anthropic-file:", "anthropic-file:../x"} {
		if err := m.Delete(t.Context(), address); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", address, err)
		}
	}
	// A content that never comes does not hold a call that was cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	go func() {
		_, _ = out.Write([]byte("begin"))
		cancel()
	}()
	if _, err := m.Upload(ctx, model.File{Name: "x", Content: in}); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("cancelled: %v", err)
	}
	_ = out.Close()
	_ = in.Close()
}

// A file without end stops where the vendor's limit is; little of it is in memory.
func TestAFileThatIsTooLarge(t *testing.T) {
	if race.On {
		t.Skip("make test runs it without the race detector, which makes it many times slower")
	}
	if testing.Short() {
		t.Skip("it sends half a gigabyte")
	}
	t.Parallel()
	var got int64
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, _ = io.Copy(io.Discard, r.Body) })
	_, err := places(t, s.URL, s.Client())["api"].Upload(t.Context(), model.File{Name: "x", Content: zeros{}})
	if !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("after %d bytes: %v", got, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Office documents are read with code, where the request has the tool for it; in an older
// part of the conversation they stay.
func TestUploadedDocumentsForCode(t *testing.T) {
	t.Parallel()
	var body string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, anthropictest.Text("a").Body)
	})
	req := about(&event.Document{URL: "anthropic-file:file_1", Name: "a.xlsx"})
	req.Options.ServerTools = []model.ServerTool{{Kind: model.CodeExecution}}
	m := places(t, s.URL, s.Client())["api"]
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil || !strings.Contains(body, `{"type":"container_upload","file_id":"file_1"}`) {
		t.Errorf("%v: %s", r.Err, body)
	}
	older := hello()
	older.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "So."}}}, older.Messages[0])
	if r := modeltest.Call(t.Context(), m, older); r.Err != nil || !strings.Contains(body, `"container_upload"`) {
		t.Errorf("%v: %s", r.Err, body)
	}
	older.Messages[0].Content = []event.Block{&event.Document{URL: "openai-file:x"}, &event.Image{URL: "gemini-file:y"}}
	if r := modeltest.Call(t.Context(), places(t, s.URL, s.Client())["api"], older); r.Err != nil || !strings.Contains(body, "[a document at openai-file:x]") ||
		!strings.Contains(body, "[an image at gemini-file:y]") {
		t.Errorf("%v: %s", r.Err, body)
	}
}

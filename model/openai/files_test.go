package openai_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

func with(b ...event.Block) *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: b}}}
}

// A file is uploaded once, named in requests of both APIs, and erased.
func TestFilesThatTheVendorKeeps(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, chatting} {
		m, server := open(t, k, nil, openaitest.Text(k.api, "Yes."), openaitest.Text(k.api, "Yes."), openaitest.Text(k.api, "Yes."))
		store := model.Files(m)
		content := bytes.Repeat([]byte("%PDF-1.7 x"), 1000)
		url, err := store.Upload(t.Context(), model.File{Name: `C:\a "b"ü.pdf`, MIME: "application/pdf", Content: bytes.NewReader(content)})
		if err != nil || !strings.HasPrefix(url, "openai-file:file-") {
			t.Fatalf("%s: %q, %v", k.name, url, err)
		}
		kept := server.Files()[strings.TrimPrefix(url, "openai-file:")]
		if kept.Purpose != "user_data" || kept.MIME != "application/pdf" || kept.Name != `a "b"ü.pdf` || !bytes.Equal(kept.Content, content) {
			t.Errorf("%s: %q, %q, %q, %d bytes", k.name, kept.Purpose, kept.MIME, kept.Name, len(kept.Content))
		}
		// A reader of unknown length, which gives a byte at a time.
		unknown, err := store.Upload(t.Context(), model.File{Content: iotest.OneByteReader(strings.NewReader("a,b"))})
		if err != nil || string(server.Files()[strings.TrimPrefix(unknown, "openai-file:")].Content) != "a,b" {
			t.Errorf("%s: %q, %v", k.name, unknown, err)
		}
		if r := modeltest.Call(t.Context(), m, with(&event.Document{URL: url}, &event.Text{Text: "What is it?"})); r.Err != nil {
			t.Errorf("%s: %v", k.name, r.Err)
		}
		asked := server.Asked()
		if body := string(asked[len(asked)-1].Body); !strings.Contains(body, `"file_id":"`+strings.TrimPrefix(url, "openai-file:")+`"`) || strings.Contains(body, "openai-file:") {
			t.Errorf("%s: %s", k.name, body)
		}
		r := modeltest.Call(t.Context(), m, with(&event.Image{URL: url}))
		if e := new(event.Error); (k.api == openaitest.Responses) != (r.Err == nil) || r.Err != nil && (!errors.As(r.Err, &e) || e.Kind != event.ErrUnsupported) {
			t.Errorf("%s: an image by its id: %v", k.name, r.Err)
		}
		for range 2 { // erasing what is gone is no error
			if err := store.Delete(t.Context(), url); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
		if _, there := server.Files()[strings.TrimPrefix(url, "openai-file:")]; there {
			t.Errorf("%s: it is there still", k.name)
		}
		if r := modeltest.Call(t.Context(), m, with(&event.Document{URL: url})); !errors.Is(r.Err, event.ErrInvalid) {
			t.Errorf("%s: a file that is gone: %v", k.name, r.Err)
		}
	}
}

// What another vendor keeps is an error before anything is sent; in an old message, it is told
// in words.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, chatting, local} {
		m, server := open(t, k, nil, openaitest.Text(k.api, "Yes."), openaitest.Text(k.api, "Yes."))
		for _, url := range []string{
			"anthropic-file:file_1", "azure-file:assistant-1", "openai-file:", "openai-file:a/../b", "openai-file:a\"b",
			"https://generativelanguage.googleapis.com/v1beta/files/abc",
		} {
			for _, b := range []event.Block{&event.Document{URL: url}, &event.Image{URL: url}} {
				e := failed(t, modeltest.Call(t.Context(), m, with(b)))
				if e.Kind != event.ErrInvalid || !strings.Contains(e.Message, "another vendor") {
					t.Errorf("%s, %T %s: %v", k.name, b, url, e)
				}
			}
		}
		if n := len(server.Asked()); n != 0 {
			t.Errorf("%s: %d requests", k.name, n)
		}
		old := []event.Message{
			{Role: event.RoleUser, Content: []event.Block{&event.Document{Name: "a.pdf", URL: "anthropic-file:f1"}, &event.Image{URL: "anthropic-file:f2"}}},
			{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "I see."}}},
			{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Go on."}}},
		}
		r := modeltest.Call(t.Context(), m, &model.Request{Messages: old})
		if body := string(server.Asked()[0].Body); r.Err != nil || !strings.Contains(body, "cannot be shown a.pdf") || strings.Contains(body, "anthropic-file") {
			t.Errorf("%s: %v %s", k.name, r.Err, body)
		}
		if err := m.Delete(t.Context(), "anthropic-file:file_1"); !errors.Is(err, event.ErrInvalid) && !errors.Is(err, event.ErrUnsupported) {
			t.Errorf("%s: erased: %v", k.name, err)
		}
	}
}

// Office documents go to OpenAI by Responses, and to nobody else.
func TestOfficeDocuments(t *testing.T) {
	t.Parallel()
	zip := []byte("PK\x03\x04 x")
	for name, kind := range map[string]string{
		"a.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"a.pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "a.odt": "application/vnd.oasis.opendocument.text",
	} {
		for _, k := range []kindOf{{reasoner, true}, {chatting, false}, {local, false}} {
			m, server := open(t, k.kind, nil, openaitest.Text(k.api, "Yes."), openaitest.Text(k.api, "Yes."))
			r := modeltest.Call(t.Context(), m, with(&event.Document{Name: name, Data: zip}))
			if !k.takes {
				if !errors.Is(r.Err, event.ErrUnsupported) || len(server.Asked()) != 0 {
					t.Errorf("%s, %s: %v", k.name, name, r.Err)
				}
				continue
			}
			if body := string(server.Asked()[0].Body); r.Err != nil || !strings.Contains(body, `"filename":"`+name+`","file_data":"data:`+kind+`;base64,`) {
				t.Errorf("%s, %s: %v %s", k.name, name, r.Err, body)
			}
			// By address, and with a kind alone.
			for _, b := range []*event.Document{{URL: "https://example.com/" + name}, {MIME: kind, Data: zip}} {
				server.Add(openaitest.Text(k.api, "Yes."))
				if r := modeltest.Call(t.Context(), m, with(b)); r.Err != nil {
					t.Errorf("%s, %s: %v", k.name, name, r.Err)
				}
			}
		}
	}
	// Tables as text are text, as they always were.
	m, server := open(t, reasoner, nil, openaitest.Text(openaitest.Responses, "Yes."))
	if r := modeltest.Call(t.Context(), m, with(&event.Document{Name: "a.csv", Data: []byte("a,b\n1,2")})); r.Err != nil || !strings.Contains(string(server.Asked()[0].Body), `a.csv:\n\na,b`) {
		t.Errorf("%v %s", r.Err, server.Asked()[0].Body)
	}
}

type kindOf struct {
	kind

	takes bool
}

// What goes wrong with an upload is told, and nothing of it stays.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	ok := func() io.Reader { return strings.NewReader("x") }
	m, server := open(t, reasoner, nil)
	for name, tc := range map[string]struct {
		f    model.File
		want event.ErrorKind
	}{
		"no content":           {model.File{Name: "a"}, event.ErrInvalid},
		"an empty content":     {model.File{Name: "a", Content: strings.NewReader("")}, event.ErrInvalid},
		"a broken content":     {model.File{Name: "a", Content: iotest.ErrReader(errors.New("disk"))}, event.ErrInvalid},
		"a length that is off": {model.File{Name: "a", Content: liar{ok()}}, event.ErrUnavailable},
		"too large":            {model.File{Name: "a", Content: huge{}}, event.ErrTooLarge},
	} {
		url, err := m.Upload(t.Context(), tc.f)
		if e := new(event.Error); url != "" || !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" {
			t.Errorf("%s: %q, %v", name, url, err)
		}
	}
	if n := len(server.Files()); n != 0 {
		t.Errorf("%d files are kept", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.Upload(ctx, model.File{Name: "a", Content: waiting{ctx}}); !errors.Is(err, event.ErrTimeout) {
		t.Errorf("a content that blocks: %v", err)
	}
	// Others keep no files, and nothing is asked of them.
	other, server := open(t, local, nil)
	if _, err := other.Upload(t.Context(), model.File{Name: "a", Content: ok()}); !errors.Is(err, event.ErrUnsupported) || len(server.Asked()) != 0 {
		t.Errorf("another server: %v", err)
	}
	vendor := openaitest.Start()
	t.Cleanup(vendor.Close)
	bad, err := openai.New("gpt-5.4", secret.New("sk-wrong-0123456789"), openai.HTTPClient(&http.Client{Transport: toServer{vendor.Host(), vendor.Client().Transport}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bad.Upload(t.Context(), model.File{Name: "a", Content: ok()}); !errors.Is(err, event.ErrModelAuth) || strings.Contains(err.Error(), "sk-wrong-0") {
		t.Errorf("a wrong key: %v", err)
	}
}

// liar says that it is longer than it is.
type liar struct{ io.Reader }

func (liar) Len() int { return 100 }

// huge says that it is longer than any file may be.
type huge struct{}

func (huge) Len() int                 { return 1 << 30 }
func (huge) Read([]byte) (int, error) { return 0, errors.New("nobody reads it") }

// waiting gives nothing until its context ends.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, io.EOF
}

// OpenAI counts the tokens of a request by Responses; nobody else is asked.
func TestTokensAreCounted(t *testing.T) {
	t.Parallel()
	m, server := open(t, reasoner, nil)
	req := hello()
	req.Instructions = "Be brief."
	req.Tools = []model.ToolSpec{{Name: "add", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string","description":"<b>"}}}`)}}
	req.Options = model.Options{MaxTokens: 100, Thinking: 9000}
	n, err := model.Count(t.Context(), m, req)
	if err != nil || n < 10 {
		t.Fatalf("%d, %v", n, err)
	}
	asked := server.Asked()
	if got := asked[0]; len(asked) != 1 || got.Path != "/v1/responses/input_tokens" || !strings.Contains(string(got.Body), `"instructions":"Be brief."`) || strings.Contains(string(got.Body), "stream") {
		t.Errorf("%d requests, %s %s", len(asked), got.Path, got.Body)
	}
	for name, m := range map[string]*openai.Model{"chat": first(open(t, chatting, nil)), "another server": first(open(t, local, nil))} {
		if _, err := model.Count(t.Context(), m, req); !errors.Is(err, event.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.CountTokens(t.Context(), nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.CountTokens(ctx, req); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("cancelled: %v", err)
	}
}

func first(m *openai.Model, _ *openaitest.Server) *openai.Model { return m }

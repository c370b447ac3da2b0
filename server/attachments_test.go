package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/workspace"
)

// looker is a model that reads images and documents, and no recordings. It keeps what it was shown.
type looker struct {
	mu    sync.Mutex
	shown [][]event.Block
}

func (*looker) Info() model.Info { return model.Info{Name: "test:looker"} }

func (*looker) Check(req *model.Request) error {
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if media, ok := b.(*event.Media); ok {
				return &event.Error{Kind: event.ErrUnsupported, Message: "the model does not hear " + media.Media, Hint: "send a transcript"}
			}
		}
	}
	return nil
}

func (l *looker) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		l.mu.Lock()
		l.shown = append(l.shown, req.Messages[len(req.Messages)-1].Content)
		l.mu.Unlock()
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "seen"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// last returns what the model was shown last.
func (l *looker) last() []event.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown[len(l.shown)-1]
}

func (l *looker) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.shown)
}

// looking is a server whose model is m. q is nil for one without workspaces.
func looking(t *testing.T, m *looker, q *workspace.Quota) *site {
	t.Helper()
	return open(t, func(so *service.Options, _ *server.Options) {
		so.Workspaces = q
		so.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", m, braid.Limit(r.Limits)), nil
		}
	})
}

// attaches is the body of a run with attachments.
func attaches(t *testing.T, list ...map[string]string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"user_input": "look", "attachments": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// photo is an image of some size.
func photo(t *testing.T, side int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const onePage = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

// TestAttachmentsReachTheModelAndTheWorkspace sends every kind of file, by its bytes and by its path.
func TestAttachmentsReachTheModelAndTheWorkspace(t *testing.T) {
	t.Parallel()
	m := &looker{}
	s := looking(t, m, &workspace.Quota{})
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	jsonAnswer := []string{"Accept", "application/json"}

	s.json(200, "POST", runs, attaches(t,
		map[string]string{"type": "image", "mime_type": "image/png", "name": "photo.png", "data": encoded(photo(t, 2))},
		map[string]string{"type": "document", "mime_type": "application/pdf", "name": "report.pdf", "data": encoded([]byte(onePage))},
		map[string]string{"name": "notes.md", "data": encoded([]byte("# Notes"))},
	), jsonAnswer...)
	shown := m.last()
	pdf, isPDF := shown[2].(*event.Document)
	text, isText := shown[3].(*event.Document)
	if img, ok := shown[1].(*event.Image); len(shown) != 4 || !ok || img.MIME != "image/png" || !bytes.Equal(img.Data, photo(t, 2)) ||
		!isPDF || pdf.Name != "report.pdf" || string(pdf.Data) != onePage || !isText || text.Text != "# Notes" || text.MIME != "text/markdown" {
		t.Fatalf("the model was shown %#v", shown)
	}
	want := []string{"attachments/notes.md", "attachments/photo.png", "attachments/report.pdf"}
	if got := s.listed(conv, ""); !slices.Equal(got, want) {
		t.Errorf("the workspace holds %q, want %q", got, want)
	}

	// The same file again is not stored again. Another one with its name gets a number.
	s.json(200, "POST", runs, attaches(t,
		map[string]string{"name": "photo.png", "data": encoded(photo(t, 2))},
		map[string]string{"name": "photo.png", "data": encoded(photo(t, 3))},
		map[string]string{"name": "report.pdf", "data": encoded([]byte(onePage + " "))},
		map[string]string{"name": `../../a:b?.png`, "data": encoded(photo(t, 4))},
		map[string]string{"data": encoded(photo(t, 5))},
	), jsonAnswer...)
	want = []string{
		"attachments/_.._a_b_.png", "attachments/image.png", "attachments/notes.md", "attachments/photo-2.png", "attachments/photo.png",
		"attachments/report-2.pdf", "attachments/report.pdf",
	}
	if got := s.listed(conv, ""); len(got) != len(want) || !slices.Equal(got[1:], want[1:]) || strings.Contains(got[0], "../") {
		t.Errorf("the workspace holds %q, want %q", got, want)
	}
	if d, ok := m.last()[3].(*event.Document); !ok || d.Name != "report-2.pdf" {
		t.Errorf("the document is called %#v, not as its file", m.last()[3])
	}

	// A file of the workspace.
	s.put(200, conv, "data/table.csv", "a,b\n1,2\n")
	s.json(200, "POST", runs, attaches(t, map[string]string{"path": "data/table.csv"}), jsonAnswer...)
	if d, ok := m.last()[1].(*event.Document); !ok || d.Name != "table.csv" || d.MIME != "text/csv" || d.Text != "a,b\n1,2\n" {
		t.Errorf("the model was shown %#v", m.last()[1])
	}
	other := s.conversation()
	s.json(404, "POST", "/v1/conversations/"+other+"/runs", attaches(t, map[string]string{"path": "data/table.csv"}))
	if got := s.listed(other, ""); len(got) != 0 {
		t.Errorf("the other conversation has %q", got)
	}
}

// TestAttachmentsWithoutAWorkspace reach the model alone.
func TestAttachmentsWithoutAWorkspace(t *testing.T) {
	t.Parallel()
	m := &looker{}
	s := looking(t, m, nil)
	runs := "/v1/conversations/" + s.conversation() + "/runs"
	s.json(200, "POST", runs, attaches(t, map[string]string{"data": encoded(photo(t, 2))}), "Accept", "application/json")
	if _, ok := m.last()[1].(*event.Image); !ok {
		t.Errorf("the model was shown %#v", m.last())
	}
	s.json(422, "POST", runs, attaches(t, map[string]string{"path": "x"}))
}

// TestRefusedAttachments leave no run, no file and no call of the model.
func TestRefusedAttachments(t *testing.T) {
	t.Parallel()
	m := &looker{}
	s := looking(t, m, &workspace.Quota{File: 1000, Bytes: 2000, Files: 3})
	many := make([]map[string]string, attachment.MaxCount+1)
	for i := range many {
		many[i] = map[string]string{"name": fmt.Sprint(i), "data": encoded([]byte{'a' + byte(i)})}
	}
	good := map[string]string{"name": "good.png", "data": encoded(photo(t, 2))}
	for name, c := range map[string]struct {
		list   []map[string]string
		status int
		code   string
		words  string
	}{
		"a jpeg that is a png": {
			[]map[string]string{good, {"type": "image", "mime_type": "image/jpeg", "name": "cat.jpg", "data": encoded(photo(t, 2))}},
			422, attachment.Invalid, `the attachment "cat.jpg" is declared as image/jpeg, and its bytes are image/png`,
		},
		"an image that is a text": {
			[]map[string]string{{"type": "image", "mime_type": "image/png", "name": "x", "data": encoded([]byte("hello"))}}, 422, attachment.Invalid, "declared as image/png",
		},
		"a document that is an image": {[]map[string]string{{"type": "document", "data": encoded(photo(t, 2))}}, 422, attachment.Invalid, "is no document"},
		"a program": {
			[]map[string]string{{"name": "x.exe", "data": encoded([]byte("MZ\x00\xff\xfe"))}}, 422, attachment.Unreadable, `"x.exe" is of a type that no model reads`,
		},
		"a recording that the model does not hear": {
			[]map[string]string{good, {"type": "audio", "name": "talk.mp3", "url": "https://files.example/talk.mp3"}},
			422, attachment.Unreadable, `the model test:looker cannot read the attachment "talk.mp3": the model does not hear audio`,
		},
		"a recording on this machine":  {[]map[string]string{{"type": "audio", "url": "file:///etc/passwd"}}, 422, attachment.Invalid, "address"},
		"an image by its address":      {[]map[string]string{{"type": "image", "url": "http://169.254.169.254/x.png"}}, 400, "INVALID_REQUEST", "only audio and video"},
		"a recording in bytes":         {[]map[string]string{{"type": "audio", "data": "AAAA"}}, 400, "INVALID_REQUEST", "attached by url"},
		"nothing":                      {[]map[string]string{{"type": "image"}}, 400, "INVALID_REQUEST", "is empty"},
		"two sources":                  {[]map[string]string{{"data": "AAAA", "path": "x"}}, 400, "INVALID_REQUEST", "more than one of"},
		"a path with a type":           {[]map[string]string{{"type": "image", "path": "x"}}, 400, "INVALID_REQUEST", "has a type"},
		"an unknown type":              {[]map[string]string{{"type": "smell", "data": "AAAA"}}, 400, "INVALID_REQUEST", "unknown type"},
		"no base64":                    {[]map[string]string{{"data": "%%"}}, 400, "INVALID_REQUEST", "not base64"},
		"a path that leads out":        {[]map[string]string{{"path": "../../etc/passwd"}}, 400, "INVALID_REQUEST", `".."`},
		"a file that is not there":     {[]map[string]string{good, {"path": "none"}}, 404, "NOT_FOUND", `no file "none"`},
		"a name of two lines":          {[]map[string]string{{"name": "a\n</workspace>", "data": encoded([]byte("x"))}}, 422, attachment.Invalid, "characters that are not shown"},
		"too many":                     {many, 400, "INVALID_REQUEST", "more than 20 attachments"},
		"more than the workspace has":  {[]map[string]string{good, {"name": "big.txt", "data": encoded(bytes.Repeat([]byte("x"), 1001))}}, 413, "TOO_LARGE", "more than 1000 bytes"},
		"more files than it may hold":  {[]map[string]string{good, many[1], many[2], many[3]}, 429, "QUOTA_EXCEEDED", "as many files as it may"},
		"the quota reached in between": {[]map[string]string{good, {"name": "a.txt", "data": encoded(bytes.Repeat([]byte("x"), 1000))}, {"name": "b.txt", "data": encoded(bytes.Repeat([]byte("y"), 1000))}}, 429, "QUOTA_EXCEEDED", "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			conv := s.conversation()
			answer := s.json(c.status, "POST", "/v1/conversations/"+conv+"/runs", attaches(t, c.list...), "Accept", "application/json")
			said, _ := answer["error"].(map[string]any)
			message, _ := said["message"].(string)
			if said["code"] != c.code || !strings.Contains(message, c.words) {
				t.Errorf("got %v, want %s with %q", answer, c.code, c.words)
			}
			if got := s.listed(conv, ""); len(got) != 0 {
				t.Errorf("the refused request left %q", got)
			}
			if list := s.json(200, "GET", "/v1/conversations/"+conv+"/runs", "")["data"].([]any); len(list) != 0 {
				t.Errorf("the refused request left the runs %v", list)
			}
		})
	}
	if m.calls() > 0 {
		t.Errorf("the model was called %d times", m.calls())
	}
}

// TestARepeatedRequestStoresItsAttachmentsOnce sends one request with a key several times, also at once.
func TestARepeatedRequestStoresItsAttachmentsOnce(t *testing.T) {
	t.Parallel()
	s := looking(t, &looker{}, &workspace.Quota{})
	conv := s.conversation()
	body := attaches(t, map[string]string{"name": "a.png", "data": encoded(photo(t, 2))})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			res := s.ask("POST", "/v1/conversations/"+conv+"/runs", body, "Accept", "application/json", "Idempotency-Key", "one")
			if res.StatusCode != 200 {
				t.Errorf("the answer is %s", res.Status)
			}
		})
	}
	group.Wait()
	if got := s.listed(conv, ""); !slices.Equal(got, []string{"attachments/a.png"}) {
		t.Errorf("the workspace holds %q", got)
	}
	if list := s.json(200, "GET", "/v1/conversations/"+conv+"/runs", "")["data"].([]any); len(list) != 1 {
		t.Errorf("there are %d runs", len(list))
	}
	s.json(422, "POST", "/v1/conversations/"+conv+"/runs", attaches(t, map[string]string{"name": "a.png", "data": encoded(photo(t, 3))}),
		"Accept", "application/json", "Idempotency-Key", "one")
	if got := s.listed(conv, ""); !slices.Equal(got, []string{"attachments/a.png"}) {
		t.Errorf("after a refused request the workspace holds %q", got)
	}
}

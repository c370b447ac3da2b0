package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/secret"
)

// The address of an uploaded file is "openai-file:FILE-ID". Azure's begins with "azure-file:",
// because neither server knows the other's files.

var (
	fileIDs = lazyre.New(`^[A-Za-z0-9_-]{1,200}$`)
	// keptFiles matches the addresses of files that some vendor stores.
	keptFiles = lazyre.New(`^([a-z][a-z0-9]*)-file:`)
)

// fileID returns the id in the address of a file on the server with this prefix; "" for other
// addresses.
func fileID(prefix, address string) string {
	if prefix == "" {
		return ""
	}
	id, ok := strings.CutPrefix(address, prefix+"-file:")
	if !ok || !fileIDs.MatchString(id) {
		return ""
	}
	return id
}

// keptElsewhere reports whether an address names a file that some vendor stores. Only that
// vendor can read it.
func keptElsewhere(address string) bool {
	if keptFiles.MatchString(address) {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && u.Hostname() == "generativelanguage.googleapis.com" && strings.Contains(u.Path, "/files/")
}

// notHere returns the error for another vendor's file.
func (m *Model) notHere(address, what string) error {
	if fileID(m.prefix, address) != "" {
		return notSent(event.ErrUnsupported, "%s takes %s by its id in Responses alone",
			"give the file's bytes, or use api=responses", m.title, what)
	}
	return notSent(event.ErrInvalid, "the file %q is kept by another vendor than %s", "upload it there, or give its bytes",
		provider.Line(address, secret.Secret{}), m.title)
}

// largestFile bounds an upload, in bytes (api-reference/files/create).
const largestFile = 512 << 20

var (
	errFileTooLarge = errors.New("the file is too large")
	errFileRead     = errors.New("the file cannot be read")
)

// Upload implements [model.FileStore] with the vendor's Files API. Put the address that it
// returns into the URL of an [event.Document], or with Responses of an [event.Image]. The
// vendor stores the file until [Model.Delete]. Servers other than OpenAI's and Azure's have no
// such API: the error is of kind [event.ErrUnsupported]. Upload reads f.Content once, on a
// goroutine of the HTTP client. If reading it blocks, it may still be read after ctx has ended.
func (m *Model) Upload(ctx context.Context, f model.File) (string, error) {
	if err := m.noFiles(); err != nil {
		return "", err
	}
	size := int64(-1)
	switch c := f.Content.(type) {
	case nil:
		return "", notSent(event.ErrInvalid, "there is no content to upload", "give the file's content")
	case interface{ Len() int }:
		size = int64(c.Len())
	}
	tooLarge := notSent(event.ErrTooLarge, "the file is larger than the %d MiB that %s keeps", "send a smaller one", largestFile>>20, m.title)
	if size > largestFile {
		return "", tooLarge
	}
	before, after, kind, err := form(m.purpose(), f)
	if err != nil {
		return "", err
	}
	header, err := m.header(nil)
	if err != nil {
		return "", err
	}
	header.Set("Content-Type", kind)
	g := idle.New(ctx, m.stall)
	defer g.End()
	content := &sending{g: g, r: f.Content, left: largestFile}
	resp, err := m.send(g, func(ctx context.Context) (*http.Response, error) {
		body := io.MultiReader(bytes.NewReader(before), content, bytes.NewReader(after))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint("files"), body)
		if err != nil {
			return nil, err
		}
		req.Header = header
		if size >= 0 {
			req.ContentLength = int64(len(before)) + size + int64(len(after))
		}
		return provider.Do(m.client, req)
	})
	var kept struct {
		ID string `json:"id"`
	}
	switch err = m.object(g, resp, err, &kept); {
	case errors.Is(err, errFileTooLarge):
		return "", tooLarge
	case errors.Is(err, errFileRead):
		return "", &event.Error{
			Op: m.op(), Kind: event.ErrInvalid, Message: "the content of the file cannot be read", Hint: "look at what gives it", Err: err,
		}
	case err != nil:
		return "", m.failure(g, err)
	case !fileIDs.MatchString(kept.ID):
		return "", m.foreign(&noStream{kind: "JSON of another kind"})
	}
	return m.prefix + "-file:" + kept.ID, nil
}

// Delete implements [model.FileStore].
func (m *Model) Delete(ctx context.Context, address string) error {
	if err := m.noFiles(); err != nil {
		return err
	}
	id := fileID(m.prefix, address)
	if id == "" {
		return m.notHere(address, "a file")
	}
	header, err := m.header(nil)
	if err != nil {
		return err
	}
	header.Del("Content-Type")
	g := idle.New(ctx, m.stall)
	defer g.End()
	resp, err := m.send(g, func(ctx context.Context) (*http.Response, error) {
		return provider.Send(ctx, m.client, http.MethodDelete, m.endpoint("files/"+id), header, nil)
	})
	var gone struct {
		Deleted bool `json:"deleted"`
	}
	err = m.object(g, resp, err, &gone)
	if e, ok := errors.AsType[*apiError](err); ok && e.status == http.StatusNotFound && (e.message != "" || e.word() != "") {
		return nil // it was already deleted
	}
	if err != nil {
		return m.failure(g, err)
	}
	return nil
}

// noFiles returns the error for a server without a Files API.
func (m *Model) noFiles() error {
	if !m.vendors || m.version != "" {
		return notSent(event.ErrUnsupported, "%s keeps no files", "give the file's bytes in the message", m.title)
	}
	return nil
}

// purpose returns the purpose of an upload. Azure does not know user_data (Microsoft Learn,
// azure/ai-foundry/openai/how-to/responses).
func (m *Model) purpose() string {
	if m.azure {
		return "assistants"
	}
	return "user_data"
}

// form returns the multipart bytes before and after a file, and the content type.
func form(purpose string, f model.File) (before, after []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err = w.WriteField("purpose", purpose); err != nil {
		return nil, nil, "", err
	}
	name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	if name == "." || name == "/" {
		name = "file" + ending(media.Kind(f.MIME))
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	if k := media.Kind(f.MIME); k != "" {
		h.Set("Content-Type", k)
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	if _, err = w.CreatePart(h); err != nil {
		return nil, nil, "", err
	}
	at := b.Len()
	if err = w.Close(); err != nil {
		return nil, nil, "", err
	}
	return b.Bytes()[:at], b.Bytes()[at:], w.FormDataContentType(), nil
}

// sending is a request body whose reads reset the idle timeout: the vendor sends nothing until
// it has the file.
type sending struct {
	g    *idle.Guard
	r    io.Reader
	left int64
}

// Read implements [io.Reader].
func (s *sending) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.g.Arm()
	if s.left -= int64(n); s.left < 0 {
		return n, errFileTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, errors.Join(errFileRead, err)
	}
	return n, err
}

// largestObject bounds the responses of the APIs for files and token counts.
const largestObject = 1 << 20

// object decodes a response that is a JSON object and closes its body.
func (m *Model) object(g *idle.Guard, resp *http.Response, err error, into any) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := provider.ReadAll(g.Reading(resp.Body), largestObject)
	switch {
	case errors.Is(err, provider.ErrTooLong):
		return &noStream{kind: "more than 1 MiB"}
	case err != nil:
		return err
	case json.Unmarshal(body, into) != nil:
		return &noStream{kind: mediaType(resp.Header), said: pageWords(body)}
	}
	return nil
}

var _ model.FileStore = (*Model)(nil)

package adk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	wire "github.com/braidrun/braid/wire/adk"
)

// mostShown bounds an artifact that is sent as a part, in bytes.
const mostShown = 32 << 20

// version describes a version of an artifact, as adk-python does.
type version struct {
	Version  int            `json:"version"`
	URI      string         `json:"canonicalUri"`
	Metadata map[string]any `json:"customMetadata"`
	Created  float64        `json:"createTime"`
	MIME     string         `json:"mimeType,omitempty"`
}

// describe describes a version. Its address names it within its owner only.
func describe(at *place, session string, v *artifact.Version) version {
	owner := "/sessions/" + url.PathEscape(session)
	if strings.HasPrefix(v.Name, artifact.UserPrefix) {
		owner = ""
	}
	return version{
		Version: v.Version, Metadata: map[string]any{}, Created: float64(v.Created.UnixMicro()) / 1e6, MIME: v.MIME,
		URI: "artifact://apps/" + url.PathEscape(at.app.Name) + "/users/" + url.PathEscape(at.user) + owner +
			"/artifacts/" + url.PathEscape(v.Name) + "/versions/" + strconv.Itoa(v.Version),
	}
}

// artifacts finds the artifacts that a path names, and the session's id.
func (h *handler) artifacts(x *front.Exchange) (files artifact.Files, at place, session string, err error) {
	if at, err = h.path(x); err != nil {
		return nil, at, "", err
	}
	session = x.R.PathValue("session")
	c, err := h.find(x.R.Context(), &at, session)
	if err != nil {
		return nil, at, "", err
	}
	x.Conversation = c.ID
	files, err = h.front.Service.Artifacts(x.R.Context(), at.who, c.ID)
	return files, at, session, err
}

func (h *handler) listArtifacts(x *front.Exchange, _ []byte) error {
	files, _, _, err := h.artifacts(x)
	if err != nil {
		return err
	}
	list, err := files.List(x.R.Context())
	if err != nil {
		return err
	}
	names := []string{}
	for i := range list {
		names = append(names, list[i].Name)
	}
	reply(x, http.StatusOK, names)
	return nil
}

func (h *handler) saveArtifact(x *front.Exchange, body []byte) error {
	var name string
	var part *wire.Content
	if err := members(body, func(key string, raw json.RawMessage) (err error) {
		switch key {
		case "filename":
			err = json.Unmarshal(raw, &name)
		case "artifact":
			part, err = wire.DecodeContent([]byte(`{"parts":[` + string(raw) + `]}`))
		case "customMetadata":
			if text := string(bytes.TrimSpace(raw)); text != "{}" {
				err = front.Refusal(event.ErrUnsupported, "artifacts have no customMetadata here", "leave it out")
			}
		}
		return err
	}); err != nil {
		return err
	}
	if part == nil || len(part.Parts) != 1 {
		return front.Bad("artifact is missing", "send a part with inlineData or text")
	}
	mime, data, err := bytesOf(&part.Parts[0])
	if err != nil {
		return err
	}
	files, at, session, err := h.artifacts(x)
	if err != nil {
		return err
	}
	v, err := files.Save(x.R.Context(), name, mime, bytes.NewReader(data))
	if err != nil {
		return err
	}
	reply(x, http.StatusOK, describe(&at, session, &v))
	return nil
}

// bytesOf returns the content of a part.
func bytesOf(p *wire.Part) (mime string, data []byte, err error) {
	switch {
	case p.Inline != nil:
		data, err = p.Inline.Bytes()
		return p.Inline.MIME, data, err
	case p.Text != nil && p.Call == nil && p.Response == nil:
		return "text/plain", []byte(*p.Text), nil
	}
	return "", nil, front.Refusal(event.ErrUnsupported, "the part of the artifact is of a kind that is not taken here", "send inlineData or text")
}

// getArtifact answers NAME, NAME/versions, NAME/versions/N, NAME/versions/N/metadata and NAME/versions/metadata. A name may have
// slashes: one that ends as such a path cannot be asked for by its name alone.
func (h *handler) getArtifact(x *front.Exchange, _ []byte) error {
	files, at, session, err := h.artifacts(x)
	if err != nil {
		return err
	}
	name, rest := x.R.PathValue("path"), ""
	if i := strings.LastIndex("/"+name+"/", "/versions/"); i > 0 {
		name, rest = name[:i-1], strings.TrimPrefix(name[i-1:], "/")
	}
	ctx := x.R.Context()
	switch what := strings.TrimPrefix(strings.TrimPrefix(rest, "versions"), "/"); {
	case rest == "":
		return h.sendArtifact(x, files, name, x.R.URL.Query().Get("version"))
	case what == "" || what == "metadata":
		list, err := files.Versions(ctx, name)
		if err != nil {
			return err
		}
		numbers, all := []int{}, []version{}
		for i := range list {
			numbers, all = append(numbers, list[i].Version), append(all, describe(&at, session, &list[i]))
		}
		if what == "" {
			reply(x, http.StatusOK, numbers)
		} else {
			reply(x, http.StatusOK, all)
		}
		return nil
	case strings.HasSuffix(what, "/metadata"):
		n, err := number(strings.TrimSuffix(what, "/metadata"))
		if err != nil {
			return err
		}
		v, r, err := files.Load(ctx, name, n)
		if err != nil {
			return err
		}
		_ = r.Close()
		reply(x, http.StatusOK, describe(&at, session, &v))
		return nil
	default:
		return h.sendArtifact(x, files, name, what)
	}
}

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, front.Bad("the version is no number", "send 0 or more")
	}
	return n, nil
}

// sendArtifact answers with a version as a part; an empty one is the newest.
func (h *handler) sendArtifact(x *front.Exchange, files artifact.Files, name, text string) error {
	n := artifact.Latest
	if text != "" {
		var err error
		if n, err = number(text); err != nil {
			return err
		}
	}
	v, r, err := files.Load(x.R.Context(), name, n)
	if err != nil {
		return err
	}
	defer r.Close()
	if v.Size > mostShown {
		return front.Refusal(event.ErrTooLarge, "the artifact is too large to be sent as a part", "load it with a tool or from Go")
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	e := wire.Event{Content: &wire.Content{Parts: []wire.Part{{Inline: &wire.Blob{MIME: v.MIME, Data: base64.StdEncoding.EncodeToString(data)}}}}}
	out := bytes.TrimSuffix(bytes.TrimPrefix(e.AppendJSON(nil), []byte(`{"content":{"parts":[`)), []byte(`]}}`))
	reply(x, http.StatusOK, json.RawMessage(out))
	return nil
}

func (h *handler) deleteArtifact(x *front.Exchange, _ []byte) error {
	files, _, _, err := h.artifacts(x)
	if err != nil {
		return err
	}
	if err := files.Delete(x.R.Context(), x.R.PathValue("path")); err != nil {
		return err
	}
	reply(x, http.StatusOK, nil)
	return nil
}

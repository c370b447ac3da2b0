// Package artifacttool has tools with which a model saves and loads artifacts: save_artifact and load_artifacts, as
// Google's ADK calls them.
package artifacttool

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// The names of the tools.
const (
	Save = "save_artifact"
	Load = "load_artifacts"
)

const (
	// MaxText bounds the text of one artifact that load_artifacts shows, in bytes.
	MaxText = 256 << 10
	// MaxMedia bounds an image or a PDF document, in bytes.
	MaxMedia = 10 << 20
	// MostLoaded is how many artifacts one call of load_artifacts shows.
	MostLoaded = 10
)

// ForEach returns the tools. Each call works on the artifacts that open returns for it; nil means that there are none.
func ForEach(open func(ctx context.Context) (artifact.Files, error)) []tool.Tool {
	s := &set{open}
	return []tool.Tool{
		tool.Func(Save, "Saves a file as an artifact of this conversation, as its next version. Versions count from 0. "+
			"A name that begins with user: is kept for all conversations of the user.", s.save, tool.Idempotent()),
		tool.Func(Load, "Shows artifacts of this conversation and of its user. Without names it lists them.", s.load, tool.Pure()),
	}
}

type set struct {
	open func(ctx context.Context) (artifact.Files, error)
}

func (s *set) files(ctx context.Context) (artifact.Files, error) {
	f, err := s.open(ctx)
	if err == nil && f == nil {
		err = &event.Error{Op: "artifact", Kind: event.ErrUnsupported, Message: "this conversation has no artifacts", Hint: "answer without them"}
	}
	return f, err
}

type saveCall struct {
	Name string `json:"filename"            jsonschema:"the name of the artifact"`
	Text string `json:"text,omitempty"      jsonschema:"its content, if it is text"`
	Data string `json:"data,omitempty"      jsonschema:"its content in base64, if it is no text"`
	MIME string `json:"mime_type,omitempty" jsonschema:"its media type; leave it out for text/plain"`
}

type saved struct {
	Name    string `json:"filename"`
	Version int    `json:"version"`
}

// save stores the bytes before the event that names them.
func (s *set) save(ctx context.Context, in saveCall) (out saved, err error) {
	content := []byte(in.Text)
	if in.Data != "" {
		if in.Text != "" {
			return out, refused("both text and data are given", "pass one of them")
		}
		if content, err = base64.StdEncoding.DecodeString(in.Data); err != nil {
			return out, refused("data is no base64", "encode it, or pass text")
		}
	}
	if in.MIME == "" {
		in.MIME = "text/plain"
		if in.Data != "" {
			in.MIME = "application/octet-stream"
		}
	}
	files, err := s.files(ctx)
	if err != nil {
		return out, err
	}
	v, err := files.Save(ctx, in.Name, in.MIME, strings.NewReader(string(content)))
	if err != nil {
		return out, err
	}
	tool.ArtifactSaved(ctx, event.ArtifactSaved{Name: v.Name, Version: v.Version, MIME: v.MIME, Size: v.Size, Digest: v.Digest.String()})
	return saved{v.Name, v.Version}, nil
}

type loadCall struct {
	Names []string `json:"artifact_names,omitempty" jsonschema:"the names; leave them out for a list of all"`
}

func (s *set) load(ctx context.Context, in loadCall) (out tool.Output, err error) {
	files, err := s.files(ctx)
	if err != nil {
		return out, err
	}
	if len(in.Names) == 0 {
		return list(ctx, files)
	}
	if len(in.Names) > MostLoaded {
		return out, refused("too many names are given", "ask for at most "+strconv.Itoa(MostLoaded)+" at a time")
	}
	for _, name := range in.Names {
		blocks, err := show(ctx, files, name)
		if err != nil {
			return out, err
		}
		out.Content = append(out.Content, blocks...)
	}
	return out, nil
}

func list(ctx context.Context, files artifact.Files) (tool.Output, error) {
	all, err := files.List(ctx)
	if err != nil {
		return tool.Output{}, err
	}
	if len(all) == 0 {
		return tool.Text("There are no artifacts yet."), nil
	}
	var text strings.Builder
	for _, v := range all {
		fmt.Fprintf(&text, "%s (version %d, %s, %d bytes)\n", v.Name, v.Version, v.MIME, v.Size)
	}
	return tool.Text(text.String()), nil
}

// show returns an artifact as a model can read it.
func show(ctx context.Context, files artifact.Files, name string) ([]event.Block, error) {
	v, r, err := files.Load(ctx, name, artifact.Latest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	title := fmt.Sprintf("Artifact %s (version %d, %s, %d bytes)", v.Name, v.Version, v.MIME, v.Size)
	image, pdf := strings.HasPrefix(v.MIME, "image/"), v.MIME == "application/pdf"
	if (image || pdf) && v.Size > MaxMedia {
		return []event.Block{&event.Text{Text: title + " is too large to be shown."}}, nil
	}
	most := int64(MaxText)
	if image || pdf {
		most = MaxMedia
	}
	data, err := io.ReadAll(io.LimitReader(r, most))
	switch {
	case err != nil:
		return nil, err
	case image:
		return []event.Block{&event.Text{Text: title}, &event.Image{MIME: v.MIME, Data: data}}, nil
	case pdf:
		return []event.Block{&event.Text{Text: title}, &event.Document{Name: v.Name, MIME: v.MIME, Data: data}}, nil
	case !utf8.Valid(data[:len(data)-min(len(data), utf8.UTFMax)]):
		return []event.Block{&event.Text{Text: title + " is no text."}}, nil
	}
	text := strings.ToValidUTF8(string(data), "")
	if v.Size > most {
		title += ", the first " + strconv.Itoa(len(text)) + " bytes"
	}
	return []event.Block{&event.Text{Text: title + ":\n" + text}}, nil
}

func refused(message, hint string) error {
	return &event.Error{Op: "artifact", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

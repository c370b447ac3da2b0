package server

import (
	"encoding/base64"

	files "github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// attachment is a file that comes with the input: its bytes, a file of the conversation's workspace, or the address of a
// recording.
type attachment struct {
	// Type is image, document, audio or video. Without it the bytes decide.
	Type string `json:"type,omitempty"`
	MIME string `json:"mime_type,omitempty"`
	Name string `json:"name,omitempty"`
	// Data is base64.
	Data string `json:"data,omitempty"`
	// Path names a file of the conversation's workspace.
	Path string `json:"path,omitempty"`
	// URL is where the model's provider finds a recording.
	URL string `json:"url,omitempty"`
}

// attached returns what the service attaches. The service checks the content.
func (a *attachment) attached() (service.Attachment, error) {
	out := service.Attachment{Name: a.Name, Path: a.Path}
	given := 0
	for _, s := range []string{a.Data, a.Path, a.URL} {
		if s != "" {
			given++
		}
	}
	recording := a.Type == "audio" || a.Type == "video"
	switch {
	case given == 0:
		return out, front.Bad("an attachment is empty", "send data, a path or a url")
	case given > 1:
		return out, front.Bad("an attachment has more than one of data, path and url", "send one of them")
	case a.URL != "" && !recording:
		return out, front.Bad("only audio and video are attached by url", "send the bytes of a file as data, or its path in the workspace")
	case recording && a.URL == "":
		return out, front.Bad("audio and video are attached by url", "send the address of the recording")
	case recording:
		out.Block = &event.Media{Media: a.Type, MIME: a.MIME, URL: a.URL}
		return out, nil
	case a.Type != "" && a.Type != "image" && a.Type != "document":
		return out, front.Bad("an attachment is of an unknown type", "send image, document, audio or video")
	case a.Path != "" && a.Type+a.MIME != "":
		return out, front.Bad("an attachment with a path has a type", "leave type and mime_type out: the file's bytes decide")
	case a.Path != "":
		return out, nil
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil || len(data) == 0 {
		return out, front.Bad("an attachment's data is not base64, or empty", "encode the file's bytes as standard base64")
	}
	switch a.Type {
	case "image":
		out.Block = &event.Image{MIME: a.MIME, Data: data}
	case "document":
		out.Block = &event.Document{MIME: a.MIME, Name: a.Name, Data: data}
	default:
		out.Block, err = files.New(a.Name, a.MIME, data)
	}
	return out, err
}

package service

import (
	"strconv"

	"github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/event"
)

// Attachment is a file, a recording or a further text that comes with a run's input. It has either a Block or a Path.
type Attachment struct {
	// Name is the file's name. It may be empty.
	Name string
	// Block is the content, as [attachment.Check] accepts it.
	Block event.Block
	// Path names a file in the conversation's workspace. Its content at the time of the request is attached.
	Path string
}

// pathScheme begins the address that stands for a file of the workspace until it is read.
const pathScheme = "workspace:"

// checkAttachments checks the attachments by themselves and puts checked blocks in their place. It does not change the
// caller's slice.
func (r *RunRequest) checkAttachments(op string) error {
	if len(r.Attachments) == 0 {
		return nil
	}
	checked := make([]Attachment, len(r.Attachments))
	files, total := 0, int64(0)
	for i, a := range r.Attachments {
		if _, text := a.Block.(*event.Text); !text {
			files++
		}
		switch {
		case a.Path != "" && a.Block != nil:
			return invalid(op, "an attachment has both content and a path", "send one of them")
		case a.Path != "":
			a.Block = &event.Document{Name: a.Name, URL: pathScheme + a.Path}
		default:
			b, err := attachment.Check(a.Name, a.Block)
			if err != nil {
				return err
			}
			a.Block = b
			total += sizeOfBlocks([]event.Block{b})
		}
		checked[i] = a
	}
	if files > attachment.MaxCount {
		return invalid(op, "there are more than "+strconv.Itoa(attachment.MaxCount)+" attachments", "send fewer, or in several messages")
	}
	if total > attachment.MaxTotal {
		return attachmentsTooLarge(op)
	}
	r.Attachments = checked
	return nil
}

func attachmentsTooLarge(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrTooLarge, Code: attachment.TooLarge,
		Message: "the attachments have more than " + strconv.Itoa(attachment.MaxTotal>>20) + " MiB together", Hint: "send fewer, or smaller ones",
	}
}

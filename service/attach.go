package service

import (
	"context"
	"errors"
	"io"
	"path"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/workspace"
)

// attach completes the input of a run: it reads the attached files of the workspace, and stores the others there, so that
// the agent's tools reach them. undo removes what it has stored; the caller calls it if the run is refused. It is never
// nil.
func (s *Service) attach(ctx context.Context, row *Row, r *RunRequest, run *journal.Run) (undo func(), err error) {
	undo = func() {}
	if len(r.Attachments) == 0 || len(run.Input) == 0 {
		return undo, nil
	}
	var files workspace.Files
	if s.workspaces != nil {
		// A file in the request needs no workspace.
		if err := s.withFiles(ctx, "start run", row); err == nil {
			files = s.countedFiles(row)
		} else if event.KindOf(err) != event.ErrPermission {
			return undo, err
		}
	}
	if err := s.readAttached(ctx, files, r, run); err != nil || files == nil {
		return undo, err
	}
	landed := landing{files: files}
	undo = func() { landed.undo(ctx) }
	for i := range r.Attachments {
		a := &r.Attachments[i]
		if a.Path != "" {
			continue
		}
		if err := landed.land(ctx, a); err != nil {
			undo()
			return func() {}, err
		}
	}
	return undo, nil
}

// readAttached puts the content of attached files into the input.
func (s *Service) readAttached(ctx context.Context, files workspace.Files, r *RunRequest, run *journal.Run) error {
	const op = "start run"
	content := run.Input[0].Content
	first := len(content) - len(r.Attachments)
	hold := s.memory.Hold(run.Tenant)
	defer hold.Release()
	total := sizeOfBlocks(content[first:])
	read := false
	for i := range r.Attachments {
		a := &r.Attachments[i]
		if a.Path == "" {
			continue
		}
		if files == nil {
			return noWorkspaces(op)
		}
		data, err := readFile(ctx, hold, files, a.Path, attachment.MaxTotal-total)
		if errors.Is(err, errNoRoom) {
			return attachmentsTooLarge(op)
		}
		if err != nil {
			return err
		}
		if a.Name == "" {
			a.Name = path.Base(a.Path)
		}
		if a.Block, err = attachment.New(a.Name, "", data); err != nil {
			return err
		}
		content[first+i], read = a.Block, true
		total += int64(len(data))
	}
	if read {
		noteInput(run.Metadata, content)
	}
	return nil
}

var errNoRoom = errors.New("more bytes than there is room for")

// readFile reads a file of at most so many bytes.
func readFile(ctx context.Context, hold *Hold, files workspace.Files, at string, most int64) ([]byte, error) {
	f, err := files.Stat(ctx, at)
	switch {
	case err != nil:
		return nil, err
	case f.Size > most:
		return nil, errNoRoom
	}
	if err := hold.grow(ctx, f.Size); err != nil {
		return nil, err
	}
	from, err := files.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, f.Size+1))
	if err == nil && int64(len(data)) != f.Size {
		return nil, &event.Error{
			Op: "start run", Kind: event.ErrConflict, Message: "the attached file has changed", Hint: "try again",
		}
	}
	return data, err
}

// reads returns an error if the agent's model cannot read an attachment. It names both.
func reads(agent *braid.Agent, attached []Attachment) error {
	for i := range attached {
		a := &attached[i]
		err := agent.Reads(a.Block)
		if err == nil {
			continue
		}
		name := a.Name
		if d, ok := a.Block.(*event.Document); ok && name == "" {
			name = d.Name
		}
		return attachment.CannotRead(agent.Model().Info().Name, name, err)
	}
	return nil
}

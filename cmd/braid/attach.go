package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// attachFlag attaches files to a prompt.
func attachFlag() conf.Flag {
	return conf.Flag{
		Name: "attach", Value: "FILE", List: true,
		Help: "attach an image, a PDF, a text or another document to the prompt; repeatable",
	}
}

// attached are the files that go with the next input.
type attached []client.Attachment

// attachedBy reads the files of --attach.
func attachedBy(in *conf.Invocation) (list attached, err error) {
	names, given := in.Flags["attach"]
	if !given {
		return nil, nil
	}
	for name := range strings.SplitSeq(names, "\n") {
		if list, err = list.add(name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// add reads a file, and checks it as a server does.
func (a attached) add(name string) (attached, error) {
	if len(a) == attachment.MaxCount {
		return a, term.Invalid("send them in several prompts", "there are more than %d attachments", attachment.MaxCount)
	}
	data, err := readAttachment(name)
	if err != nil {
		return a, err
	}
	one := client.Attachment{Name: filepath.Base(name), Data: data}
	if _, err := attachment.New(one.Name, "", data); err != nil {
		return a, err
	}
	return append(a, one), nil
}

// readAttachment reads a plain file.
func readAttachment(name string) ([]byte, error) {
	shown := term.CleanLine(term.Fit(name, 80))
	if name == "" {
		return nil, term.Invalid("name a file", "there is no file to attach")
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &event.Error{Kind: event.ErrNotFound, Message: "there is no file " + shown, Hint: "check the path", Err: err}
	case err == nil && !info.Mode().IsRegular():
		return nil, term.Invalid("name a plain file", "%s is no file", shown)
	}
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, attachment.MaxDocument+1)); err == nil {
			return data, nil
		}
	}
	return nil, &event.Error{Kind: event.ErrInvalid, Message: shown + " cannot be read", Hint: "check its permissions", Err: err}
}

// options returns the options of a run with the files. It refuses a file that the agent's model cannot read.
func (a attached) options(c *agentSetup) ([]braid.RunOption, error) {
	if len(a) == 0 {
		return nil, nil
	}
	blocks := make([]event.Block, len(a))
	for i := range a {
		b, err := attachment.New(a[i].Name, "", a[i].Data)
		if err != nil {
			return nil, err
		}
		if err := c.agent.Reads(b); err != nil {
			return nil, attachment.CannotRead(c.info().Name, a[i].Name, err)
		}
		blocks[i] = b
	}
	return []braid.RunOption{braid.Attach(blocks...)}, nil
}

// needPrompt refuses files without a prompt.
func (a attached) needPrompt(prompt string) error {
	if len(a) == 0 || prompt != "" {
		return nil
	}
	return term.Invalid("add a prompt, or leave --attach out", "there is no prompt that the files go with")
}

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/service/agents"
)

// place is the storage of a command's conversation.
type place struct {
	conv *braid.Conversation
	// store is nil if nothing is kept.
	store *sqlite.Store
	// before is the stored summary of a continued conversation.
	before *journal.Summary
	// scratch is the folder for the conversation's files; empty is a temporary one.
	scratch string
	// close releases the folder.
	close func()
}

// continueFlag continues a stored conversation.
func continueFlag() conf.Flag {
	return conf.Flag{
		Name: "continue", Short: "c", Value: "ID", Optional: true,
		Help: "continue a conversation: the newest one, or the one whose ID begins with this (braid conversations)",
	}
}

// sureID is the length from which a word after --continue is an ID, if it is the beginning of one, although
// it could begin a prompt.
const sureID = 6

// takePlace opens the storage of the command's conversation: the one to continue, a new one in the data
// folder, or memory.
//
// If the default folder cannot be written, or another process uses it, the command prints a warning,
// answers, and keeps nothing.
func (p *process) takePlace(ctx context.Context, cfg *conf.Config, in *conf.Invocation) (*place, error) {
	id, goesOn := in.Flags["continue"]
	if cfg.Ephemeral {
		if goesOn {
			return nil, term.Invalid("leave one of them out; "+cfg.Values["ephemeral"].Source+" says ephemeral",
				"an ephemeral conversation cannot be one that was kept")
		}
		return inMemory(), nil
	}
	store, err := p.openStore(cfg)
	switch {
	case err == nil:
	case !goesOn && term.KindOf(err) == event.ErrConflict,
		!goesOn && term.KindOf(err) == event.ErrPermission && cfg.Values["data"].Source == "default":
		message, _ := term.Describe(err)
		fmt.Fprintf(p.Stderr, "braid: %s, so this conversation is kept in memory only\n", printer.OneLine(message))
		return inMemory(), nil
	default:
		return nil, err
	}
	pl := &place{store: store}
	pl.close = p.onExit(func() {
		if pl.scratch != "" { // remove it if it is empty
			_ = os.Remove(pl.scratch)
			_ = os.Remove(filepath.Dir(pl.scratch))
		}
		_ = store.Close()
	})
	name := newConversationID()
	if goesOn {
		if pl.before, err = findPlace(ctx, in, store, id); err != nil {
			pl.close()
			return nil, err
		}
		name = pl.before.ID
	}
	pl.conv = braid.Open(store, name)
	pl.scratch = agents.FilesIn(filepath.Join(cfg.Data, "scratch")).Folder(conf.Tenant, name)
	return pl, nil
}

func inMemory() *place { return &place{conv: braid.NewConversation(), close: func() {}} }

// newConversationID returns a new ID, of which users type the beginning. It must be unique everywhere: the
// idempotency keys of tool calls begin with it.
func newConversationID() string { return strings.ToLower(rand.Text()[:16]) }

// findPlace finds the conversation of --continue. A word after the flag is its ID if the command takes no
// prompt, or if a conversation's ID begins with it.
func findPlace(ctx context.Context, in *conf.Invocation, list listing, id string) (*journal.Summary, error) {
	at, bare := in.Behind["continue"]
	if !bare || at >= len(in.Args) {
		return findConversation(ctx, list, id)
	}
	word := in.Args[at]
	if word != newest && len(word) < sureID {
		return findConversation(ctx, list, id)
	}
	found, err := findConversation(ctx, list, word)
	if term.KindOf(err) == event.ErrNotFound {
		return findConversation(ctx, list, id)
	}
	in.Args = append(in.Args[:at:at], in.Args[at+1:]...)
	return found, err
}

// openStore opens the data folder for this process alone.
func (p *process) openStore(cfg *conf.Config) (*sqlite.Store, error) {
	if err := checkFolder(cfg.Data); err != nil {
		return nil, err
	}
	if err := checkJournal(cfg.Data); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(cfg.Data, sqlite.Options{})
	return store, storeError(p.spaceError(err, cfg.Data))
}

// spaceError detects a full disk after an error: SQLite does not always report it as such.
func (p *process) spaceError(err error, dir string) error {
	const needed = 256 << 10 // for the files that SQLite shares with other processes, and more
	if term.KindOf(err) != event.ErrUnavailable {
		return err
	}
	if free, freeErr := p.freeSpace(dir); freeErr != nil || free > needed {
		return err
	}
	return &event.Error{Kind: event.ErrStorageFull, Message: "there is no space left for the journal", Err: err}
}

// archiveOf opens the archive of the flags: a database, or the data folder.
func (p *process) archiveOf(ctx context.Context, cfg *conf.Config, in *conf.Invocation) (archive, error) {
	address, err := p.postgresAddress(in, false)
	switch {
	case err != nil:
		return nil, err
	case !address.Empty():
		return p.openPostgresArchive(ctx, address)
	}
	a, err := p.openArchive(cfg)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// openArchive opens the data folder for reading, also while another process uses it.
func (p *process) openArchive(cfg *conf.Config) (*sqlite.Reader, error) {
	if err := checkFolder(cfg.Data); err != nil {
		return nil, err
	}
	a, err := sqlite.View(cfg.Data)
	if term.KindOf(err) == event.ErrUnsupported {
		// An older version of braid wrote it: opening it for writing updates it.
		var s *sqlite.Store
		if s, err = sqlite.Open(cfg.Data, sqlite.Options{}); err == nil {
			if err = s.Close(); err == nil {
				a, err = sqlite.View(cfg.Data)
			}
		}
	}
	if err != nil {
		return nil, storeError(p.spaceError(err, cfg.Data))
	}
	return a, nil
}

// checkFolder refuses a path that cannot become a folder.
func checkFolder(dir string) error {
	if dir == "" {
		return &event.Error{
			Kind: event.ErrPermission, Message: "there is no folder for your data", Hint: "set HOME, or name a folder with --data",
		}
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		return term.Invalid("name a folder with --data; braid config shows what is in force", "the data folder is a file, or inside one")
	}
	return nil
}

// storeError adapts an error of a store for users: without the operation's name, and with a hint about the
// folder.
func storeError(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Op = ""
	switch e.Kind {
	case event.ErrConflict:
		told.Hint = "wait until that one is done, choose another folder with --data, or look on with braid show"
	case event.ErrStorageFull:
		told.Hint = "free some space, or choose another folder with --data"
	case event.ErrPermission:
		told.Hint = "give yourself the right to read and write there, or choose another folder with --data" + whichFolder
	case event.ErrInvalid:
		told.Hint = "choose another folder with --data" + whichFolder
	case event.ErrNewer, event.ErrInternal, event.ErrUnavailable, event.ErrUnsupported:
		told.Hint = cmp.Or(e.Hint, "restore a backup of the folder") + whichFolder
	}
	return &told
}

// whichFolder ends a hint, because messages contain no paths.
const whichFolder = "; braid doctor names this one"

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
)

func permissionsCommand(p *process) conf.Command {
	return conf.Command{
		Name: "permissions", Args: "[forget ID|TOOL|all]", Short: "list what you have allowed for longer, and take it back",
		About: `Each call of a tool in --ask waits for your permission. The answer "a" (always) is kept
in the data folder and listed here: its ID, the tool, the arguments, and the time.
forget revokes one or all. With --conversation the command lists and revokes the "c"
answers: the tools that this conversation may call.

--allow, --ask and --deny take names of tools and patterns: * matches any letters, ?
matches one. A name wins over a pattern, and a pattern with more letters wins over one
with fewer. Between equals, deny wins over ask, and ask over allow. A tool without a
match runs.`,
		Examples: []conf.Example{
			{Line: `braid run --ask "*" --allow "get_*" "…"`, Says: "be asked for everything but reading"},
			{Line: `braid chat --deny "delete_*"`, Says: "let nothing be deleted"},
			{Line: "braid permissions", Says: "what is allowed always"},
			{Line: "braid permissions forget 3f2a", Says: "be asked again"},
			{Line: "braid permissions --conversation latest", Says: "what is allowed in the newest conversation"},
			{Line: "braid permissions forget delete_file --conversation latest", Says: "be asked again there"},
		},
		Options: true, Some: []string{"data"},
		Flags: []conf.Flag{
			{Name: "json", Help: "write one JSON object on each line"},
			{Name: "conversation", Value: "ID", Help: "what is allowed in this conversation: the beginning of its ID, or latest"},
		},
		Run: func(ctx context.Context, in *conf.Invocation) error { return permissions(ctx, p, in) },
	}
}

// permissions executes the command.
func permissions(ctx context.Context, p *process, in *conf.Invocation) error {
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	if id, of := in.Flags["conversation"]; of {
		return p.conversationGrants(ctx, cfg, in, id)
	}
	kept := grantsIn(cfg.Data)
	switch {
	case len(in.Args) == 0:
		return p.listGrants(kept, in.On("json"))
	case in.Args[0] == "forget" && len(in.Args) == 2:
		n, err := kept.forget(in.Args[1])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "%d taken back\n", n)
		return term.OutputError(err)
	default:
		return term.Invalid("braid permissions lists, braid permissions forget ID takes back", "braid permissions takes nothing, or forget and an ID")
	}
}

// conversationGrants lists or revokes the permissions of one conversation.
func (p *process) conversationGrants(ctx context.Context, cfg *conf.Config, in *conf.Invocation, id string) error {
	store, err := p.openStore(cfg)
	if err != nil {
		return err
	}
	defer p.onExit(func() { _ = store.Close() })()
	found, err := findConversation(ctx, store, id)
	if err != nil {
		return err
	}
	conv := braid.Open(store, found.ID)
	switch {
	case len(in.Args) == 2 && in.Args[0] == "forget":
		tool := in.Args[1]
		if tool == "all" {
			tool = ""
		}
		n, err := conv.Revoke(ctx, tool, braid.For(conf.Tenant, ""))
		if err != nil {
			return err
		}
		if n == 0 && tool != "" {
			return &event.Error{
				Kind: event.ErrNotFound, Message: "nothing of that tool is allowed in this conversation",
				Hint: "braid permissions --conversation ID lists the tools",
			}
		}
		_, err = fmt.Fprintf(p.Stdout, "%d taken back\n", n)
		return term.OutputError(err)
	case len(in.Args) > 0:
		return term.Invalid("braid permissions --conversation ID lists, braid permissions forget TOOL --conversation ID takes back",
			"braid permissions takes nothing, or forget and a tool")
	}
	list, err := conv.Grants(ctx)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for i := range list {
		if !in.On("json") {
			fmt.Fprintln(&b, term.CleanLine(list[i].Tool))
			continue
		}
		row, err := json.Marshal(struct {
			Tool string `json:"tool"`
			By   string `json:"by,omitempty"`
		}{list[i].Tool, list[i].By})
		if err != nil {
			return err
		}
		b.Write(append(row, '\n'))
	}
	if len(list) == 0 && !in.On("json") {
		fmt.Fprintln(p.Stderr, "Nothing is allowed in this conversation.")
	}
	_, err = p.Stdout.Write(b.Bytes())
	return term.OutputError(err)
}

func (p *process) listGrants(kept *fileGrants, asJSON bool) error {
	list, err := kept.read()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for i := range list {
		g := &list[i]
		if asJSON {
			row, err := json.Marshal(struct {
				*grant.Grant
				ID string `json:"id"`
			}{g, grantID(g)})
			if err != nil {
				return err
			}
			b.Write(append(row, '\n'))
			continue
		}
		args := "whatever the arguments"
		if !g.AnyArgs {
			args = string(g.Args)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", grantID(g), term.CleanLine(g.Tool), term.CleanLine(args), g.At.Local().Format(time.DateTime))
	}
	if len(list) == 0 && !asJSON {
		fmt.Fprintln(p.Stderr, "Nothing is allowed for always.")
	}
	_, err = p.Stdout.Write(b.Bytes())
	return term.OutputError(err)
}

// grantID returns the ID of a grant, of which users type the beginning.
func grantID(g *grant.Grant) string {
	h := sha256.New()
	for _, part := range []string{g.Tenant, g.User, g.Agent, g.Tool, g.ToolHash, string(g.Args)} {
		h.Write(append([]byte(part), 0))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// fileGrants keeps grants in a file of the data folder. It reads the file on each use, so that a revoked
// permission ends at once, also for a running server.
type fileGrants struct {
	file string
	mu   sync.Mutex
}

// grantsFile is the name of the file.
const grantsFile = "permissions.json"

func grantsIn(data string) *fileGrants { return &fileGrants{file: filepath.Join(data, grantsFile)} }

// grantsVersion is the version of the file's format.
const grantsVersion = 2

// keptGrantList is the content of the file.
type keptGrantList struct {
	Version int           `json:"version"`
	Grants  []grant.Grant `json:"grants"`
}

func (f *fileGrants) read() ([]grant.Grant, error) {
	raw, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	fault := func(kind event.ErrorKind, message, hint string) ([]grant.Grant, error) {
		return nil, &event.Error{Kind: kind, Message: message, Hint: hint, Err: err}
	}
	if err != nil {
		return fault(event.ErrPermission, "what is allowed for always cannot be read", "let this user read and write the data folder")
	}
	var list keptGrantList
	if err = json.Unmarshal(raw, &list); err != nil {
		return fault(event.ErrInvalid, "the file of what is allowed for always is damaged",
			"remove "+grantsFile+" in the data folder; you are asked again then")
	}
	switch list.Version {
	case grantsVersion:
		return list.Grants, nil
	case 1: // its grants have no hash of the tool's description, so each one is asked for again
		return nil, nil
	}
	return fault(event.ErrNewer, "what is allowed for always was written by a newer braid", "use that one")
}

func (f *fileGrants) write(list []grant.Grant) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false) // arguments are compared byte for byte
	if err := enc.Encode(keptGrantList{grantsVersion, list}); err != nil {
		return err
	}
	fault, dir := cannotKeep, filepath.Dir(f.file)
	// The write is atomic: a reader never sees half of it.
	next, err := os.CreateTemp(dir, grantsFile+".*")
	if err != nil {
		return fault(err)
	}
	defer os.Remove(next.Name())
	_, err = next.Write(raw.Bytes())
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return fault(err)
	}
	if err := os.Rename(next.Name(), f.file); err != nil {
		return fault(err)
	}
	return nil
}

func cannotKeep(err error) error {
	return &event.Error{
		Kind: event.ErrPermission, Message: "what is allowed for always cannot be kept",
		Hint: "let this user read and write the data folder", Err: err,
	}
}

// change reads the list, applies f and writes the result, while no other process does. Two permissions at
// the same time are both kept. A nil list is not written.
func (f *fileGrants) change(with func([]grant.Grant) ([]grant.Grant, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.file), 0o700); err != nil {
		return cannotKeep(err)
	}
	err := oneWriter(f.file+".lock", func() error {
		list, err := f.read()
		if err != nil {
			return err
		}
		if list, err = with(list); err != nil || list == nil {
			return err
		}
		return f.write(list)
	})
	if _, ours := errors.AsType[*event.Error](err); err != nil && !ours {
		return cannotKeep(err)
	}
	return err
}

// Granted implements [grant.Store].
func (f *fileGrants) Granted(_ context.Context, call grant.Grant) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := f.read()
	return slices.ContainsFunc(list, func(g grant.Grant) bool { return g.Covers(&call) }), err
}

// Grant implements [grant.Store].
func (f *fileGrants) Grant(_ context.Context, g grant.Grant) error {
	return f.change(func(list []grant.Grant) ([]grant.Grant, error) {
		if slices.ContainsFunc(list, func(o grant.Grant) bool { return o.Covers(&g) }) {
			return nil, nil // it exists
		}
		return append(list, g), nil
	})
}

// forget revokes the grants whose ID begins with id, or all.
func (f *fileGrants) forget(id string) (n int, err error) {
	if list, err := f.read(); err != nil || len(list) == 0 {
		if err == nil {
			_, err = without(nil, id)
		}
		return 0, err
	}
	err = f.change(func(list []grant.Grant) ([]grant.Grant, error) {
		left, err := without(list, id)
		n = len(list) - len(left)
		return left, err
	})
	if err != nil {
		n = 0
	}
	return n, err
}

// without returns the list without the grants of an ID.
func without(list []grant.Grant, id string) ([]grant.Grant, error) {
	left := slices.DeleteFunc(slices.Clone(list), func(g grant.Grant) bool {
		return id == "all" || strings.HasPrefix(grantID(&g), id)
	})
	switch n := len(list) - len(left); {
	case n == 0 && id == "all":
		return list, nil
	case n == 0 || id == "":
		return list, &event.Error{
			Kind: event.ErrNotFound, Message: "nothing that is allowed has an ID that begins so", Hint: "braid permissions lists the IDs",
		}
	case n > 1 && id != "all":
		return list, term.Invalid("give more of the ID", "several IDs begin so")
	default:
		return left, nil
	}
}

// permitParts returns the agent's permissions, or none without settings. life is the life of the agent's
// tenant; empty is the command's own conversations.
func permitParts(s *conf.Settings, life string) []braid.Part {
	p := s.Permit
	asksForShell(s, &p)
	if len(p.Allow)+len(p.Ask)+len(p.Deny) == 0 {
		return nil
	}
	p.Grants = keptGrants(s, life)
	return []braid.Part{braid.Permit(p)}
}

// keptGrants returns the store of permanent permissions, bound to the life of the agent's tenant. It is nil
// without a data folder: a permission then lasts as long as the agent.
func keptGrants(s *conf.Settings, life string) grant.Store {
	if s.Ephemeral || s.Data == "" {
		return nil
	}
	return lifeGrants{grantsIn(s.Data), life}
}

// idlePatterns returns the patterns that match no tool.
func idlePatterns(s *conf.Settings, agent *braid.Agent) []string {
	var names []string
	for _, t := range agent.Tools() {
		names = append(names, t.Spec().Name)
	}
	return s.Permit.Idle(names)
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// permissionWords are the answers to a request for permission.
const permissionWords = "y yes · c in this conversation · a always · c* or a* whatever the arguments · n no, or n WHY"

// parsePermission reads an answer to a request for permission.
func parsePermission(line string) (any, error) {
	word, reason, _ := strings.Cut(line, " ")
	reason = strings.TrimSpace(reason)
	word, anyArgs := strings.CutSuffix(strings.ToLower(word), "*")
	a := event.Approval{Approved: true, AnyArgs: anyArgs}
	switch word {
	case "n", "no", "いいえ":
		if !anyArgs {
			return event.Approval{Reason: reason}, nil
		}
	case "y", "yes", "はい":
		if !anyArgs && reason == "" {
			return a, nil
		}
	case "c", "conversation":
		a.Lasts = event.LastsConversation
	case "a", "always":
		a.Lasts = event.LastsAlways
	}
	if a.Lasts == "" || reason != "" {
		return nil, errors.New("please answer with one of: " + permissionWords)
	}
	return a, nil
}

// said is a permission that covers more than its own question.
type said struct {
	tool, hash, prompt string
	args               json.RawMessage
}

// lasting adds an answer to the permissions that cover more.
func lasting(list []said, q *event.Asked, value any) []said {
	a, ok := value.(event.Approval)
	if q.Name != event.PermissionQuestion || !ok || a.Lasts == "" {
		return list
	}
	one := said{tool: q.Tool, hash: q.ToolHash, prompt: q.Prompt}
	if !a.AnyArgs {
		one.args = q.Args
	}
	return append(list, one)
}

// coveredBy answers a question with the permission given for another question of the same time.
func coveredBy(list []said, q *event.Asked) (any, bool) {
	return true, q.Name == event.PermissionQuestion && slices.ContainsFunc(list, func(s said) bool {
		return s.tool == q.Tool && s.hash == q.ToolHash && s.prompt == q.Prompt && (s.args == nil || bytes.Equal(s.args, q.Args))
	})
}

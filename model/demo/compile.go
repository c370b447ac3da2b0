package demo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// op names this package in errors.
const op = "demo"

// rule is a compiled [Rule].
type rule struct {
	users   []*regexp.Regexp
	lang    string
	finds   Finder
	tool    []string
	missing []string
	after   []string
	failed  *bool
	result  *regexp.Regexp
	round   int
	turn    int
	cycle   int
	attempt int

	pieces []piece
	calls  bool
	stop   event.StopReason
	usage  *event.Usage
	timing Timing
	fault  *Fault
	// fixed holds the answer by language if nothing is filled in.
	fixed map[string]*answer
}

// piece is a compiled [Piece].
type piece struct {
	kind model.ChunkKind
	// text is by language; it always has "en".
	text  map[string]template
	id    template
	args  arguments
	whole event.Block
}

// answer is the stream of one reply.
type answer struct {
	chunks []chunk
	// tokens is the estimated usage.
	tokens int64
}

var languages = []string{"en", "ja"}

const (
	maxRules   = 1000
	maxPieces  = 1000
	maxPattern = 1000
)

var scriptName = lazyre.New(`^[A-Za-z0-9_.-]{1,64}$`)

// compile checks a script and compiles its rules. fixed is the number of characters per piece; 0 means a word.
func compile(s Script, fixed int) ([]rule, error) {
	if s.Name != "" && !scriptName.MatchString(s.Name) {
		return nil, wrong("name: " + strconv.Quote(clip(s.Name)) + " is not a name; it has up to 64 letters, digits, \"_\", \"-\" and \".\"")
	}
	if err := checkLanguages(s.Prompt); err != nil {
		return nil, wrong("prompt: " + err.Error())
	}
	if problem := s.Timing.check(); problem != "" {
		return nil, wrong("timing: " + problem)
	}
	if len(s.Rules) == 0 {
		return nil, wrong("rules: there are none, so the model would have no answer")
	}
	if len(s.Rules) > maxRules {
		return nil, wrong(fmt.Sprintf("rules: there are %d; %d are allowed", len(s.Rules), maxRules))
	}
	out := make([]rule, len(s.Rules))
	for i := range s.Rules {
		field, err := compileRule(&s.Rules[i], &out[i])
		if err != nil {
			return nil, wrong(label(i, &s.Rules[i]) + ", " + field + ": " + err.Error())
		}
		if out[i].timing.zero() {
			out[i].timing = s.Timing
		}
		out[i].fix(fixed)
	}
	return out, nil
}

// label identifies a rule in errors: its place, its name, its line.
func label(i int, r *Rule) string {
	s := "rule " + strconv.Itoa(i+1)
	if r.Name != "" {
		s += " " + strconv.Quote(clip(r.Name))
	}
	if r.line > 0 {
		s += " (line " + strconv.Itoa(r.line) + ")"
	}
	return s
}

func wrong(message string) *event.Error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the demo script is wrong: " + message,
		Hint: "docs/guide/demo-scripts.md describes the format",
	}
}

func checkLanguages(text map[string]string) error {
	for lang := range text {
		if !slices.Contains(languages, lang) {
			return fmt.Errorf("there is no language %q; there are %s", clip(lang), strings.Join(languages, " and "))
		}
	}
	return nil
}

func compileRule(r *Rule, out *rule) (field string, err error) {
	groups, field, err := compileWhen(&r.When, out)
	if err != nil {
		return "when." + field, err
	}
	known := func(name string) bool { return slices.Contains(variables, name) || slices.Contains(groups, name) }
	if len(r.Reply) > maxPieces {
		return "reply", fmt.Errorf("there are %d pieces; %d are allowed", len(r.Reply), maxPieces)
	}
	for i := range r.Reply {
		p, field, err := compilePiece(&r.Reply[i], known)
		if err != nil {
			return "reply " + strconv.Itoa(i+1) + field, err
		}
		out.pieces = append(out.pieces, p)
		out.calls = out.calls || p.kind == model.ChunkCall
	}
	out.stop = r.Stop
	if out.stop == "" {
		out.stop = event.StopEndTurn
		if out.calls {
			out.stop = event.StopToolUse
		}
	}
	if r.Usage != nil {
		u := *r.Usage
		if min(u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
			return "usage", errors.New("must not be negative")
		}
		if u.Total == 0 {
			u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
		}
		out.usage = &u
	}
	if problem := r.Timing.check(); problem != "" {
		return "timing", errors.New(problem)
	}
	out.timing = r.Timing
	if r.Fault != nil {
		f := *r.Fault
		if field, problem := f.check(); problem != "" {
			return "fault." + field, errors.New(problem)
		}
		if f.needsCalls() && !out.calls {
			return "fault.kind", fmt.Errorf("%s needs a reply that calls a tool", f.Kind)
		}
		out.fault = &f
	}
	return "", nil
}

func (t Timing) check() string {
	switch {
	case t.FirstByte < 0 || t.Total < 0 || t.Rate < 0:
		return "must not be negative"
	case t.Total > 0 && t.Total < t.FirstByte:
		return "total is shorter than first_byte"
	}
	return ""
}

// compileWhen returns the names of the groups in the rule's patterns.
func compileWhen(w *When, out *rule) (groups []string, field string, err error) {
	for _, src := range w.User {
		re, err := pattern(src)
		if err != nil {
			return nil, "user", err
		}
		for i := 1; i <= re.NumSubexp(); i++ {
			groups = append(groups, strconv.Itoa(i))
		}
		for _, name := range re.SubexpNames() {
			if slices.Contains(variables, name) {
				return nil, "user", fmt.Errorf("a group is called %q, which ${%s} already means", name, name)
			}
			if name != "" {
				groups = append(groups, name)
			}
		}
		out.users = append(out.users, re)
	}
	if w.Language != "" && !slices.Contains(languages, w.Language) {
		return nil, "language", fmt.Errorf("there is no language %q; there are %s", clip(w.Language), strings.Join(languages, " and "))
	}
	switch w.Finds {
	case "", FindsArithmetic, FindsOperation, FindsTool:
	default:
		return nil, "finds", fmt.Errorf("%q cannot be found; there are %s, %s and %s",
			clip(string(w.Finds)), FindsArithmetic, FindsOperation, FindsTool)
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"tool", w.Tool}, {"missing", w.Missing}, {"after", w.After}} {
		if slices.Contains(list.names, "") {
			return nil, list.field, errors.New("a tool's name is empty")
		}
	}
	if len(w.Tool) > 0 && (w.Finds == FindsOperation || w.Finds == FindsTool) {
		return nil, "tool", fmt.Errorf("cannot stand beside finds: %s, which chooses the tool", w.Finds)
	}
	if len(w.After) == 0 && w.Failed != nil {
		return nil, "failed", errors.New("needs after: the tool whose result it is about")
	}
	if len(w.After) == 0 && w.Result != "" {
		return nil, "result", errors.New("needs after: the tool whose result it is about")
	}
	if w.Result != "" {
		if out.result, err = pattern(w.Result); err != nil {
			return nil, "result", err
		}
	}
	for _, n := range []struct {
		field string
		value int
		least int
	}{{"round", w.Round, AnyRound}, {"turn", w.Turn, 0}, {"cycle", w.Cycle, 0}, {"attempt", w.Attempt, 0}} {
		if n.value < n.least {
			return nil, n.field, errors.New("must not be negative")
		}
	}
	out.lang, out.finds = w.Language, w.Finds
	out.tool, out.missing, out.after = slices.Clone(w.Tool), slices.Clone(w.Missing), slices.Clone(w.After)
	if w.Failed != nil {
		failed := *w.Failed
		out.failed = &failed
	}
	out.round, out.turn, out.cycle, out.attempt = w.Round, w.Turn, w.Cycle, w.Attempt
	if out.round == 0 {
		out.round = 1
		if len(w.After) > 0 {
			out.round = AnyRound
		}
	}
	return groups, "", nil
}

func pattern(src string) (*regexp.Regexp, error) {
	if len(src) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; %d are allowed", len(src), maxPattern)
	}
	re, err := regexp.Compile("(?i)" + src)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression", clip(src))
	}
	return re, nil
}

func compilePiece(p *Piece, known func(string) bool) (out piece, field string, err error) {
	set := 0
	for _, is := range []bool{p.Thinking != "", p.Text != "", p.Call != "", p.Block != nil} {
		set += boolInt(is)
	}
	if set != 1 {
		return out, "", errors.New("needs exactly one of thinking, text, call and block")
	}
	if p.Call == "" && (len(p.Args) > 0 || p.ID != "") {
		return out, "", errors.New("args and id go with call")
	}
	text, field := p.Text, ".text"
	switch {
	case p.Block != nil:
		if _, ok := p.Block.(*event.ToolCall); ok {
			return out, ".block", errors.New("is a tool call; use call")
		}
		if len(p.Translations) > 0 {
			return out, ".block", errors.New("has no translations")
		}
		out.kind, out.whole = model.ChunkBlock, p.Block
		return out, "", nil
	case p.Thinking != "":
		out.kind, text, field = model.ChunkThinking, p.Thinking, ".thinking"
	case p.Text != "":
		out.kind = model.ChunkText
	default:
		out.kind, text, field = model.ChunkCall, p.Call, ".call"
		if len(p.Translations) > 0 {
			return out, field, errors.New("has no translations")
		}
		if out.id, err = parseTemplate(p.ID, known); err != nil {
			return out, ".id", err
		}
		if out.args, err = parseArguments(p.Args, known); err != nil {
			return out, ".args", err
		}
	}
	if err := checkLanguages(p.Translations); err != nil {
		return out, field, err
	}
	out.text = map[string]template{}
	for lang, s := range p.Translations {
		if out.text[lang], err = parseTemplate(s, known); err != nil {
			return out, field + "." + lang, err
		}
	}
	if out.text["en"], err = parseTemplate(text, known); err != nil {
		return out, field, err
	}
	return out, "", nil
}

func (p *piece) static() bool {
	for _, t := range p.text {
		if !t.static() {
			return false
		}
	}
	return p.id.static() && p.args.static()
}

func (p *piece) fill(s *scene, lang string) block {
	b := block{kind: p.kind, whole: p.whole}
	if p.kind == model.ChunkBlock {
		return b
	}
	t, ok := p.text[lang]
	if !ok {
		t = p.text["en"]
	}
	b.text = t.expand(s)
	if p.kind == model.ChunkCall {
		b.id = p.id.expand(s)
		b.args = p.args.expand(s)
	}
	return b
}

func (r *rule) blocks(s *scene, lang string) []block {
	out := make([]block, len(r.pieces))
	for i := range r.pieces {
		out[i] = r.pieces[i].fill(s, lang)
	}
	return out
}

// fix precomputes the answers of a rule without variables.
func (r *rule) fix(fixed int) {
	for i := range r.pieces {
		if !r.pieces[i].static() {
			return
		}
	}
	r.fixed = map[string]*answer{}
	for _, lang := range languages {
		r.fixed[lang] = newAnswer(r.blocks(nil, lang), fixed)
	}
}

func newAnswer(blocks []block, fixed int) *answer {
	a := &answer{chunks: chunksOf(blocks, fixed)}
	for i := range blocks {
		a.tokens += estimate(blocks[i].text) + estimate(blocks[i].args)
	}
	return a
}

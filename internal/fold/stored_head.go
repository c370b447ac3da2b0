package fold

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// storedHead is the head of a stored fold: the fold at the end of a run, without the older messages of the transcript. It
// is JSON, followed by the SHA-256 of that.
type storedHead struct {
	Version      int                     `json:"version"`
	Conversation string                  `json:"conversation"`
	Seq          int64                   `json:"seq"`
	Run          storedRun               `json:"run"`
	Turn         int                     `json:"turn"`
	Session      int                     `json:"session"`
	Begin        int64                   `json:"begin"`
	Spent        event.Spent             `json:"spent"`
	SpentKnown   bool                    `json:"spent_known"`
	State        map[string]string       `json:"state,omitempty"`
	Changed      int64                   `json:"changed"`
	Dated        bool                    `json:"dated"`
	OfRun        bool                    `json:"of_run,omitempty"`
	Setups       map[string]*storedSetup `json:"setups,omitempty"`
	Found        []string                `json:"found,omitempty"`
	Hidden       []storedRange           `json:"hidden,omitempty"`
	Past         storedPast              `json:"past"`
}

// storedRun is what is left of the run that ended.
type storedRun struct {
	ID      string            `json:"id"`
	Agent   string            `json:"agent"`
	Sticks  string            `json:"sticks,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Started time.Time         `json:"started"`
	Ended   time.Time         `json:"ended"`
	First   int64             `json:"first"`
}

// storedSetup is a setup of an agent. Its JSON stays as it is, byte by byte: a provider's cache depends on it.
type storedSetup struct {
	From         int          `json:"from,omitempty"`
	Instructions string       `json:"instructions,omitempty"`
	Tools        []storedTool `json:"tools,omitempty"`
}

// storedTool is a tool of a setup. A pointer tells no schema from an empty one.
type storedTool struct {
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Schema      *string `json:"schema,omitempty"`
	Strict      bool    `json:"strict,omitempty"`
}

// storeSetup converts a setup. It reports false if JSON cannot hold it unchanged.
func storeSetup(s *model.Setup) (*storedSetup, bool) {
	to := &storedSetup{From: s.From, Instructions: s.Instructions}
	ok := utf8.ValidString(s.Instructions)
	for i := range s.Tools {
		t := &s.Tools[i]
		tool := storedTool{Name: t.Name, Description: t.Description, Strict: t.Strict}
		if t.Schema != nil {
			tool.Schema = new(string(t.Schema))
		}
		ok = ok && utf8.ValidString(t.Name) && utf8.ValidString(t.Description) && utf8.Valid(t.Schema)
		to.Tools = append(to.Tools, tool)
	}
	return to, ok
}

// setup converts it back.
func (s *storedSetup) setup() model.Setup {
	to := model.Setup{From: s.From, Instructions: s.Instructions}
	for _, t := range s.Tools {
		spec := model.ToolSpec{Name: t.Name, Description: t.Description, Strict: t.Strict}
		if t.Schema != nil {
			spec.Schema = []byte(*t.Schema)
		}
		to.Tools = append(to.Tools, spec)
	}
	return to
}

// storedRange is a compaction. Its summary is in the transcript.
type storedRange struct {
	From int64   `json:"from"`
	To   int64   `json:"to"`
	Keep []int64 `json:"keep,omitempty"`
	Cut  bool    `json:"cut,omitempty"`
}

// storedPast is the transcript. Messages has its end, and the parts have what comes before that.
type storedPast struct {
	Older      int            `json:"older"`
	Parts      int            `json:"parts"`
	Sum        []byte         `json:"sum"`
	Bytes      int64          `json:"bytes"`
	Tokens     int64          `json:"tokens"`
	Uncounted  int64          `json:"uncounted,omitempty"`
	Served     []string       `json:"served,omitempty"`
	Messages   []byte         `json:"messages"`
	Counted    int64          `json:"counted,omitempty"`
	Covers     int            `json:"covers,omitempty"`
	Setups     []*storedSetup `json:"setups,omitempty"`
	SetupBytes int            `json:"setup_bytes,omitempty"`
}

// head encodes the fold. k says where the older messages are, and last are the others.
func (v *Conversation) head(conversation string, k *kept, last []event.Message) (_ []byte, err error) {
	r, t := v.Run, &v.Past
	h := storedHead{
		Version: StoredVersion, Conversation: conversation, Seq: k.seq, Turn: v.Turn, Session: v.Session, Begin: v.Begin,
		Spent: v.Spent, SpentKnown: v.SpentKnown, Found: v.Found,
		Run: storedRun{ID: r.ID, Agent: r.Agent, Sticks: r.Sticks(false), Labels: r.Labels, Started: r.Started, Ended: r.At, First: r.First},
		Past: storedPast{
			Older: k.messages, Parts: k.parts, Sum: k.sum[:], Bytes: k.bytes, Tokens: k.tokens, Served: k.served,
			Uncounted: v.uncounted(k.messages), Counted: v.gauge.tokens, Covers: v.gauge.messages, SetupBytes: t.Setups.bytes,
		},
	}
	if err := h.hold(v); err != nil {
		return nil, err
	}
	for i := range v.Hidden.ranges {
		if g := &v.Hidden.ranges[i]; g.Scope == "" {
			h.Hidden = append(h.Hidden, storedRange{g.From, g.To, g.keep, g.cut})
		}
	}
	for i := range last {
		if h.Past.Messages, err = appendMessage(h.Past.Messages, &last[i]); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false) // raw JSON stays as it is
	if err := to.Encode(&h); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), sum[:]...), nil
}

// hold sets the state and the setups. It returns an error if JSON cannot hold them unchanged.
func (h *storedHead) hold(v *Conversation) error {
	values := v.State.logged()
	h.State, h.Changed, h.Dated, h.OfRun = make(map[string]string, len(values)), v.State.version, v.State.dated, v.State.ofRun
	fits := true
	for k, raw := range values {
		fits = fits && utf8.ValidString(k) && utf8.Valid(raw)
		h.State[k] = string(raw)
	}
	h.Setups = make(map[string]*storedSetup, len(v.Setups))
	for name, s := range v.Setups {
		to, ok := storeSetup(s)
		h.Setups[name], fits = to, fits && ok && utf8.ValidString(name)
	}
	for i := range v.Past.Setups.List {
		to, ok := storeSetup(&v.Past.Setups.List[i])
		h.Past.Setups, fits = append(h.Past.Setups, to), fits && ok
	}
	if !fits {
		return errStored
	}
	return nil
}

// readHead decodes a head. ok is false if it is damaged, of another version or of another conversation.
func readHead(conversation string, data []byte) (h *storedHead, ok bool) {
	n := len(data) - sha256.Size
	if n < 0 || sha256.Sum256(data[:n]) != [sha256.Size]byte(data[n:]) {
		return nil, false
	}
	h = &storedHead{}
	if json.Unmarshal(data[:n], h) != nil || h.Version != StoredVersion || h.Conversation != conversation || len(h.Past.Sum) != sha256.Size {
		return nil, false
	}
	return h, true
}

// endsWith reports whether an event is the one with which the stored run ended. It differs where the conversation was
// removed and another one has its name.
func (h *storedHead) endsWith(e *event.Event) bool {
	_, ended := e.Body.(*event.RunEnded)
	return ended && e.Seq == h.Seq && e.Run == h.Run.ID && e.Time.Equal(h.Run.Ended)
}

// fold returns the fold at the end of a run; nil if the transcript cannot be read.
func (h *storedHead) fold(last *event.Event) *Conversation {
	p := &h.Past
	k := &kept{
		seq: h.Seq, messages: p.Older, parts: p.Parts, sum: [sha256.Size]byte(p.Sum), bytes: p.Bytes, tokens: p.Tokens, served: p.Served,
	}
	t := Transcript{kept: k, Setups: Setups{bytes: p.SetupBytes}}
	var r partReader
	var err error
	if t.Messages, err = r.messages(nil, string(p.Messages)); err != nil || len(t.Messages) == 0 {
		return nil
	}
	if k.messages > 0 {
		t.older = older{messages: k.messages, uncounted: p.Uncounted, in: k}
	}
	for _, s := range p.Setups {
		t.Setups.List = append(t.Setups.List, s.setup())
	}
	v := &Conversation{
		Last: h.Seq, Turn: h.Turn, Session: h.Session, Begin: h.Begin, Spent: h.Spent, SpentKnown: h.SpentKnown,
		Found: h.Found, Partial: true, Past: t, base: t, gauge: gauge{p.Counted, p.Covers},
		keeping: keeping{tried: h.Seq, weighed: t.Len()},
	}
	v.baseGauge = v.gauge
	var values map[string]json.RawMessage
	if len(h.State) > 0 {
		values = make(map[string]json.RawMessage, len(h.State))
	}
	for k, raw := range h.State {
		values[k] = json.RawMessage(raw)
	}
	v.State = newState(values)
	v.State.version, v.State.dated, v.State.ofRun = h.Changed, h.Dated, h.OfRun
	v.State.tell(values)
	for name, s := range h.Setups {
		if v.Setups == nil {
			v.Setups = make(map[string]*model.Setup, len(h.Setups))
		}
		v.Setups[name] = new(s.setup())
	}
	for _, g := range h.Hidden {
		v.Hidden.ranges = append(v.Hidden.ranges, Range{From: g.From, To: g.To, keep: g.Keep, cut: g.Cut, shown: true})
	}
	ended, _ := last.Body.(*event.RunEnded)
	v.Run = &Run{
		ID: h.Run.ID, Agent: h.Run.Agent, Labels: h.Run.Labels, Started: h.Run.Started, At: h.Run.Ended, First: h.Run.First,
		Ended: ended, Scopes: []*Scope{{Agent: cmp.Or(h.Run.Sticks, h.Run.Agent), Transcript: t, gauge: v.gauge}},
	}
	return v
}

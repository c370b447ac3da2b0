package event

// Setup records the system prompt and the tools under which a scope's next answers are
// given, for models that take changes of both inside a conversation. It is for the loop and
// for operators ([Operator]); no client is sent it.
//
// It says how they differ from those of the last Setup of the same agent (the event's
// author) before it. The first one of a session, and the first one behind a [Compacted] of
// the root agent's scope, differs from nothing and holds all.
type Setup struct {
	// Hidden says that what is in force from here on is not recorded, or was redacted. The
	// next Setup of the agent differs from nothing.
	Hidden bool `json:"hidden,omitempty"`
	// Base says that the setups before it do not count any more: it holds from the scope's
	// first message on.
	Base bool `json:"base,omitempty"`
	// Head and Tail are how many bytes of the earlier system prompt stay at its beginning and
	// at its end. Text stands between them.
	Head int    `json:"head,omitempty"`
	Tail int    `json:"tail,omitempty"`
	Text string `json:"text,omitempty"`
	// First and Last are how many of the earlier tools stay at the beginning and at the end.
	// Tools stand between them.
	First int         `json:"first,omitempty"`
	Last  int         `json:"last,omitempty"`
	Tools []SetupTool `json:"tools,omitempty"`
}

// SetupTool is a tool as a model is told of it. Schema is the text of a JSON schema, whose
// bytes count: a provider compares them.
type SetupTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schema      string `json:"schema,omitempty"`
	Strict      bool   `json:"strict,omitempty"`
}

// Kind implements [Body].
func (*Setup) Kind() Kind { return KindSetup }
func (*Setup) sealed()    {}

// Bytes is how much text the body holds.
func (b *Setup) Bytes() int {
	n := len(b.Text)
	for i := range b.Tools {
		t := &b.Tools[i]
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

func (w *encoder) setup(b *Setup) {
	if !w.open(b != nil, KindSetup) {
		return
	}
	w.boolOpt(`"hidden":`, b.Hidden)
	w.boolOpt(`"base":`, b.Base)
	w.intOpt(`"head":`, int64(b.Head))
	w.intOpt(`"tail":`, int64(b.Tail))
	w.strOpt(`"text":`, b.Text)
	w.intOpt(`"first":`, int64(b.First))
	w.intOpt(`"last":`, int64(b.Last))
	if len(b.Tools) > 0 {
		w.key(`"tools":`)
		w.buf = append(w.buf, '[')
		for i := range b.Tools {
			t := &b.Tools[i]
			w.buf = append(w.buf, '{')
			w.str(`"name":`, t.Name)
			w.strOpt(`"description":`, t.Description)
			w.strOpt(`"schema":`, t.Schema)
			w.boolOpt(`"strict":`, t.Strict)
			w.end()
		}
		w.trim()
		w.buf = append(w.buf, ']', ',')
	}
	w.end()
}

func (r *decoder) setup() *Setup {
	b := new(Setup)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "hidden":
			b.Hidden = r.Bool()
		case "base":
			b.Base = r.Bool()
		case "head":
			b.Head = r.Int()
		case "tail":
			b.Tail = r.Int()
		case "text":
			b.Text = r.String()
		case "first":
			b.First = r.Int()
		case "last":
			b.Last = r.Int()
		case "tools":
			for a := r.Array(); a.Next(); {
				b.Tools = append(b.Tools, r.setupTool())
			}
		default:
			o.Unknown()
		}
	}
	return b
}

func (r *decoder) setupTool() (t SetupTool) {
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "name":
			t.Name = r.String()
		case "description":
			t.Description = r.String()
		case "schema":
			t.Schema = r.String()
		case "strict":
			t.Strict = r.Bool()
		default:
			o.Unknown()
		}
	}
	return t
}

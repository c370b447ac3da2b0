package bound

import (
	"slices"
	"strings"
	"testing"
)

// book is an encoder of messages of words. A word that begins with "~" is thinking.
type book struct {
	chain Chain
	dst   []byte
	ends  []int
}

func (b *book) write(message string, stamps map[string]string) {
	for w := range strings.FieldsSeq(message) {
		from := len(b.dst)
		b.dst = append(b.dst, w+" "...)
		if strings.HasPrefix(w, "~") {
			b.chain.Think(from, len(b.dst), w, stamps[w])
		}
	}
	b.chain.Close(b.dst)
	b.ends = append(b.ends, len(b.dst))
}

func (b *book) sent(head string) (Kept, string) {
	k := b.chain.Keep([]byte(head))
	var out []byte
	from := 0
	for _, s := range k.Drop {
		out = append(out, b.dst[from:s.From]...)
		from = s.To
	}
	return k, string(append(out, b.dst[from:]...))
}

// answer stamps the thinking of an answer to the request of k.
func (k Kept) answer(message string, stamps map[string]string) {
	s := k.Stamper()
	var before []byte
	for w := range strings.FieldsSeq(message) {
		if strings.HasPrefix(w, "~") {
			stamps[w] = s.Stamp(before)
			s.Made(w)
			continue
		}
		before = append(before, w+" "...)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	stamps := map[string]string{}
	talk := func(head string, messages ...string) (Kept, string) {
		b := &book{}
		b.chain.Bind()
		for _, m := range messages {
			b.write(m, stamps)
		}
		return b.sent(head)
	}
	ask := func(head, answer string, messages ...string) {
		k, _ := talk(head, messages...)
		k.answer(answer, stamps)
	}
	ask("x", "~1 one ~2 two", "hello")
	ask("x", "~3 three", "hello", "~1 one ~2 two", "more")
	ask("y", "~4 four", "hello", "~1 one ~2 two", "more", "~3 three", "other")
	ask("y", "~5 five", "hello", "~1 one ~2 two", "more", "~3 three", "other", "~4 four", "go")
	all := []string{"hello", "~1 one ~2 two", "more", "~3 three", "other", "~4 four", "go", "~5 five", "end"}
	for name, c := range map[string]struct {
		head     string
		messages []string
		want     string
	}{
		"as it was":             {"x", all[:5], "hello ~1 one ~2 two more ~3 three other "},
		"another head":          {"z", all[:5], "hello one two more three other "},
		"what was made since":   {"y", all, "hello one two more three other ~4 four go ~5 five end "},
		"back again":            {"x", all, "hello ~1 one ~2 two more ~3 three other four go five end "},
		"the oldest are away":   {"x", []string{"hello", "one two", "more", "~3 three", "other"}, "hello one two more ~3 three other "},
		"one between is away":   {"x", []string{"hello", "~1 one two", "more", "~3 three", "other"}, "hello one two more ~3 three other "},
		"a block has changed":   {"x", []string{"hello", "~1 ONE ~2 two", "more", "~3 three", "other"}, "hello ~1 ONE two more three other "},
		"a foreign one between": {"x", []string{"hello", "~1 one ~2 two", "more", "~f ~3 three", "other"}, "hello ~1 one ~2 two more ~3 three other "},
		"the beginning is away": {"x", []string{"more", "~3 three", "other"}, "more three other "},
		"nothing":               {"x", nil, ""},
	} {
		if _, got := talk(c.head, c.messages...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A chain that is cut, grows or changes its head gives the same result as a new chain.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	stamps := map[string]string{}
	warm := &book{}
	warm.chain.Bind()
	var messages []string
	for i, head := range []string{"x", "x", "y", "x", "x", "y", "y"} {
		if i == 4 {
			warm.chain.Cut(warm.ends[2])
			warm.dst, warm.ends, messages = warm.dst[:warm.ends[2]], warm.ends[:3], messages[:3]
		}
		word := string(rune('a' + i))
		for _, m := range []string{"ask " + word, "~" + word + " " + word} {
			warm.write(m, stamps)
			messages = append(messages, m)
			cold := &book{}
			cold.chain.Bind()
			for _, m := range messages {
				cold.write(m, stamps)
			}
			k, got := warm.sent(head)
			k2, want := cold.sent(head)
			if got != want || k.Sent != k2.Sent || !slices.Equal(k.Drop, k2.Drop) {
				t.Fatalf("%d: warm %q, cold %q", i, got, want)
			}
			if strings.HasPrefix(m, "ask") {
				k.answer("~"+word+" "+word, stamps)
				stamps["~"+word] = k.Stamper().Stamp(nil)
			}
		}
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	for _, binds := range []bool{true, false} {
		stamps := map[string]string{}
		b := &book{}
		if binds {
			b.chain.Bind()
		}
		b.write("hello", stamps)
		k, _ := b.sent("x")
		k.answer("~1 one", stamps)
		b.write("~1 one", stamps)
		b.write("more", stamps)
		if _, got := b.sent("x"); got != "hello ~1 one more " {
			t.Errorf("binds %v: before %q", binds, got)
		}
		b.chain.Refuse()
		k, got := b.sent("x")
		if got != "hello one more " || k.Sent != 0 {
			t.Errorf("binds %v: %q", binds, got)
		}
		k.answer("~2 two", stamps)
		b.write("~2 two", stamps)
		if _, got := b.sent("x"); got != "hello one more ~2 two " {
			t.Errorf("binds %v: then %q", binds, got)
		}
	}
}

func TestStampsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "x", strings.Repeat("!", 32), strings.Repeat("A", 31), strings.Repeat("A", 33)} {
		if _, ok := parse(s); ok {
			t.Errorf("%q is a stamp", s)
		}
	}
}

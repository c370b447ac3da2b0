package secret_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/secret"
)

// However a secret is cut into pieces, and the pieces into parts of several kinds, it does not stand in what is shown: not in
// all of it, and not in the parts of one kind read without the others.
func TestMaskInParts(t *testing.T) {
	t.Parallel()
	const value = `tok/"7Hq2 x9Wv-4Kd8`
	mask := secret.NewMask(secret.New(value))
	var said []string
	for _, s := range spellings(value) {
		said = append(said, s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"", "it is ", "tok", value[:7]}).Draw(rt, "before") + rapid.SampledFrom(said).Draw(rt, "said") +
			rapid.SampledFrom([]string{"", " is it", "tok/", " "}).Draw(rt, "after")
		var all strings.Builder
		var kinds [3]strings.Builder
		var kindOf []int
		sent := 0
		in := mask.Parts(func(id int, text string) bool {
			all.WriteString(text)
			kinds[kindOf[id]].WriteString(text)
			sent++
			return true
		})
		between := rapid.SampledFrom([]string{"", "", "hm", "to", " "}).Draw(rt, "between")
		kindOf = []int{0}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 12)).Draw(rt, "piece")
			in.Next(len(kindOf)-1, kindOf[len(kindOf)-1], rest[:n])
			rest = rest[n:]
			switch rapid.IntRange(0, 3).Draw(rt, "then") {
			case 0:
				kindOf = append(kindOf, rapid.IntRange(0, 1).Draw(rt, "kind"))
			case 1: // something else between two parts of one kind
				if between != "" || rapid.Bool().Draw(rt, "mark") {
					kindOf = append(kindOf, 2)
					in.Next(len(kindOf)-1, 2, between)
					kindOf = append(kindOf, kindOf[len(kindOf)-2])
				}
			}
		}
		in.End()
		for what, shown := range map[string]string{"all": all.String(), "kind 0": kinds[0].String(), "kind 1": kinds[1].String(), "kind 2": kinds[2].String()} {
			if hidden := mask.Hide(shown); whole(mask, shown) {
				rt.Errorf("%s of %q shows %q, of which the mask leaves %q", what, text, shown, hidden)
			}
		}
	})
}

// whole reports whether a secret stands in a text, not only the beginning of one at its end.
func whole(mask *secret.Mask, text string) bool { return mask.Hide(text+"\x01!") != text+"\x01!" }

// What is held back is not much, and in the end everything else is shown.
func TestMaskedPartsHoldLittleBack(t *testing.T) {
	t.Parallel()
	mask := secret.NewMask(secret.New("ghp_Q7n2vTz9LmX4"))
	for _, c := range []struct {
		name  string
		parts []string // of kinds 0 and 1 in turn
		// early is what is shown before the end, want is all.
		early, want string
	}{
		{"plain words", []string{"the weather", " is fine"}, "the weather is fine", "the weather is fine"},
		{"a beginning that is none", []string{"a ghp_", "ost"}, "a ghp_ost", "a ghp_ost"},
		{"a beginning at the end", []string{"a ", "ghp_"}, "a ", "a ghp_"},
		{"in two parts", []string{"a ghp_Q7n", "2vTz9LmX4 b"}, "a [redacted][redacted] b", "a [redacted][redacted] b"},
		{"in two parts with one between", []string{"a ghp_", "hm", "Q7n2vTz9LmX4 b"}, "a ghp_hm[redacted] b", "a ghp_hm[redacted] b"},
		{"in four", []string{"gh", "p_Q7", "n2vTz", "9LmX4 b"}, "[redacted][redacted][redacted][redacted] b", "[redacted][redacted][redacted][redacted] b"},
		{"most of it", []string{"ghp_Q7n2v", "weather"}, "[redacted]weather", "[redacted]weather"},
		{"an empty part", []string{"ghp_", "", "is it"}, "ghp_is it", "ghp_is it"},
	} {
		shown := ""
		in := mask.Parts(func(_ int, text string) bool { shown += text; return true })
		for i, text := range c.parts {
			in.Next(i, i%2, text)
		}
		if shown != c.early {
			t.Errorf("%s: %q is shown before the end, want %q", c.name, shown, c.early)
		}
		if in.End(); shown != c.want {
			t.Errorf("%s: %q is shown, want %q", c.name, shown, c.want)
		}
	}
}

// A text of white space behind the beginning of a secret is held back in bounds, and what follows is still hidden.
func TestMaskedPartsAreBounded(t *testing.T) {
	t.Parallel()
	const value = "ghp_Q7n2vTz9LmX4"
	mask := secret.NewMask(secret.New(value))
	var shown strings.Builder
	in := mask.Parts(func(_ int, text string) bool { shown.WriteString(text); return true })
	in.Next(0, 0, "it is "+value[:3])
	blank := strings.Repeat(" \n\\", 1000)
	for range 300 {
		in.Next(0, 0, blank)
	}
	in.Next(0, 0, value[3:]+".")
	in.End()
	if shown.String() != "it is [redacted]." {
		t.Errorf("%d bytes are shown: %.100q", shown.Len(), shown.String())
	}
	shown.Reset()
	in = mask.Parts(func(_ int, text string) bool { shown.WriteString(text); return true })
	in.Next(0, 0, "a "+value[:3])
	for range 300 {
		in.Next(0, 0, blank)
	}
	in.Next(0, 0, "ost.")
	in.End()
	if text := shown.String(); !strings.HasPrefix(text, "a ghp") || !strings.HasSuffix(text, "ost.") || len(text) > 2*len(blank)+10_000 {
		t.Errorf("%d bytes of white space are kept: %.100q", shown.Len(), text)
	}
}

// Texts that a reader has one by one, such as lines of progress, hide what goes on from the ones before.
func TestMaskBehind(t *testing.T) {
	t.Parallel()
	const value = "ghp_Q7n2vTz9LmX4"
	mask := secret.NewMask(secret.New(value))
	rapid.Check(t, func(rt *rapid.T) {
		tail, shown := "", ""
		for rest := "it is " + value + " and more"; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(rt, "piece")
			hidden, next := mask.Behind(tail, rest[:n])
			tail, shown, rest = next, shown+mask.Hide(hidden), rest[n:]
		}
		if strings.Contains(shown, value) || !strings.HasSuffix(shown, " and more") || !strings.HasPrefix(shown, "it is ") {
			rt.Errorf("%q is shown", shown)
		}
	})
	if hidden, tail := (*secret.Mask)(nil).Behind("", "x"); hidden != "x" || tail != "" {
		t.Errorf("without secrets it is %q behind %q", hidden, tail)
	}
}

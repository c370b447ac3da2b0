package braid

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/braidrun/braid/internal/fold"
)

// FindTool is the tool with which a model looks for others; see [SearchTools].
const FindTool = "find_tools"

// ToolSearch says when a model looks for its tools instead of being shown all of them.
type ToolSearch struct {
	// Above is how many tools a model is shown without looking for them; default 20. An agent
	// with no more than that shows them all.
	Above int
	// Always names tools that are shown in any case. Agents that are used as tools are, too.
	Always []string
	// Results is how many tools one search finds at most; default 5.
	Results int
}

// SearchTools spares an agent with many tools their schemas: where it has more than
// s.Above, its model is shown the tool [FindTool] instead, and those that it has found
// with it. It may call any other by its name all the same.
//
// What is found stays shown for the rest of the session, behind what was shown before, so that a
// provider's cache keeps what it has up to there. It is in the log
// ([event.StepEnded], [event.RunStarted]), so that every later run, wherever it is
// driven, shows the same.
func SearchTools(s ToolSearch) Part {
	return partFunc(func(a *Agent) error {
		s.Above, s.Results = or(s.Above, 20), or(s.Results, 5)
		a.set.search = &toolSearch{Above: s.Above, Always: s.Always, Results: s.Results}
		return Func(FindTool,
			"You have more tools than are listed. This one finds them by what they are for; those that it finds you can call from then on. "+
				"Look here before you say that something cannot be done.",
			a.set.findTools, Pure()).attach(a)
	})
}

// toolSearch is a [ToolSearch] with its defaults filled in.
type toolSearch struct {
	Above   int
	Always  []string
	Results int
	// index is of the last offer that was searched.
	index atomic.Pointer[toolIndex]
}

type findIn struct {
	Query string `json:"query" jsonschema:"what the tool is to do, in a few words, or its name"`
}

// findTools is the tool.
func (a *driveAgent) findTools(ctx context.Context, in findIn) (Output, error) {
	o := a.current()
	index := a.search.index.Load()
	if index == nil || index.offer != o {
		index = newToolIndex(o)
		a.search.index.Store(index)
	}
	found := index.find(in.Query, a.search.Results, func(i int) bool { return a.search.always(o, i) || a.denies(o.names[i]) })
	if len(found) == 0 {
		return TextOutput("No tool fits. Try other words for what it is to do."), nil
	}
	var sb strings.Builder
	sb.WriteString("You can call these now:")
	names := make([]string, len(found))
	for n, i := range found {
		names[n] = o.names[i]
		sb.WriteString("\n- " + o.names[i] + ": " + firstSentence(o.specs[i].Description))
	}
	if c := CallOf(ctx); c != nil {
		c.mu.Lock()
		if !c.closed {
			c.rarely().found = names
		}
		c.mu.Unlock()
	}
	return TextOutput(sb.String()), nil
}

// on reports whether there are so many tools that a model looks for them.
func (t *toolSearch) on(o *offer) bool { return t != nil && len(o.tools)-1 > t.Above }

// always reports whether a tool is shown without having been found.
func (t *toolSearch) always(o *offer, i int) bool {
	return o.names[i] == FindTool || slices.Contains(t.Always, o.names[i]) || o.child(o.names[i]) != nil
}

// shownTools is what the scope's model is shown of an offer. It grows at its end only, as
// long as the offer stays the same.
type shownTools struct {
	offer *offer
	specs []ToolSpec
	// found counts the scope's found tools that have been looked at.
	found int
}

// shown gives the tools that the scope's model is shown.
func (a *driveAgent) shown(s *fold.Scope, own *thread, o *offer) []ToolSpec {
	if a.search == nil {
		return o.specs
	}
	many, t := a.search.on(o), own.shown
	if t == nil || t.offer != o {
		t = &shownTools{offer: o}
		own.shown = t
		for i := range o.specs {
			if many && a.search.always(o, i) || !many && o.names[i] != FindTool {
				t.specs = append(t.specs, o.specs[i])
			}
		}
	}
	if many {
		for _, name := range s.Found[t.found:] {
			if i := o.find(name); i >= 0 && !a.search.always(o, i) {
				t.specs = append(t.specs, o.specs[i])
			}
		}
	}
	t.found = len(s.Found)
	return slices.Clip(t.specs)
}

// foundBy lists the tools that a call has brought to light: those that it looked for, or the
// called one, where the model knew it without being shown.
func (w *work) foundBy(o *offer) []string {
	c := w.call
	if w.agent.search == nil {
		return nil
	}
	if found := c.rare().found; len(found) > 0 {
		return found
	}
	i := o.find(c.Name)
	if i < 0 || !w.agent.search.on(o) || w.agent.search.always(o, i) || slices.Contains(w.scope.Found, c.Name) {
		return nil
	}
	return []string{c.Name}
}

// toolIndex finds the tools of an offer by words: the more often a word stands in one, and the
// rarer it is among all, the more it counts, and less in long texts (the BM25 formula of Robertson
// and others).
type toolIndex struct {
	offer *offer
	words []map[string]float64
	size  []float64
	mean  float64
	in    map[string]int
}

func newToolIndex(o *offer) *toolIndex {
	t := &toolIndex{offer: o, in: map[string]int{}}
	for i := range o.specs {
		spec := &o.specs[i]
		words := map[string]float64{}
		add := func(text string, weight float64) {
			for _, w := range wordsOf(text) {
				words[w] += weight
			}
		}
		add(spec.Name, 3)
		add(spec.Description, 1)
		var schema struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		}
		if json.Unmarshal(spec.Schema, &schema) == nil {
			for name, p := range schema.Properties {
				add(name, 1)
				add(p.Description, 0.5)
			}
		}
		size := 0.0
		for w, n := range words {
			size += n
			t.in[w]++
		}
		t.words, t.size = append(t.words, words), append(t.size, size)
		t.mean += size / float64(len(o.specs))
	}
	return t
}

// find gives the places of the tools that fit best, the best first.
func (t *toolIndex) find(query string, most int, skip func(int) bool) []int {
	const k, b = 1.2, 0.75
	type hit struct {
		place int
		score float64
	}
	var hits []hit
	asked := wordsOf(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for i, words := range t.words {
		if skip(i) {
			continue
		}
		score := 0.0
		for _, w := range asked {
			if n := words[w]; n > 0 {
				rare := math.Log(1 + (float64(len(t.words))-float64(t.in[w])+0.5)/(float64(t.in[w])+0.5))
				score += rare * n * (k + 1) / (n + k*(1-b+b*t.size[i]/t.mean))
			}
		}
		if t.offer.names[i] == strings.TrimSpace(query) {
			score = math.Inf(1)
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		default:
			return 0
		}
	})
	var places []int
	for _, h := range hits[:min(most, len(hits))] {
		places = append(places, h.place)
	}
	return places
}

// wordsOf takes a text or a name apart: getPricing and get_pricing are two words, and scripts without spaces are read in pairs of letters.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, stem(strings.ToLower(string(word))))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			if unicode.In(before, unicode.Han, unicode.Hiragana, unicode.Katakana) {
				words = append(words, string([]rune{before, r}))
			}
			words = append(words, string(r))
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		default:
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				end()
			}
			word = append(word, r)
		}
		before = r
	}
	end()
	return words
}

// stem cuts off the English endings by which one word differs in a name and in a question.
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-len(end)]
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// firstSentence is enough of a description to choose by.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if short := []rune(text); len(short) > 200 {
		text = string(short[:199]) + "…"
	}
	return text
}

// orTheyAreFound says what there is instead of a tool that there is not.
func orTheyAreFound(agent *driveAgent, o *offer) string {
	if agent.search.on(o) {
		return "find one with " + FindTool
	}
	return "the tools are: " + list(slices.DeleteFunc(slices.Clone(o.names), agent.denies))
}

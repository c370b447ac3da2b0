package event_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// docs/vocabulary.md shows what every foreign event becomes. Its tables are made
// from the same examples and recordings as the proof, so they cannot go stale:
// go test ./event -update writes them anew.
const vocabularyDocument = "../docs/vocabulary.md"

const (
	vocabularyBegin = "<!-- generated: go test ./event -update -->\n"
	vocabularyEnd   = "<!-- end of what is generated -->\n"
)

// seedRows are the examples of seeds whose wires are still to be built. Each wire that exists has its own tests.
func seedRows() []vocabularyRow { return adkRows() }

// tallies counts the lines of the recordings, the program's output and the
// dialogs apart: the dialogs repeat some of the output.
func tallies(t *testing.T) (stdout, dialog claudeTally) {
	t.Helper()
	stdout, dialog = claudeTally{}, claudeTally{}
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		into := stdout
		if r.dialog {
			into = dialog
		}
		for kind, c := range r.tally {
			sum := into.of(kind)
			sum.lines += c.lines
			for body, n := range c.became {
				sum.became[body] += n
			}
		}
	}
	return stdout, dialog
}

func TestVocabularyDocument(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile(vocabularyDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(have), vocabularyBegin)
	_, after, ended := strings.Cut(rest, vocabularyEnd)
	if !ok || !ended {
		t.Fatalf("%s has no place for what is generated", vocabularyDocument)
	}
	var b strings.Builder
	b.WriteString(before + vocabularyBegin)
	seedTable(&b)
	recordingTable(t, &b)
	wordTables(&b)
	b.WriteString(vocabularyEnd + after)
	generated(t, vocabularyDocument, []byte(b.String()))
}

func seedTable(b *strings.Builder) {
	for _, seed := range []struct{ number, title string }{
		{"5", "Seed 5: ADK events"},
	} {
		fmt.Fprintf(b, "\n### %s\n\n| heading | foreign event | becomes | written back |\n|---|---|---|---|\n", seed.title)
		for _, row := range seedRows() {
			if row.seed != seed.number {
				continue
			}
			var bodies []string
			for _, e := range row.want {
				bodies = append(bodies, bodyLabel(e.Body))
			}
			back := "as it came"
			switch {
			case row.out == nil:
			case len(row.out) == 0:
				back = "never: " + row.why
			default:
				back = "yes: " + row.why
			}
			became := strings.Join(bodies, ", ")
			if became == "" {
				became = "nothing"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", row.heading, row.what, became, back)
		}
	}
}

// bodyLabel is a body's kind with the blocks that it holds.
func bodyLabel(body event.Body) string {
	var blocks []event.Block
	switch b := body.(type) {
	case *event.AssistantMessage:
		blocks = b.Content
	case *event.UserMessage:
		blocks = b.Content
	}
	if blocks == nil {
		return "`" + string(body.Kind()) + "`"
	}
	kinds := make([]string, len(blocks))
	for i, b := range blocks {
		kinds[i] = string(b.BlockKind())
	}
	return fmt.Sprintf("`%s` (%s)", body.Kind(), strings.Join(kinds, ", "))
}

func recordingTable(t *testing.T, b *strings.Builder) {
	t.Helper()
	stdout, dialog := tallies(t)
	names := sortedKeys(stdout)
	for _, n := range sortedKeys(dialog) {
		if stdout[n] == nil {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		aHost, bHost := strings.HasPrefix(a, "host "), strings.HasPrefix(b, "host ")
		if aHost != bHost {
			if aHost {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	b.WriteString("\n### The recordings of the Claude program\n\n" +
		"`lines` counts the files of the program's output, `in dialogs` those that hold both directions;\n" +
		"lines that the host wrote begin with `host`. The numbers behind a body are its events in both.\n\n" +
		"| line | lines | in dialogs | becomes |\n|---|---|---|---|\n")
	for _, n := range names {
		var became []string
		bodies := map[event.Kind]int{}
		for _, tally := range []claudeTally{stdout, dialog} {
			for kind, count := range tally.of(n).became {
				bodies[kind] += count
			}
		}
		for _, kind := range sortedKinds(bodies) {
			became = append(became, fmt.Sprintf("`%s` %d", kind, bodies[kind]))
		}
		cell := strings.Join(became, ", ")
		if why, ok := claudeNoEvent[n]; ok {
			cell = "no event: " + why
		}
		fmt.Fprintf(b, "| `%s` | %d | %d | %s |\n", n, stdout.of(n).lines, dialog.of(n).lines, cell)
	}
}

// wordTables shows the words for why something ended or failed.
func wordTables(b *strings.Builder) {
	b.WriteString("\n### Stop reasons\n\nWhat is not listed stays as it is, both ways.\n\n" +
		"| form | theirs | ours | the loop's reason |\n|---|---|---|---|\n")
	for _, form := range []struct {
		name  string
		words []stopWord
	}{{"Anthropic", anthropicStops}, {"ADK", adkStops}} {
		for _, w := range form.words {
			fmt.Fprintf(b, "| %s | `%s` | `%s` | `%s` |\n", form.name, w.theirs, w.ours, w.why)
		}
	}
	b.WriteString("\n### How a turn of the Claude program ends\n\n" +
		"| terminal_reason | run | stop | the loop's reason | error |\n|---|---|---|---|---|\n")
	for _, reason := range sortedKeys(claudeEnds) {
		end := claudeEnds[reason]
		stop, kind := "the program's own", "none, or by HTTP status where `is_error`"
		if end.stop != "" {
			stop = "`" + string(end.stop) + "`"
		}
		if end.kind != "" {
			kind = "`" + string(end.kind) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | `%s` | %s |\n", reason, end.status, stop, end.why, kind)
	}
	b.WriteString("\n| error of an assistant line | kind |\n|---|---|\n")
	for _, word := range sortedKeys(claudeErrors) {
		fmt.Fprintf(b, "| `%s` | `%s` |\n", word, claudeErrors[word])
	}
}

// sortedKinds puts what is most often said first.
func sortedKinds(n map[event.Kind]int) []event.Kind {
	kinds := make([]event.Kind, 0, len(n))
	for k := range n {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b event.Kind) int {
		if n[a] != n[b] {
			return n[b] - n[a]
		}
		return strings.Compare(string(a), string(b))
	})
	return kinds
}

// The list of lines that say nothing is closed, and holds nothing that no line
// needs any more.
func TestVocabularyNoEventListIsUsed(t *testing.T) {
	t.Parallel()
	stdout, dialog := tallies(t)
	for name, why := range claudeNoEvent {
		if stdout.of(name).lines+dialog.of(name).lines == 0 {
			t.Errorf("%s is on the list, and no recording has it", name)
		}
		if why == "" {
			t.Errorf("%s is on the list without a reason", name)
		}
	}
}

// Every body and every block of the vocabulary is said by somebody, or its reason
// to be is written here.
func TestVocabularyIsUsed(t *testing.T) {
	t.Parallel()
	ours := map[string]string{
		string(event.KindSetup):             "no seed has it: only the loop reads it, to repeat a request that the provider compares",
		string(event.KindDecided):           "no seed has it: agents without a model are Braid's own, and so is that a condition is called once",
		string(event.KindRedacted):          "no seed has it: hiding what was said is Braid's own",
		string(event.BlockCitation):         "no seed and no recording shows one: Bedrock's and Gemini's answers have them",
		string(event.BlockRedactedThinking): "ADK has none and no recording shows one: Claude's answers have them",
	}
	said := map[string]bool{}
	var blocks func([]event.Block)
	blocks = func(bs []event.Block) {
		for _, b := range bs {
			said[string(b.BlockKind())] = true
			if r, ok := b.(*event.ToolResult); ok {
				blocks(r.Content)
			}
		}
	}
	see := func(events []event.Event) {
		for _, e := range events {
			said[string(e.Body.Kind())] = true
			switch b := e.Body.(type) {
			case *event.AssistantMessage:
				blocks(b.Content)
			case *event.UserMessage:
				blocks(b.Content)
			case *event.StepEnded:
				if b.Result != nil {
					blocks([]event.Block{b.Result})
				}
			}
		}
	}
	for _, row := range seedRows() {
		see(row.want)
	}
	for _, name := range recordingNames(t) {
		see(readRecording(t, name).events)
	}
	all := []string{}
	for _, k := range []event.Kind{
		event.KindRunStarted, event.KindRunEnded, event.KindUserMessage, event.KindAssistantMessage,
		event.KindStepBegun, event.KindStepEnded, event.KindScopeOpened, event.KindScopeClosed,
		event.KindStateChanged, event.KindArtifactSaved, event.KindTransferred, event.KindEscalated, event.KindDecided,
		event.KindAsked, event.KindAnswered, event.KindFault, event.KindNotice, event.KindCompacted,
		event.KindRedacted, event.KindSetup, event.KindTextDelta, event.KindThinkingDelta, event.KindToolInputDelta,
		event.KindToolProgress,
	} {
		all = append(all, string(k))
	}
	for _, k := range []event.BlockKind{
		event.BlockText, event.BlockThinking, event.BlockRedactedThinking, event.BlockImage,
		event.BlockDocument, event.BlockMedia, event.BlockToolCall, event.BlockToolResult,
		event.BlockCitation, event.BlockCode, event.BlockCodeResult,
	} {
		all = append(all, string(k))
	}
	for _, k := range all {
		switch why := ours[k]; {
		case !said[k] && why == "":
			t.Errorf("nobody says %s", k)
		case said[k] && why != "":
			t.Errorf("%s is said after all; its exception is not needed: %s", k, why)
		}
	}
}

package demo

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func guide(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/guide/demo-scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheGuidesScriptsAreValid(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(guide(t), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d scripts", len(blocks))
	}
	for _, b := range blocks {
		s, err := Parse("guide", []byte(b[1]))
		if err == nil {
			_, err = New(s)
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
	}
}

// The guide has each word of the format.
func TestTheGuideIsComplete(t *testing.T) {
	t.Parallel()
	words := append(faultKinds(), Scripts()...)
	words = append(words, string(FindsArithmetic), string(FindsOperation), string(FindsTool))
	for _, v := range variables {
		words = append(words, "${"+v+"}")
	}
	for _, where := range []string{"%", "rules: [{%}]", "rules: [{when: {%}}]", "rules: [{reply: [{%}]}]", "rules: [{usage: {%}}]", "rules: [{timing: {%}}]", "rules: [{fault: {%}}]"} {
		// The words come from the parser.
		_, err := Parse("x", []byte(strings.Replace(where, "%", "zzz: 1", 1)))
		if err == nil {
			t.Fatalf("%s was taken", where)
		}
		_, list, _ := strings.Cut(err.Error(), "there are ")
		list, _, _ = strings.Cut(list, " (")
		words = append(words, strings.Split(list, ", ")...)
	}
	text := guide(t)
	for _, w := range words {
		if !strings.Contains(text, "`"+w+"`") && !strings.Contains(text, "`demo:"+w+"`") {
			t.Errorf("the guide does not tell what %q is", w)
		}
	}
	if len(words) < 70 {
		t.Errorf("only %d words were looked for", len(words))
	}
}

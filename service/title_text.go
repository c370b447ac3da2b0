package service

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/braidrun/braid/internal/unseen"
)

const (
	// mostTitleSigns bounds the length of a generated title, in user-perceived characters.
	mostTitleSigns = 50
	// mostTitleText bounds how much of either message the model is shown, in bytes.
	mostTitleText = 2000
)

// begins returns the beginning of a text, without closing tags.
func begins(text string) string {
	if len(text) > mostTitleText {
		text = strings.ToValidUTF8(text[:mostTitleText], "")
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "</", "<\u200b/")
}

// titleMarks are characters that models put around a title although they are asked not to.
const titleMarks = " \t#*_`~\"'“”„‟‘’‚«»‹›「」『』《》<>[]()"

// cleanTitle makes a title from a model's output: one line, without marks around it, and not too
// long.
func cleanTitle(text string) string {
	line := ""
	for l := range strings.Lines(text) {
		if line = strings.Trim(oneLine(l), titleMarks); line != "" {
			break
		}
	}
	for _, word := range []string{"title:", "タイトル:", "タイトル："} {
		if len(line) >= len(word) && strings.EqualFold(line[:len(word)], word) {
			line = strings.Trim(line[len(word):], titleMarks)
		}
	}
	if strings.Count(line, "(") > strings.Count(line, ")") { // its end was trimmed
		line += ")"
	}
	return shorten(strings.TrimRight(line, ".。"))
}

// oneLine removes characters that are not text and turns all white space into single spaces.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || unicode.IsSpace(r):
			return ' '
		case unseen.Rune(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)), " ")
}

// shorten makes one line of at most mostTitleSigns user-perceived characters, and cuts between
// words if it can.
func shorten(text string) string {
	line := oneLine(text)
	cut, state, rest := 0, -1, line
	for n := 1; rest != ""; n++ {
		var sign string
		sign, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if n > mostTitleSigns {
			short := line[:cut]
			if i := strings.LastIndexByte(short, ' '); i > len(short)/2 {
				short = short[:i]
			}
			return strings.TrimRight(short, " ,.;:-") + "…"
		}
		if n < mostTitleSigns {
			cut += len(sign)
		}
	}
	return line
}

package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// Parse parses a SKILL.md: the front matter between two lines of three hyphens, and the body below.
// folder is the name of the skill's folder. It may be empty if that is not known; then the name is not
// compared.
//
// It is strict about silent mistakes: a missing or duplicate key, a value of the wrong type, a name
// that differs from the folder's. It ignores unknown keys and lists them in [Skill.Ignored]. Errors
// are [*event.Error]s of kind ErrInvalid or ErrTooLarge.
func Parse(folder string, data []byte) (s Skill, body string, err error) {
	if len(data) > MaxFile {
		return Skill{}, "", tooLarge(File, MaxFile)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return Skill{}, "", invalid(File+" is no text", "save it as UTF-8")
	}
	front, body, err := split(strings.TrimPrefix(string(data), "\ufeff"))
	if err != nil {
		return Skill{}, "", err
	}
	if len(front) > MaxFrontMatter {
		return Skill{}, "", tooLarge("the front matter of "+File, MaxFrontMatter)
	}
	if s, err = read(front); err != nil {
		return Skill{}, "", err
	}
	if folder != "" && s.Name != folder {
		return Skill{}, "", invalid(
			fmt.Sprintf("its name is %q and its folder is another", shown(s.Name)), "give both the same name",
		)
	}
	return s, body, nil
}

// split separates the front matter from the body.
func split(text string) (front, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", "", invalid(File+" does not begin with front matter", "begin it with a line of three hyphens, name and description")
	}
	for at := 0; at < len(rest); {
		line, _, found := strings.Cut(rest[at:], "\n")
		end := at + len(line)
		if found {
			end++
		}
		if strings.TrimRight(line, " \t\r") == "---" {
			return rest[:at], strings.TrimSpace(rest[end:]), nil
		}
		at = end
	}
	return "", "", invalid("the front matter of "+File+" does not end", "end it with a line of three hyphens")
}

// read parses the front matter.
func read(front string) (Skill, error) {
	dec := yaml.NewDecoder(strings.NewReader(front))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return Skill{}, invalid("the front matter is empty", "give it a name and a description")
	case err != nil:
		return Skill{}, &event.Error{
			Kind: event.ErrInvalid, Message: notYAML(err), Err: err,
			Hint: `put a value in which ": " or " #" stands in quotes`,
		}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return Skill{}, invalid("the front matter is no list of keys and values", "write it like name: my-skill")
	}
	var s Skill
	var seen []string
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if key.Kind != yaml.ScalarNode {
			return Skill{}, wrong(key, "a key is no word", "write it like name: my-skill")
		}
		if slices.Contains(seen, key.Value) {
			return Skill{}, wrong(key, fmt.Sprintf("%q stands there twice", shown(key.Value)), "leave one out")
		}
		seen = append(seen, key.Value)
		if err := s.set(key.Value, value); err != nil {
			return Skill{}, err
		}
	}
	for _, needed := range []string{"name", "description"} {
		if !slices.Contains(seen, needed) {
			return Skill{}, invalid("the front matter has no "+needed, "add one")
		}
	}
	return s, nil
}

// names matches names that the format allows.
var names = lazyre.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (s *Skill) set(key string, value *yaml.Node) (err error) {
	switch key {
	case "name":
		if s.Name, err = text(key, value); err == nil && (len(s.Name) > MaxName || !names.MatchString(s.Name)) {
			err = wrong(
				value, fmt.Sprintf("%q cannot be the name of a skill", shown(s.Name)),
				"use 1 to 64 lower-case letters and digits, with single hyphens between them",
			)
		}
	case "description":
		s.Description, err = bounded(key, value, LongestDescription)
	case "license":
		s.License, err = text(key, value)
	case "compatibility":
		s.Compatibility, err = bounded(key, value, MaxCompatibility)
	case "allowed-tools":
		s.AllowedTools, err = tools(key, value)
	case "metadata":
		err = s.metadata(value)
	default:
		s.Ignored = append(s.Ignored, shown(key))
	}
	return err
}

// text returns a value that must be a text.
func text(key string, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return "", wrong(n, key+" is no text", "write it in quotes")
	}
	return strings.TrimSpace(n.Value), nil
}

// bounded returns a non-empty text of up to most characters.
func bounded(key string, n *yaml.Node, most int) (string, error) {
	s, err := text(key, n)
	switch {
	case err != nil:
		return "", err
	case s == "":
		return "", wrong(n, key+" is empty", "say something, or leave out what need not be there")
	case utf8.RuneCountInString(s) > most:
		return "", wrong(n, fmt.Sprintf("%s has more than %d characters", key, most), "shorten it; the body has room for more")
	}
	return s, nil
}

// tools parses a list of tools: a text with blanks between them, as the format says, or a YAML
// list. Blanks and commas in parentheses belong to a tool.
func tools(key string, n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.SequenceNode {
		var list []string
		for _, item := range n.Content {
			one, err := text(key, item)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	all, err := text(key, n)
	if err != nil {
		return nil, err
	}
	depth := 0
	return strings.FieldsFunc(all, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (r == ' ' || r == ',' || r == '\t' || r == '\n')
	}), nil
}

// metadata keeps plain values as they are written. It ignores others, which are meant for a
// particular program.
func (s *Skill) metadata(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "metadata is no list of keys and values", "write it like author: me, each on its own line")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, twice := s.Metadata[key.Value]; twice {
			return wrong(key, fmt.Sprintf("%q stands twice in metadata", shown(key.Value)), "leave one out")
		}
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode {
			s.Ignored = append(s.Ignored, "metadata."+shown(key.Value))
			continue
		}
		if s.Metadata == nil {
			s.Metadata = map[string]string{}
		}
		s.Metadata[key.Value] = value.Value
	}
	return nil
}

// wrong returns an error with its line in the file.
func wrong(n *yaml.Node, message, hint string) error {
	return invalid(fmt.Sprintf("line %d: %s", n.Line+1, message), hint) // the first line is the hyphens
}

func tooLarge(what string, most int) error {
	return &event.Error{
		Kind: event.ErrTooLarge, Message: fmt.Sprintf("%s is larger than %d KiB", what, most>>10),
		Hint: "put a part of it into files of its own",
	}
}

// notYAML returns the message of the YAML parser, with the line in the file.
func notYAML(err error) string {
	s := clean(strings.TrimPrefix(err.Error(), "yaml: "))
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120])
	}
	const what = "the front matter is no YAML: "
	place, rest, found := strings.Cut(s, ": ")
	n, wrong := strconv.Atoi(strings.TrimPrefix(place, "line "))
	if !found || wrong != nil {
		return what + s
	}
	n++                                                   // the first line is the hyphens
	if strings.HasPrefix(rest, "did not find expected") { // the parser counts from 0, unlike the scanner
		n++
	}
	return "line " + strconv.Itoa(n) + ": " + what + rest
}

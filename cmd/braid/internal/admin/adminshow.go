package admin

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// showList prints a list: JSON lines, lines with tabs, or a table.
func showList[T any](a *admin, list iter.Seq2[T, error], head []string, row func(*T) []string) error {
	out := term.NewOutput(a.p.Stdout)
	var rows [][]string
	n, more := 0, false
	for v, err := range list {
		if err != nil {
			return err
		}
		if n++; a.limit > 0 && n > a.limit {
			more = true
			break
		}
		switch {
		case a.in.On("json"):
			line, err := json.Marshal(&v)
			if err != nil {
				return err
			}
			out.Buf = append(term.CleanJSON(out.Buf, line), '\n')
		case a.screen.Terminal:
			rows = append(rows, cleanRow(row(&v)))
			continue
		default:
			out.Buf = append(append(out.Buf, strings.Join(cleanRow(row(&v)), "\t")...), '\n')
		}
		if err := out.Flush(); err != nil {
			return term.OutputError(err)
		}
	}
	if len(rows) > 0 {
		table(out, a.screen, head, rows)
		if err := out.Flush(); err != nil {
			return term.OutputError(err)
		}
	}
	switch {
	case n == 0 && a.screen.Terminal:
		fmt.Fprintln(a.p.Stderr, "(none)")
	case more:
		fmt.Fprintln(a.p.Stderr, "(there are more: --limit 0 lists all)")
	}
	return nil
}

func cleanRow(row []string) []string {
	for i := range row {
		row[i] = term.CleanLine(row[i])
	}
	return row
}

// table prints columns and cuts each line to the screen.
func table(out *term.Output, s term.Screen, head []string, rows [][]string) {
	wide := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, text := range row {
			wide[i] = max(wide[i], term.Width(text))
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, text := range row {
			b.WriteString(text)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", wide[i]-term.Width(text)+2))
			}
		}
		return term.Fit(b.String(), s.Width)
	}
	out.Buf = append(s.Paint(out.Buf, term.Dim, line(head)), '\n')
	for _, row := range rows {
		out.Buf = append(append(out.Buf, line(row)...), '\n')
	}
}

// showOne prints one object as JSON, or its fields as YAML for users.
func (a *admin) showOne(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if a.in.On("json") {
		_, err := a.p.Stdout.Write(append(term.CleanJSON(nil, raw), '\n'))
		return term.OutputError(err)
	}
	var doc yaml.Node // JSON is YAML, and a node keeps the order
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return err
	}
	foremost(&doc)
	unquote(&doc)
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return err
	}
	return a.p.Print(term.Clean(b.String()))
}

// unquote lets the YAML writer choose the form of values.
func unquote(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "\n") {
		n.Style = yaml.LiteralStyle
	}
	for _, c := range n.Content {
		unquote(c)
	}
}

// fields merges the fields of a file and of flags; flags override the file.
func (a *admin) fields(flags map[string]string) (client.Patch, error) {
	patch := client.Patch{}
	if name, given := a.in.Flags["file"]; given {
		raw, err := a.p.ReadInput("--file", name)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(raw, &patch); err != nil {
			return nil, term.Invalid("write fields as YAML or JSON, such as \"name: Acme\"", "--file: the file cannot be read")
		}
		if patch == nil {
			patch = client.Patch{}
		}
	}
	for flag, field := range flags {
		if text, given := a.in.Flags[flag]; given {
			patch[field] = text
		}
	}
	return patch, nil
}

// into converts fields to the struct of a request, and refuses unknown fields.
func into[T any](patch client.Patch) (v T, err error) {
	raw, err := json.Marshal(patch)
	if err != nil {
		return v, term.Invalid("use plain values", "--file has values without a JSON form")
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		what := strings.Replace(strings.TrimPrefix(err.Error(), "json: "), "Go ", "", 1)
		return v, term.Invalid("show prints the fields that there are", "%s", what)
	}
	return v, nil
}

// revision returns the value of --revision; 0 without one.
func (a *admin) revision() (int64, error) {
	text, given := a.in.Flags["revision"]
	if !given {
		return 0, nil
	}
	var n int64
	if err := conf.ParseCount(&n, text); err != nil || n == 0 {
		return 0, term.Invalid("braid admin show prints it", "--revision: %q is not a revision", term.Fit(text, 40))
	}
	return n, nil
}

// when formats a time for a table.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// foremost moves the identifying fields to the front.
func foremost(doc *yaml.Node) {
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return
	}
	all := doc.Content[0].Content
	var first, rest []*yaml.Node
	for i := 0; i+1 < len(all); i += 2 {
		if name := all[i].Value; name == "tenant" || name == "id" {
			first = append(first, all[i], all[i+1])
		} else {
			rest = append(rest, all[i], all[i+1])
		}
	}
	doc.Content[0].Content = append(first, rest...)
}

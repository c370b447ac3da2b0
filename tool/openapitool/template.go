package openapitool

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// template is a text with placeholders. Its odd parts are names. It is filled in one pass: what is inserted is not read again.
type template []string

// Literal returns a template that stands for a text, whatever the text contains.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "${$}{") }

func newTemplate(s secret.Secret) (template, error) {
	t := template{""}
	for rest := s.Reveal(); ; {
		before, after, found := strings.Cut(rest, "${")
		t[len(t)-1] += before
		if !found {
			return t, nil
		}
		name, after, found := strings.Cut(after, "}")
		switch {
		case !found || name == "":
			return nil, invalid("a template has \"${\" without a name and \"}\"", "Write ${name}.", nil)
		case name == "$": // see Literal
			t[len(t)-1] += "$"
		default:
			t = append(t, name, "")
		}
		rest = after
	}
}

// fill returns the text, and the values that were inserted.
func (t template) fill(ctx context.Context, lookup func(context.Context, string) secret.Secret) (string, []secret.Secret, error) {
	var b strings.Builder
	var used []secret.Secret
	for i, part := range t {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		v := lookup(ctx, part)
		if v.Empty() || v.Reveal() == "" {
			return "", nil, &event.Error{
				Op: op, Kind: event.ErrUnauthenticated, Message: fmt.Sprintf("the run has no secret %.50q, which the API needs", part),
				Hint: "Start the run with this secret.",
			}
		}
		used = append(used, v)
		b.WriteString(v.Reveal())
	}
	text := b.String()
	if !printable(text) {
		return "", nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "a credential contains control characters", Hint: "Pass it without line breaks.",
		}
	}
	return text, append(used, secret.New(text)), nil
}

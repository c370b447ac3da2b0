package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// When returns a condition of Go code.
func When(label string, test func(ctx context.Context, v Visit) (bool, error)) Condition {
	return Condition{Label: label, Test: test}
}

// Contains returns the condition that the text of the output contains a text. It does not distinguish upper and lower case.
func Contains(text string) Condition {
	low := strings.ToLower(text)
	return Condition{Label: "contains " + strconv.Quote(text), Test: func(_ context.Context, v Visit) (bool, error) {
		return strings.Contains(strings.ToLower(v.Text()), low), nil
	}}
}

// Equals returns the condition that the text of the output, without space around it, is this one.
func Equals(text string) Condition {
	text = strings.TrimSpace(text)
	return Condition{Label: "is " + strconv.Quote(text), Test: func(_ context.Context, v Visit) (bool, error) {
		return strings.TrimSpace(v.Text()) == text, nil
	}}
}

// Matches returns the condition that a regular expression matches the text of the output. Without an expression the graph is
// refused.
func Matches(expression *regexp.Regexp) Condition {
	if expression == nil {
		return Condition{Label: "matches nothing"} // the check of the graph says that it has no test
	}
	return Condition{Label: "matches " + expression.String(), Test: func(_ context.Context, v Visit) (bool, error) {
		return expression.MatchString(v.Text()), nil
	}}
}

// Field returns the condition that the output is JSON in which the JSON pointer leads to this value. A pointer that leads nowhere
// makes it false; an output that is not JSON is an error. The value is compared as JSON: 1 and 1.0 are equal.
func Field(pointer string, value any) Condition {
	want, err := json.Marshal(value)
	return Condition{Label: pointer + " is " + string(want), Test: func(_ context.Context, v Visit) (bool, error) {
		if err != nil {
			return false, fmt.Errorf("the value of the condition cannot be written as JSON: %w", err)
		}
		got, found, err := at(v.Text(), pointer)
		if err != nil || !found {
			return false, err
		}
		var wanted any
		err = json.Unmarshal(want, &wanted)
		return reflect.DeepEqual(got, wanted), err
	}}
}

// at follows a JSON pointer.
func at(text, pointer string) (value any, found bool, err error) {
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, false, &event.Error{
			Op: "graph", Kind: event.ErrInvalid, Message: "the output is not JSON, and a condition reads its field " + strconv.Quote(pointer),
			Hint: "give the agent an output schema",
		}
	}
	if pointer == "" {
		return value, true, nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch in := value.(type) {
		case map[string]any:
			value, found = in[part]
		case []any:
			i, wrong := strconv.Atoi(part)
			if found = wrong == nil && i >= 0 && i < len(in); found {
				value = in[i]
			}
		default:
			found = false
		}
		if !found {
			return nil, false, nil
		}
	}
	return value, true, nil
}

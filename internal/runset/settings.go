// Package runset holds the settings that a run has for itself, beside those of its agent, and the form in which the run's
// row keeps them.
package runset

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/braidrun/braid/model"
)

// Settings are what a run has for itself. A zero field leaves the agent's. The names of the fields are those in the row.
type Settings struct {
	// Instructions are a paragraph below the agent's.
	Instructions string
	// Options are those of model calls.
	Options model.Options
	// Choice is what the model must do with its tools.
	Choice model.ToolChoice
	// Limits is the root's Limits as [Sparse] writes it.
	Limits json.RawMessage
	// Model names the model that answers in the place of the agent's.
	Model string
	// Tools names the tools that the run has beside the agent's.
	Tools []string
}

// Label returns the settings as one text; "" for none.
func (s *Settings) Label() (string, error) {
	if reflect.ValueOf(s).Elem().IsZero() {
		return "", nil
	}
	raw, err := Sparse(*s)
	return string(raw), err
}

// Read reads what [Settings.Label] gave. A field that this version does not know is an error: a run must go on as it
// began.
func Read(label string) (*Settings, error) {
	s := &Settings{}
	return s, Strictly([]byte(label), s)
}

// Strictly reads JSON into v and refuses fields that v does not have.
func Strictly(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// Sparse writes a struct as JSON without the fields that are zero, under their Go names.
func Sparse(v any) (json.RawMessage, error) { return json.Marshal(sparse(reflect.ValueOf(v))) }

func sparse(v reflect.Value) map[string]any {
	m := map[string]any{}
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.Struct:
			m[v.Type().Field(i).Name] = sparse(f)
		default:
			m[v.Type().Field(i).Name] = f.Interface()
		}
	}
	return m
}

// Keeps reports whether nothing of given differs from what s has. A zero field of given says nothing.
func (s *Settings) Keeps(given *Settings) bool {
	has, want := reflect.ValueOf(s).Elem(), reflect.ValueOf(given).Elem()
	for i := range want.NumField() {
		if f := want.Field(i); !f.IsZero() && !reflect.DeepEqual(f.Interface(), has.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// Fill returns a struct with the zero fields of v taken from below, also those of structs in it.
func Fill[T any](v, below T) T {
	fill(reflect.ValueOf(&v).Elem(), reflect.ValueOf(below))
	return v
}

func fill(v, below reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			fill(f, below.Field(i))
		case f.IsZero():
			f.Set(below.Field(i))
		}
	}
}

// Over returns options with their zero fields taken from below. Members of Extra and Headers are taken one by one.
func Over(o, below model.Options) model.Options {
	extra, headers := join(below.Extra, o.Extra), join(below.Headers, o.Headers)
	o = Fill(o, below)
	o.Extra, o.Headers = extra, headers
	return o
}

// Any reports whether an option is set.
func Any(o model.Options) bool { return !reflect.ValueOf(o).IsZero() }

func join[V any](below, above map[string]V) map[string]V {
	if len(below) == 0 || len(above) == 0 {
		if len(above) > 0 {
			return above
		}
		return below
	}
	all := maps.Clone(below)
	maps.Copy(all, above)
	return all
}

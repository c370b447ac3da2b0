package corpora

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model"
)

// tool is what a request says of a tool. Providers write schemas in their vendor's form, so
// the arguments' names and which of them are required are compared, not the schema's bytes.
type tool struct {
	Name, Description   string
	Arguments, Required []string

	schema value
}

// toolOf reads a tool; schema is where the vendor has it.
func toolOf(v, schema value) tool {
	t := tool{Name: v.at("name").text(), Description: v.at("description").text(), schema: schema}
	if len(schema.at("properties").names()) > 0 {
		t.Arguments = schema.at("properties").names()
	}
	for _, name := range schema.at("required").items() {
		t.Required = append(t.Required, name.text())
	}
	slices.Sort(t.Required)
	return t
}

// spec is a tool in Braid's words.
func (t *tool) spec() model.ToolSpec {
	schema, _ := json.Marshal(lower(t.schema.v))
	if !t.schema.there() {
		schema = []byte(`{"type":"object"}`)
	}
	return model.ToolSpec{Name: t.Name, Description: t.Description, Schema: schema}
}

// lower writes types as JSON Schema does: Gemini also has them in capitals.
func lower(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = lower(v[i])
		}
	case map[string]any:
		for k := range v {
			if s, ok := v[k].(string); ok && k == "type" && strings.ToUpper(s) == s {
				v[k] = strings.ToLower(s)
				continue
			}
			v[k] = lower(v[k])
		}
	}
	return v
}

// settings are the options of a request that every vendor has in some form.
type settings struct {
	MaxTokens         int64
	Temperature, TopP string
	Seed              string
	Stop              []string
	Choice            string
}

// set reads settings by the vendor's names of them, in the order of the fields.
func (k *taker) set(v value, most []string, temperature, top, stop string) {
	for _, name := range most {
		if v.at(name).there() {
			k.Settings.MaxTokens = v.at(name).number()
		}
	}
	k.Settings.Temperature, k.Settings.TopP, k.Settings.Seed = fraction(v.at(temperature)), fraction(v.at(top)), fraction(v.at("seed"))
	if word := v.at(stop).text(); word != "" {
		k.Settings.Stop = []string{word}
	}
	for _, word := range v.at(stop).items() {
		k.Settings.Stop = append(k.Settings.Stop, word.text())
	}
}

// fraction writes a number in one form: 1 and 1.0 are the same.
func fraction(v value) string {
	if !v.there() {
		return ""
	}
	f, err := strconv.ParseFloat(v.raw(), 64)
	if err != nil {
		return v.raw()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// choose notes what the model must do with its tools: auto is nothing. Gemini's VALIDATED is a
// free choice too.
func (k *taker) choose(mode, name string) {
	switch mode = strings.ToLower(mode); {
	case mode == "required":
		k.Settings.Choice = "any"
	case name != "":
		k.Settings.Choice = "one " + name
	case mode != "auto" && mode != "validated":
		k.Settings.Choice = mode
	}
}

// options are the settings in Braid's words.
func (s *settings) options() (model.Options, model.ToolChoice) {
	o := model.Options{MaxTokens: int(s.MaxTokens), StopWords: s.Stop, Temperature: number(s.Temperature), TopP: number(s.TopP)}
	if f := number(s.Seed); f != nil {
		n := int64(*f)
		o.Seed = &n
	}
	mode, name, _ := strings.Cut(s.Choice, " ")
	return o, model.ToolChoice{Mode: model.ToolMode(mode), Tool: name}
}

func number(s string) *float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &f
}

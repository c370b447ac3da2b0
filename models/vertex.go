package models

import (
	"cmp"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/secret"
)

// vertexSettings are the settings of a reference.
type vertexSettings struct {
	project, location, base, key string
	stall                        *time.Duration
	gemini                       geminiSettings
	cache                        string
}

// openVertex opens a model on Vertex AI by Google's name: "" is Gemini's default, "claude-…" or
// "anthropic/…" a model of Anthropic. It uses Application Default Credentials, or a key in the
// express mode, which Claude does not have.
func openVertex(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, gemini.Default)
	if presentable(name) == "" || strings.Contains(name, "..") {
		return nil, g.noSuch(gemini.Default)
	}
	claude, isClaude := claudeOn(name)
	if publisher, _, two := strings.Cut(name, "/"); two && !isClaude && publisher != "google" &&
		publisher != "publishers" && publisher != "projects" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "Braid does not speak with models of other publishers on Vertex AI",
			Hint: "name a model of Gemini, or one of Claude such as vertex:claude-sonnet-5-5",
		}
	}
	s, err := g.vertexSettings(isClaude)
	if err != nil {
		return nil, err
	}
	asked := s.base != ""
	if !asked {
		s.base = g.variable(gemini.VertexBaseVariable)
	}
	foreign := asked && !googlesPlaces.MatchString(host(s.base, ""))
	key := secret.Secret{}
	if s.key != "" || g.variable(googleKey) != "" && !asked && !isClaude {
		if key = g.secretOf(s.key, googleKey, asked); key.Empty() {
			return nil, g.noKey(googleKey, asked)
		}
	}
	switch {
	case isClaude && (!key.Empty() || g.ownKey):
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "Vertex AI has no express mode for Claude",
			Hint: "leave key= out, and sign in with gcloud auth application-default login",
		}
	case foreign && key.Empty():
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth,
			Message: "there is no key for the address that the reference names, and Google's access tokens do not go there",
			Hint: "name the variable with its key behind the address: &key=" + googleKey +
				"; for a gateway that takes access tokens, set " + gemini.VertexBaseVariable,
		}
	}
	m, err := g.vertexModel(name, claude, isClaude, key, s)
	if err != nil && !asked {
		err = from(err, gemini.VertexBaseVariable, s.base)
	}
	if err != nil {
		return nil, err
	}
	if asked {
		g.place = host(s.base, "")
	}
	return m, nil
}

// claudeOn returns Google's name of a Claude model.
func claudeOn(name string) (string, bool) {
	for _, before := range []string{"publishers/anthropic/models/", "anthropic/"} {
		if rest, ok := strings.CutPrefix(name, before); ok {
			return rest, true
		}
	}
	return name, strings.HasPrefix(name, "claude-")
}

// vertexSettings parses the settings of the reference.
func (g *opening) vertexSettings(claude bool) (*vertexSettings, error) {
	s := &vertexSettings{}
	known := map[string]setting{
		"project": address(&s.project), "location": address(&s.location), "base": address(&s.base), "key": keyIn(&s.key), "stall": patience(&s.stall),
	}
	if claude {
		known["cache"] = word(&s.cache, string(anthropic.CacheExplicit), string(anthropic.CacheOff))
	} else {
		known = together(known, s.gemini.known())
	}
	err := g.settings(gemini.Default+"?location=eu", together(g.optionSettings(&g.defaults), known))
	return s, err
}

// vertexModel returns the model.
func (g *opening) vertexModel(name, claude string, isClaude bool, key secret.Secret, s *vertexSettings) (model.Model, error) {
	location := cmp.Or(s.location, g.variable(googleLocation), g.variable(googleOtherLocation), "global")
	creds := &googleCredentials{env: g.env}
	project := s.project
	if key.Empty() {
		// A key already belongs to a project.
		project = cmp.Or(project, g.variable(googleProject), g.variable(googleOtherProject), creds.project())
		if project == "" {
			return nil, &event.Error{
				Op: op, Kind: event.ErrInvalid, Message: "no Google Cloud project is set",
				Hint: "set " + googleProject + ", or write vertex:" + name + "?project=NAME",
			}
		}
	}
	g.place = location
	keyFrom := "the credentials of Google Cloud: gcloud auth application-default login, or " + googleFile
	if !key.Empty() {
		keyFrom = g.key
	}
	baseFrom := gemini.VertexBaseVariable + " and " + googleLocation
	if s.base != "" && g.variable(gemini.VertexBaseVariable) != s.base {
		baseFrom = "base="
	}
	if isClaude {
		opts := []anthropic.Option{anthropic.BaseURL(s.base), anthropic.HTTPClient(creds.client())}
		if s.stall != nil {
			opts = append(opts, anthropic.Stall(*s.stall))
		}
		if s.cache != "" {
			opts = append(opts, anthropic.Cache(anthropic.CachePoints(s.cache)))
		}
		return modelOf(anthropic.NewVertex(claude, project, location, creds.token, opts...))
	}
	opts := append(s.gemini.options(), gemini.BaseURL(s.base), gemini.Named("vertex"), gemini.Sources(keyFrom, baseFrom))
	if s.stall != nil {
		opts = append(opts, gemini.Stall(*s.stall))
	}
	switch {
	case key.Empty():
		opts = append(opts, gemini.Vertex(project, location, creds.token), gemini.HTTPClient(creds.client()))
	case project == "":
		g.place = ""
		opts = append(opts, gemini.Vertex("", "", nil))
	default:
		opts = append(opts, gemini.Vertex(project, location, nil))
	}
	return modelOf(gemini.New(name, key, opts...))
}

// modelOf turns a nil pointer into a nil interface.
func modelOf[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

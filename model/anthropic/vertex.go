package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// Environment variables of Google's tools. This package reads none of them.
const (
	VertexProjectVariable  = "GOOGLE_CLOUD_PROJECT"
	VertexLocationVariable = "GOOGLE_CLOUD_LOCATION"
	// VertexCredentialsVariable names a file with credentials.
	VertexCredentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS" //nolint:gosec // the name of a variable
)

// vertexVersion is the version of the API that Vertex AI takes, in the body
// (build-with-claude/claude-on-vertex-ai).
const vertexVersion = "vertex-2023-10-16"

var (
	vertexProjects  = lazyre.New(`^[a-z0-9][a-z0-9.:_-]{0,99}$`)
	vertexLocations = lazyre.New(`^[a-z]{2,20}(-[a-z]{2,20}[0-9]{1,2})?$`)
	vertexModels    = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`)
)

// NewVertex returns a Claude model on Google Cloud's Vertex AI. The name is Vertex AI's,
// such as "claude-sonnet-4-5@20250929". The location is a region, a group of regions
// ("us", "eu") or "global". token returns an access token with the scope cloud-platform.
// Every call calls token, so token should cache its result until it expires, and must be
// safe for concurrent use.
//
// Vertex AI has no automatic cache point: [CacheAuto] is the same as [CacheExplicit]. It
// fetches no files by URL, and [Version] is an error. NewVertex reads nothing from the
// environment and makes no connection. The error is an [*event.Error]: ErrInvalid for an
// invalid name, project, location or option, ErrModelAuth for a missing token.
func NewVertex(
	name, project, location string, token func(context.Context) (string, error), opts ...Option,
) (*Model, error) {
	switch {
	case !vertexModels.MatchString(name):
		return nil, wrong("Vertex AI has no model of such a name", "name one as Google does, such as claude-sonnet-5-5")
	case !vertexProjects.MatchString(project):
		return nil, wrong("there is no Google Cloud project for Vertex AI", "set "+VertexProjectVariable+", or give the project's id")
	case !vertexLocations.MatchString(location):
		return nil, wrong("there is no location for Vertex AI", "set "+VertexLocationVariable+" to one such as global, eu or us-east5")
	case token == nil:
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there are no credentials for Vertex AI", Hint: signIn,
		}
	}
	m := &Model{
		name: name, google: &vertex{project: project, location: location, token: token}, stall: DefaultStall, cache: CacheExplicit,
		client: provider.Client(), keyFrom: VertexCredentialsVariable, baseFrom: VertexLocationVariable,
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if m.version != "" {
		return nil, wrong("Vertex AI has one version of Anthropic's API", "leave the version out")
	}
	if m.cache == CacheAuto {
		m.cache = CacheExplicit
	}
	return m, nil
}

// host returns the location's server. A group of regions has its own server.
func (v *vertex) host() string {
	switch v.location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + v.location + ".rep.googleapis.com"
	default:
		return v.location + "-aiplatform.googleapis.com"
	}
}

// address returns the URL of an operation on a model.
func (v *vertex) address(base, model, operation string) string {
	return cmp.Or(base, "https://"+v.host()) + "/v1/projects/" + url.PathEscape(v.project) + "/locations/" + v.location +
		"/publishers/anthropic/models/" + url.PathEscape(model) + ":" + operation
}

const signIn = "sign in with gcloud auth application-default login, or look at " + VertexCredentialsVariable

// authorize adds the access token.
func (v *vertex) authorize(ctx context.Context, r *http.Request) error {
	token, err := v.token(ctx)
	if err == nil && token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &event.Error{Op: op, Kind: event.ErrModelAuth, Message: "Google gives no access token for Vertex AI", Hint: signIn, Err: err}
}

// role is the hint for missing permissions.
func (v *vertex) role() string {
	return "the credentials need the role Vertex AI User (roles/aiplatform.user) in the project; look at " + VertexProjectVariable
}

// place names location and project, for messages.
func (v *vertex) place() string {
	return " in the location " + strconv.Quote(v.location) + " for the project " + strconv.Quote(v.project)
}

// garden is the hint for a model that the project has not enabled.
func (v *vertex) garden() string {
	return "enable the model in the project's Model Garden, or look at " + VertexLocationVariable + " and " + VertexProjectVariable
}

// googleError is an error of Google's server, and not of Claude.
type googleError struct {
	status  int
	kind    string
	message string
	after   time.Duration
}

// Error implements error, for operators.
func (e *googleError) Error() string { return strconv.Itoa(e.status) + " " + e.kind }

// googleSaid decodes an error in the form of Google's APIs; streams wrap it in a list. It
// returns nil for any other error.
func googleSaid(r *provider.Refused) *googleError {
	type form struct {
		Error struct {
			Code    int    `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
	}
	var one form
	var list []form
	if json.Unmarshal(r.Body, &list) == nil && len(list) > 0 {
		one = list[0]
	} else if json.Unmarshal(r.Body, &one) != nil {
		return nil //nolint:nilerr // Google did not say it
	}
	if one.Error.Status == "" && one.Error.Code == 0 {
		return nil
	}
	return &googleError{
		status: r.Status, kind: one.Error.Status, message: one.Error.Message, after: provider.RetryAfter(r.Header, time.Now()),
	}
}

// Errors that only Google's message distinguishes, and not its status.
var (
	apiDisabled = lazyre.New(`(?i)has not been used in project|is disabled|SERVICE_DISABLED`)
	noGarden    = lazyre.New(`(?i)not allowed to use publisher model|terms of service|model garden`)
	notServed   = lazyre.New(`(?i)not servable|is not (supported|available) in|unsupported (region|location)`)
	googleLarge = lazyre.New(`(?i)payload size exceeds|request (entity|payload)? ?(is )?too large`)
)

package models

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
)

var (
	azureResources = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`)
	azureVersions  = lazyre.New(`^20\d\d-\d\d-\d\d(-preview)?$`)
)

// openAzure opens a deployment by its name. The address is base, that of resource, or
// AZURE_OPENAI_ENDPOINT. Without version it uses the API that Azure calls v1.
func openAzure(g *opening) (model.Model, error) {
	if g.name == "" || presentable(g.name) == "" || strings.ContainsAny(g.name, "/") {
		return nil, g.noSuch("my-deployment?as=" + openai.Default)
	}
	s := chatSettings{}
	known := s.known(g)
	var resource, version, as string
	known["resource"] = func(v string) bool { resource = v; return azureResources.MatchString(v) }
	known["version"] = func(v string) bool { version = v; return azureVersions.MatchString(v) }
	known["as"] = func(v string) bool { as = v; return presentable(v) != "" }
	if err := g.settings("my-deployment?as="+openai.Default, known); err != nil {
		return nil, err
	}
	asked := s.base != ""
	s.base = cmp.Or(s.base, g.azureAddress(resource))
	if s.base == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "no Azure resource is set",
			Hint: "set " + azureEndpoint + " to https://NAME.openai.azure.com, or write azure:DEPLOYMENT?resource=NAME",
		}
	}
	address, err := url.Parse(s.base)
	if err != nil {
		return nil, from(&event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the address of Azure is not valid", Hint: "write it as https://NAME.openai.azure.com", Err: err,
		}, azureEndpoint, s.base)
	}
	g.place = "azure"
	if asked {
		g.place = strings.ToLower(address.Host)
	}
	usual := azureKey
	if g.variable(azureKey) == "" && g.variable(azureOtherKey) != "" {
		usual = azureOtherKey
	}
	key := g.secretOf(s.key, usual, asked)
	if key.Empty() {
		return nil, g.noKey(azureKey, asked)
	}
	s.base = azureBase(address, g.name, version)
	keyFrom, baseFrom := g.sources(asked)
	opts := append(s.options(), openai.Named("azure"), openai.Azure(version), openai.Sources(keyFrom, cmp.Or(baseFrom, azureEndpoint)))
	if as != "" {
		opts = append(opts, openai.As(as))
		if s.reasons != "" {
			opts = append(opts, openai.Reasons(s.reasons == "yes"))
		}
	}
	m, err := openai.New(g.name, key, opts...)
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, from(err, azureEndpoint, s.base)
	}
	return m, nil
}

// azureAddress returns the address of a resource, or the default endpoint.
func (g *opening) azureAddress(resource string) string {
	if resource != "" {
		return "https://" + resource + ".openai.azure.com"
	}
	if endpoint := g.variable(azureEndpoint); endpoint != "" {
		return endpoint
	}
	name := cmp.Or(g.variable(azureResource), g.variable(azureOtherResource))
	if !azureResources.MatchString(name) {
		return ""
	}
	return "https://" + name + ".openai.azure.com"
}

// azureBase returns the address of the API. It keeps the path of an address, such as a gateway's,
// but for the part that Azure's documentation appends.
func azureBase(address *url.URL, deployment, version string) string {
	u := *address
	path := strings.TrimSuffix(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/openai")
	if version != "" {
		u.Path = path + "/openai/deployments/" + deployment
	} else {
		u.Path = path + "/openai/v1"
	}
	return u.String()
}

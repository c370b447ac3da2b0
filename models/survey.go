package models

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/pricing"
)

// Standing describes what a provider offers here and now.
type Standing struct {
	// Provider is the part before the colon of a reference.
	Provider string
	// Vendor reports that it is one of [Vendors], without an API of its own.
	Vendor bool
	// Ready reports that its models can be called, as far as that is known without a call: only a
	// call shows whether a key is valid.
	Ready bool
	// Why is the reason why it is ready or not.
	Why string
	// Next is what to do if it is not ready.
	Next string
	// Key is the variable with the key; "" if there is none.
	Key string
	// Usual is the default model for users with a key; "" if there is none.
	Usual string
	// Region is the region of its models, for providers with regions.
	Region string
	// Models are the known models, the default first. The provider may have others.
	Models []Known
}

// Known is a known model.
type Known struct {
	// Ref is its reference for [Open].
	Ref string
	// Usual is set for the default model.
	Usual     bool
	Simulated bool
	// ContextWindow is in tokens; 0 means unknown.
	ContextWindow int
	// Price is nil if it is unknown.
	Price *pricing.Price
}

// Survey reports for every provider whether it can be used, and for the servers of [LocalServers].
// It makes no network connection. The order is that of detection, the simulated models last.
func (o *Opener) Survey(servers []Server) []Standing {
	var list []Standing
	for _, p := range o.providers {
		switch {
		case p.name == "demo": // comes last
		case p.name == "ollama":
			list = append(list, o.local(p, servers)...)
		case p.vendor != nil:
			list = append(list, o.vendorStanding(p))
		default:
			list = append(list, o.standing(p))
		}
	}
	s := Standing{Provider: "demo", Ready: true, Why: "simulated: its words follow a script, nothing is charged"}
	for _, name := range demo.Scripts() {
		s.Models = append(s.Models, o.known("demo:"+name, name == "assistant"))
	}
	return append(list, s)
}

// vendorStanding describes a vendor. A vendor without a key runs on a user's own machine, and is
// not checked.
func (o *Opener) vendorStanding(p provider) Standing {
	s := Standing{Provider: p.name, Vendor: true}
	row := p.vendor
	switch {
	case row.Key == "":
		s.Why, s.Next = "nobody has looked whether "+row.Title+" answers at "+row.Address, "name a model of it: "+row.Name+":NAME"
		return s
	case strings.TrimSpace(o.env(row.Key)) == "":
		s.Why, s.Next = "there is no key for "+row.Title, "set "+row.Key
		return s
	}
	s.Ready, s.Key, s.Why = true, row.Key, row.Key+" is set; any model of "+row.Title+" can be named"
	s.Usual = p.model
	if p.model != "" {
		s.Models = append(s.Models, o.known(p.model, true))
	}
	for _, ref := range o.prices.Models() {
		if strings.HasPrefix(ref, p.name+":") && ref != p.model {
			s.Models = append(s.Models, o.known(ref, false))
		}
	}
	return s
}

// standing describes a provider with a key.
func (o *Opener) standing(p provider) Standing {
	s := Standing{Provider: p.name, Usual: p.model}
	for _, key := range p.keys {
		if strings.TrimSpace(o.env(key)) != "" {
			s.Key = key
			break
		}
	}
	g := &opening{env: o.env, provider: p}
	_, name, _ := strings.Cut(p.model, ":")
	g.name = cmp.Or(name, "NAME") // any name will do for a provider without a default model
	if _, err := g.open(); err != nil {
		s.Why, s.Next = "it cannot be opened", "braid doctor tells more"
		if e, ok := errors.AsType[*event.Error](err); ok {
			s.Why, s.Next = e.Message, e.Hint
		}
		return s
	}
	s.Ready = true
	switch {
	case p.name == "bedrock":
		o.bedrock(&s, g)
	case p.name == "vertex":
		o.vertex(&s, g)
	case s.Key != "":
		s.Why = s.Key + " is set"
	default:
		s.Why = "its address is " + g.place + ", without a key"
	}
	if !s.Ready {
		return s
	}
	var refs []string
	if p.model != "" {
		refs = append(refs, p.model)
	}
	if p.name == "bedrock" {
		for _, id := range bedrockKnown {
			refs = append(refs, "bedrock:"+beginningIn(g.place)+id)
		}
	} else if g.place == "" || p.name == "vertex" {
		for _, ref := range o.prices.Models() {
			if strings.HasPrefix(ref, p.name+":") {
				refs = append(refs, ref)
			}
		}
	}
	for i, ref := range refs {
		if slices.Index(refs, ref) == i {
			s.Models = append(s.Models, o.known(ref, ref == p.model))
		}
	}
	return s
}

// bedrockKnown are models that several geographies have, by the names without the profile.
var bedrockKnown = []string{
	"anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "anthropic.claude-haiku-5-5", "anthropic.claude-sonnet-4-6",
	"anthropic.claude-haiku-4-5-20251001-v1:0", "amazon.nova-2-lite-v1:0", "amazon.nova-pro-v1:0", "amazon.nova-lite-v1:0", "amazon.nova-micro-v1:0",
}

// bedrock describes the credentials. Without any, the role of an AWS machine may still exist: only
// a call asks for it over the network.
func (o *Opener) bedrock(s *Standing, g *opening) {
	s.Region = g.place
	cfg, err := g.aws(bedrock.Default, g.place, "", "")
	switch {
	case s.Key != "":
		s.Why = s.Key + " is set"
	case err == nil && !aws.IsCredentialsProvider(cfg.Credentials, (*ec2rolecreds.Provider)(nil)):
		s.Why = "AWS's own files name credentials"
	default:
		s.Ready, s.Why = false, "no AWS credentials are named here"
		s.Next = "set " + bedrock.KeyVariable + ", or " + awsProfile + ", or " + awsKeyID + " and " + awsKey +
			"; on a machine of AWS its role counts without them"
		return
	}
	s.Why += ", and the region is " + s.Region
}

// local lists the servers on this machine: Ollama by its name in any case, the others by their
// address.
func (o *Opener) local(p provider, servers []Server) []Standing {
	ollama := Standing{
		Provider: p.name, Why: "no Ollama answers on this machine", Next: "install it from ollama.com and start it with \"ollama serve\"",
	}
	var others []Standing
	for _, server := range servers {
		s := Standing{Provider: "openai", Ready: true, Why: server.String()}
		if server.Name == "Ollama" {
			s.Provider = p.name
		}
		for _, name := range server.Models {
			name, _, _ = strings.Cut(name, " ")
			s.Models = append(s.Models, o.known(server.ref(name), false))
		}
		if s.Provider == p.name {
			ollama = s
		} else {
			others = append(others, s)
		}
	}
	return append([]Standing{ollama}, others...)
}

// known describes one model.
func (o *Opener) known(ref string, usual bool) Known {
	k := Known{Ref: ref, Usual: usual}
	m, err := o.open(ref, true)
	if err != nil {
		return k
	}
	info := m.Info()
	k.Simulated, k.ContextWindow = info.Simulated, info.ContextWindow
	k.Price = PriceOf(m)
	return k
}

// vertex describes the credentials for Vertex AI. Without any, the account of a Google Cloud
// machine may still exist: only a call asks for it over the network.
func (o *Opener) vertex(s *Standing, g *opening) {
	s.Region = g.place
	file := (&googleCredentials{env: o.env}).file()
	switch {
	case s.Key != "":
		s.Why = s.Key + " is set"
	case file != "":
		s.Why = "gcloud's file names credentials"
	default:
		s.Ready, s.Why = false, "no credentials of Google Cloud are named here"
		s.Next = "run gcloud auth application-default login, or set " + googleFile + "; on a machine of Google Cloud its account counts without them"
		return
	}
	if s.Region != "" {
		s.Why += ", and the location is " + s.Region
	}
}

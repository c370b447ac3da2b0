package directory

import (
	"time"

	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

// Model is a model that a tenant, or every tenant, may use.
type Model struct {
	// Tenant is its tenant. "" means that it is shared by all.
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`
	// Life distinguishes models that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Provider is the provider, such as "bedrock".
	Provider string `json:"provider"`
	// Name is the provider's id of the model.
	Name string `json:"name"`
	// Region is the provider's region, if the provider has regions. Empty means the server's.
	Region string `json:"region,omitempty"`
	// Aliases are other names, such as "haiku", "sonnet" and "opus". A name means one model within
	// a tenant. A tenant's own model hides a shared one.
	Aliases []string `json:"aliases,omitempty"`
	// Prices are the prices of its tokens. Unset prices are looked up.
	Prices Prices `json:"prices,omitzero"`

	// Settings are the defaults of its calls. An agent may override them.
	Settings //nolint:embeddedstructfieldcheck // JSON has them here

	// Credential is the credential for the provider.
	Credential Credential `json:"credential,omitzero"`
	// Revision counts the changes.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// Prices are US dollars for a million tokens or a thousand searches, written as "3.75". An unset
// price is unknown.
type Prices struct {
	Input      pricing.Rate `json:"input,omitzero"`
	Output     pricing.Rate `json:"output,omitzero"`
	CacheRead  pricing.Rate `json:"cache_read,omitzero"`
	CacheWrite pricing.Rate `json:"cache_write,omitzero"`
	// CacheWriteHour is for tokens that are cached for an hour. If it is unset and CacheWrite is
	// set, it is twice Input, which is what the vendors charge.
	CacheWriteHour pricing.Rate `json:"cache_write_hour,omitzero"`
	// WebSearch is for web searches that the provider runs.
	WebSearch pricing.Rate `json:"web_search,omitzero"`
	// FileSearch is for file searches that the provider runs.
	FileSearch pricing.Rate `json:"file_search,omitzero"`
}

// Price returns them as a [pricing.Price]. It returns nil if none is set.
func (p Prices) Price() *pricing.Price {
	if p == (Prices{}) {
		return nil
	}
	hour := p.CacheWriteHour
	if _, set := hour.MicroUSD(); !set {
		if _, writes := p.CacheWrite.MicroUSD(); writes {
			hour = p.Input.Twice()
		}
	}
	return &pricing.Price{
		Rates: pricing.Rates{
			Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWriteHour: hour,
		},
		WebSearch: p.WebSearch, FileSearch: p.FileSearch,
	}
}

// Credential is the credential for a provider. The zero value means what the server finds in its
// own environment. At most one of Env and Secret is set.
type Credential struct {
	// Env is a variable of the server's environment. Only the operator may set it.
	Env string `json:"env,omitempty"`
	// Secret is a key to be stored, encrypted. It can be written and never read back: see
	// [Directory.Credential].
	Secret secret.Secret `json:"secret,omitzero"`
	// Ends are the last characters of the stored key. It is empty if there is none, and cannot be
	// set.
	Ends string `json:"ends_in,omitempty"`
}

// IsZero reports whether there is no credential.
func (c Credential) IsZero() bool { return c.Env == "" && c.Secret.Empty() && c.Ends == "" }

type modelKey struct{ tenant, name string }

type secretKey struct {
	tenant, id, life string
	revision         int64
}

// namesOf returns all names of a model.
func namesOf(m *Model) []string { return append([]string{m.ID}, m.Aliases...) }

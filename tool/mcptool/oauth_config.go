package mcptool

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/secret"
)

// oauthKeys are the keys of "oauth". Other programs write some of them in another way.
var oauthKeys = []string{"client_id", "client_secret", "issuer", "scopes", "callback_port"}

// parseOAuth reads the setting "oauth" of a server: false, or an object.
func parseOAuth(server string, data json.RawMessage) (*OAuth, error) {
	if string(data) == "false" {
		return &OAuth{Off: true}, nil
	}
	fields, err := members(data)
	if err != nil {
		return nil, badConfig(server, `"oauth" is neither an object nor false`, `write {"client_id": "…"} or false`, err)
	}
	o := &OAuth{}
	for _, f := range fields {
		want := "a text"
		switch f.key {
		case "client_id", "clientId":
			err = json.Unmarshal(f.value, &o.ClientID)
		case "client_secret", "clientSecret":
			var text string
			err = json.Unmarshal(f.value, &text)
			o.ClientSecret = secret.New(text)
		case "issuer":
			err = json.Unmarshal(f.value, &o.Issuer)
		case "scopes":
			want, err = "a list of texts", json.Unmarshal(f.value, &o.Scopes)
		case "callback_port", "callbackPort":
			want, err = "a port", json.Unmarshal(f.value, &o.CallbackPort)
		default:
			if near := nearest.Word(f.key, oauthKeys); near != "" {
				return nil, badConfig(server, fmt.Sprintf(`has an unknown key %q in "oauth"`, f.key), fmt.Sprintf("write %q", near), nil)
			}
			continue
		}
		if err != nil || string(f.value) == "null" {
			return nil, badConfig(server, fmt.Sprintf(`%q in "oauth" is not %s`, f.key, want), "write "+want, err)
		}
	}
	return o, nil
}

// checkOAuth finds what cannot be meant.
func (c Config) checkOAuth() *event.Error {
	o := c.OAuth
	switch {
	case o == nil || o.Off:
		return nil
	case c.URL == "":
		return badConfig(c.Name, `has "oauth" and no url`, "leave it out: only servers on the network have users that sign in", nil)
	case c.SSE:
		return badConfig(c.Name, `has "oauth" and the type sse`, "use the type http: the older transport has no authorization", nil)
	case o.ClientID == "" && !o.ClientSecret.Empty():
		return badConfig(c.Name, "has a client_secret and no client_id", "add client_id", nil)
	case !o.ClientSecret.Empty() && o.Issuer == "":
		return badConfig(c.Name, "has a client_secret, and does not say whose it is", "add issuer, the address of the authorization server", nil)
	case o.CallbackPort < 0 || o.CallbackPort > 65535:
		return badConfig(c.Name, "has a callback_port that is none", "use 1 to 65535", nil)
	}
	if u, err := url.Parse(o.Issuer); o.Issuer != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		return badConfig(c.Name, "has an issuer that is no address", "write it as https://host", nil)
	}
	return nil
}

package mcptool

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
)

// The words of [Config.Proxy].
const (
	proxyAuto        = "auto"
	proxyNone        = "none"
	proxyEnvironment = "environment"
)

// proxyOf says which proxy a request to the server goes through. environment is what the variables of the environment say.
func proxyOf(c *Config, environment func(*http.Request) (*url.URL, error)) (func(*http.Request) (*url.URL, error), error) {
	switch c.Proxy {
	case "", proxyAuto:
		return func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme != "https" {
				return nil, nil //nolint:nilnil // no proxy
			}
			return environment(r)
		}, nil
	case proxyNone:
		return nil, nil //nolint:nilnil // no proxy
	case proxyEnvironment:
		return environment, nil
	}
	u, err := url.Parse(c.Proxy)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h" {
		return nil, badProxy(c)
	}
	return http.ProxyURL(u), nil
}

func badProxy(c *Config) *event.Error {
	return badConfig(c.Name, "has a proxy that is none", `write "none", "environment", or its address as http://host:port`, nil)
}

// checkProxy refuses settings that no request could keep to.
func (c Config) checkProxy() *event.Error {
	switch {
	case c.Proxy == "" || strings.Contains(c.Proxy, "${"):
		return nil
	case c.URL == "":
		return badConfig(c.Name, "has a proxy and no url", "leave it out", nil)
	}
	if _, err := proxyOf(&c, http.ProxyFromEnvironment); err != nil {
		return badProxy(&c)
	}
	return nil
}

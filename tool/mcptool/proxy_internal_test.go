package mcptool

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/braidrun/braid/event"
)

// Which proxy a server is reached through: by itself none that could read a header or an argument.
func TestProxies(t *testing.T) {
	t.Parallel()
	environment := func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.env:3128") }
	for _, c := range []struct{ proxy, url, want string }{
		{"", "http://tools.example/mcp", ""},
		{"auto", "http://tools.example/mcp", ""},
		{"", "https://tools.example/mcp", "http://proxy.env:3128"},
		{"none", "https://tools.example/mcp", ""},
		{"environment", "http://tools.example/mcp", "http://proxy.env:3128"},
		{"http://user:word@own:8080", "http://tools.example/mcp", "http://user:word@own:8080"},
		{"socks5://own:1080", "https://tools.example/mcp", "socks5://own:1080"},
	} {
		config := Config{Name: "x", URL: c.url, Proxy: c.proxy}
		if err := config.check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		find, err := proxyOf(&config, environment)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if find != nil {
			if u, err := find(r); err == nil && u != nil {
				got = u.String()
			}
		}
		if got != c.want {
			t.Errorf("proxy %q to %s goes through %q, want %q", c.proxy, c.url, got, c.want)
		}
	}
	for _, bad := range []Config{
		{Name: "x", URL: "https://tools.example", Proxy: "nowhere"},
		{Name: "x", URL: "https://tools.example", Proxy: "ftp://a"},
		{Name: "x", URL: "https://tools.example", Proxy: "http://"},
		{Name: "x", Command: "sh", Proxy: "none"},
	} {
		if err := bad.check(); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%s is taken: %v", bad.Proxy, err)
		}
	}
}

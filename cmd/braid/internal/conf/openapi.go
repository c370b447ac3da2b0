package conf

import (
	"errors"
	"net/url"
	"strings"
)

// parseSchemes reads the variables with credentials by security scheme.
func parseSchemes(v string) (map[string]string, error) {
	var schemes map[string]string
	for _, pair := range Words(v) {
		scheme, variable, ok := strings.Cut(pair, "=")
		if !ok || scheme == "" || variable == "" || strings.ContainsAny(variable, "${}=:") {
			return nil, errors.New("is not a security scheme and a variable: write SCHEME=VARIABLE, such as api_key=PETSTORE_KEY")
		}
		if _, double := schemes[scheme]; double {
			return nil, errors.New("names a security scheme twice")
		}
		if schemes == nil {
			schemes = map[string]string{}
		}
		schemes[scheme] = variable
	}
	return schemes, nil
}

func parseAPIServer(to *string, v string) error {
	if v != "" {
		u, err := url.Parse(v)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return errors.New("is no address of a server: write one such as https://api.example/v1")
		}
	}
	*to = v
	return nil
}

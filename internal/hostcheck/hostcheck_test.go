package hostcheck_test

import (
	"testing"

	"github.com/braidrun/braid/internal/hostcheck"
)

func TestHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:8080": true, "[::1]:8080": true, "::1": true, "127.9.9.9": true,
		"braid.example": true, "Braid.Example:443": true, "": false, "other.example": false, "10.0.0.1": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false,
	} {
		if got := hostcheck.Host(host, []string{"braid.example"}); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]bool{
		"": true, "https://chat.example": true, "http://localhost:8080": true, "https://localhost:8080": true,
		"http://localhost:9090": false, "https://evil.example": false, "null": false, "file://localhost:8080": false, "http://%": false,
	} {
		if got := hostcheck.Origin(origin, "localhost:8080", []string{"https://chat.example"}); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
}

func TestIsOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://chat.example": true, "http://localhost:3000": true, "https://chat.example:8443": true, "http://[::1]:3000": true,
		"": false, "*": false, "null": false, "chat.example": false, "https://": false, "https://:443": false, "https://chat.example/": false,
		"https://chat.example/x": false, "https://chat.example?x": false, "https://u@chat.example": false, "https://*.example": false,
		"HTTPS://chat.example": false, "https://Chat.example": false, "https://chat.example:443": false, "http://chat.example:80": false,
		"ftp://chat.example": false, "https://chat.example:x": false, "\thttps://chat.example": false,
	} {
		if got := hostcheck.IsOrigin(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

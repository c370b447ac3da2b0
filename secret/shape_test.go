package secret_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/secret"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                       nil,
		"a key-value-pair, sk-short":             nil,
		"the password: incorrect":                nil,
		"basic understanding of matters":         nil,
		"use sk-ant-api03-AbCdEf0123456789 here": {"sk-ant-api03-AbCdEf0123456789"},
		"(ghp_0123456789abcdefghij)":             {"ghp_0123456789abcdefghij"},
		"AKIAIOSFODNN7EXAMPLE, AIza" + strings.Repeat("x", 35): {"AKIAIOSFODNN7EXAMPLE", "AIza" + strings.Repeat("x", 35)},
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!":           {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"},
		"Authorization: BEARER abcdefghijklmnop1":              {"abcdefghijklmnop1"},
		"postgres://me:hunter2@db/x":                           {"hunter2"},
		`{"password": "correct-horse-1"}`:                      {"correct-horse-1"},
		"api_key=0123456789&x=1":                               {"0123456789"},
		"xoxb-1234567890-abc and glpat-0123456789abcdef":       {"xoxb-1234567890-abc", "glpat-0123456789abcdef"},
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- x": {
			"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
		},
		"of ya29.a0AfB_byC0123456789-x.y":     {"ya29.a0AfB_byC0123456789-x.y"},
		"token=sk-ant-api03-AbCdEf0123456789": {"sk-ant-api03-AbCdEf0123456789"},
	} {
		var got []string
		for _, at := range secret.Find(text) {
			got = append(got, text[at[0]:at[1]])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

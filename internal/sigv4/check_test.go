package sigv4_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/sigv4"
)

// The example of AWS's documentation: GET of IAM's ListUsers, whose signature the
// page publishes ("Create a signed AWS API request", and its test suite).
func listUsers() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "+
		"SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")
	return r
}

func TestCheck(t *testing.T) {
	t.Parallel()
	keys := sigv4.Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2015, 8, 30, 12, 37, 0, 0, time.UTC)
	check := func(r *http.Request, body string, keys sigv4.Keys, region string, at time.Time) string {
		code, message := sigv4.Check(r, []byte(body), keys, region, "iam", at)
		if (code == "") != (message == "") {
			t.Errorf("%q: %q", code, message)
		}
		return code
	}
	header := func(name, value string) *http.Request {
		r := listUsers()
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
		return r
	}
	other := keys
	other.Secret = "other"
	session := keys
	session.Token = "session"
	elsewhere := listUsers()
	elsewhere.Host = "iam.example.com"
	asked := listUsers()
	asked.URL.RawQuery = "Action=DeleteUser&Version=2010-05-08"
	for name, c := range map[string]struct {
		got, want string
	}{
		"as published":        {check(listUsers(), "", keys, "us-east-1", at), ""},
		"other body":          {check(listUsers(), "x", keys, "us-east-1", at), sigv4.Invalid},
		"other secret":        {check(listUsers(), "", other, "us-east-1", at), sigv4.Invalid},
		"other key":           {check(listUsers(), "", sigv4.Keys{ID: "AKID"}, "us-east-1", at), sigv4.Unrecognized},
		"no token":            {check(listUsers(), "", session, "us-east-1", at), sigv4.Unrecognized},
		"other region":        {check(listUsers(), "", keys, "eu-west-1", at), sigv4.Invalid},
		"later":               {check(listUsers(), "", keys, "us-east-1", at.Add(10*time.Minute)), sigv4.Invalid},
		"sooner":              {check(listUsers(), "", keys, "us-east-1", at.Add(-10*time.Minute)), sigv4.Invalid},
		"other host":          {check(elsewhere, "", keys, "us-east-1", at), sigv4.Invalid},
		"other question":      {check(asked, "", keys, "us-east-1", at), sigv4.Invalid},
		"other type":          {check(header("Content-Type", "text/plain"), "", keys, "us-east-1", at), sigv4.Invalid},
		"unsigned session":    {check(header("X-Amzn-Bedrock-Agentcore-Runtime-Session-Id", "x"), "", keys, "us-east-1", at), sigv4.Invalid},
		"unsigned header":     {check(header("X-Amz-Target", "x"), "", keys, "us-east-1", at), sigv4.Invalid},
		"nothing":             {check(header("Authorization", ""), "", keys, "us-east-1", at), sigv4.Missing},
		"another way":         {check(header("Authorization", "Basic eA=="), "", keys, "us-east-1", at), sigv4.Incomplete},
		"half of it":          {check(header("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x"), "", keys, "us-east-1", at), sigv4.Incomplete},
		"without a date":      {check(header("X-Amz-Date", ""), "", keys, "us-east-1", at), sigv4.Incomplete},
		"with a changed sign": {check(header("Authorization", strings.Replace(listUsers().Header.Get("Authorization"), "=5d", "=5e", 1)), "", keys, "us-east-1", at), sigv4.Invalid},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	r := listUsers()
	if got := sigv4.ID(r); got != "AKIDEXAMPLE" {
		t.Error(got)
	}
	for _, given := range []string{"", "Bearer x", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE"} {
		r.Header.Set("Authorization", given)
		if got := sigv4.ID(r); got != "" {
			t.Errorf("%q: %q", given, got)
		}
	}
}

// Where only the hash of the body is known it is as good as the body.
func TestCheckHash(t *testing.T) {
	t.Parallel()
	keys := sigv4.Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2015, 8, 30, 12, 37, 0, 0, time.UTC)
	if code, _ := sigv4.CheckHash(listUsers(), sigv4.Hash(nil), keys, "us-east-1", "iam", at); code != "" {
		t.Error(code)
	}
	if code, _ := sigv4.CheckHash(listUsers(), sigv4.Hash([]byte("x")), keys, "us-east-1", "iam", at); code != sigv4.Invalid {
		t.Error(code)
	}
}

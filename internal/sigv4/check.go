package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Keys are the accepted credentials.
type Keys struct {
	ID, Secret string
	// Token is the session token. It is "" for keys without a session.
	Token string
}

// These are the error codes of [Check].
const (
	Missing      = "MissingAuthenticationTokenException"
	Incomplete   = "IncompleteSignatureException"
	Unrecognized = "UnrecognizedClientException"
	Invalid      = "InvalidSignatureException"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
	// skew is how far clocks may differ.
	skew = 5 * time.Minute
)

// ID returns the id of the access key in a request's signature, or "" if there is none. It verifies
// nothing.
func ID(r *http.Request) string {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return id
}

// Hash returns a body's SHA-256 as signatures contain it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Check verifies the signature of a request. It returns AWS's code and message for an error. An
// empty code means that the signature is valid.
func Check(r *http.Request, body []byte, keys Keys, region, service string, now time.Time) (code, message string) {
	return CheckHash(r, Hash(body), keys, region, service, now)
}

// CheckHash is [Check] for a body that was not read yet: hash comes from a signed header, and the
// caller must compare it with the body.
func CheckHash(r *http.Request, hash string, keys Keys, region, service string, now time.Time) (code, message string) {
	given := r.Header.Get("Authorization")
	if given == "" {
		return Missing, "Missing Authentication Token"
	}
	rest, ok := strings.CutPrefix(given, algorithm+" ")
	if !ok {
		return Incomplete, "Unsupported AWS 'algorithm'."
	}
	parts := map[string]string{}
	for p := range strings.SplitSeq(rest, ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(p), "="); ok {
			parts[name] = value
		}
	}
	id, scope, _ := strings.Cut(parts["Credential"], "/")
	signed := strings.Split(parts["SignedHeaders"], ";")
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse(stamp, date)
	switch {
	case scope == "" || parts["Signature"] == "" || parts["SignedHeaders"] == "" || err != nil:
		return Incomplete, "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters, and 'X-Amz-Date'."
	case id != keys.ID || r.Header.Get("X-Amz-Security-Token") != keys.Token:
		return Unrecognized, "The security token included in the request is invalid."
	case scope != strings.Join([]string{date[:8], region, service, "aws4_request"}, "/"):
		return Invalid, "Credential should be scoped to a valid region and correct service: '" + service + "'."
	case !slices.Contains(signed, "host") || !slices.IsSorted(signed) || unsigned(r, signed):
		return Invalid, "'Host' and all 'X-Amz-' headers must be signed, in order."
	case at.Before(now.Add(-skew)):
		return Invalid, "Signature expired: " + date + " is now earlier than " + now.Add(-skew).UTC().Format(stamp)
	case at.After(now.Add(skew)):
		return Invalid, "Signature not yet current: " + date + " is still later than " + now.Add(skew).UTC().Format(stamp)
	}
	if !hmac.Equal([]byte(parts["Signature"]), []byte(sign(r, hash, keys.Secret, date, scope, signed))) {
		return Invalid, "The request signature we calculated does not match the signature you provided. " +
			"Check your AWS Secret Access Key and signing method."
	}
	return "", ""
}

// unsigned reports whether a header that must be signed is not: AWS's own headers and those that
// select the session.
func unsigned(r *http.Request, signed []string) bool {
	for name := range r.Header {
		name = strings.ToLower(name)
		if (strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-amzn-bedrock-")) && !slices.Contains(signed, name) {
			return true
		}
	}
	return false
}

// sign returns the correct signature of the request.
func sign(r *http.Request, hash, secret, date, scope string, signed []string) string {
	var request strings.Builder
	request.WriteString(r.Method + "\n" + path(r.URL) + "\n" + strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n")
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length": // net/http keeps it apart
			value = r.Header.Get(name)
			if value == "" {
				value = length(r)
			}
		}
		request.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	request.WriteString("\n" + strings.Join(signed, ";") + "\n" + hash)
	text := strings.Join([]string{algorithm, date, scope, Hash([]byte(request.String()))}, "\n")
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum(nil)
}

// path returns the path of the request with each segment encoded once more, as all services but S3
// do.
func path(u *url.URL) string {
	p := u.EscapedPath()
	if p == "" {
		return "/"
	}
	var b strings.Builder
	for i := range len(p) {
		c := p[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

func length(r *http.Request) string { return strconv.FormatInt(r.ContentLength, 10) }

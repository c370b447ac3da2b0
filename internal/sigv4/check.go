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

// Keys are the only ones that are taken.
type Keys struct {
	ID, Secret string
	// Token is that of a session; "" is for keys without one.
	Token string
}

// The codes of errors that [Check] gives.
const (
	Missing      = "MissingAuthenticationTokenException"
	Incomplete   = "IncompleteSignatureException"
	Unrecognized = "UnrecognizedClientException"
	Invalid      = "InvalidSignatureException"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
	// skew is how far clocks may be apart.
	skew = 5 * time.Minute
)

// ID is the id of the access key that a request claims to be signed with; "" where it
// claims none. Nothing is verified yet.
func ID(r *http.Request) string {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return id
}

// Hash is a body's SHA-256 as a signature has it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Check verifies the signature of a request as it came. It gives AWS's code of the
// error and its words; code "" says that the signature holds.
func Check(r *http.Request, body []byte, keys Keys, region, service string, now time.Time) (code, message string) {
	return CheckHash(r, Hash(body), keys, region, service, now)
}

// CheckHash is [Check] for a body of which only the hash is known, because it is said in
// a signed header and the body has yet to be read: then the caller compares the two.
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

// unsigned reports whether a header is there that must be signed and is not: besides
// AWS's own those that say whose session is meant.
func unsigned(r *http.Request, signed []string) bool {
	for name := range r.Header {
		name = strings.ToLower(name)
		if (strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-amzn-bedrock-")) && !slices.Contains(signed, name) {
			return true
		}
	}
	return false
}

// sign is the signature that the request should have.
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

// path is the path as it was sent, each of its segments encoded once more: so do
// all services but S3.
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

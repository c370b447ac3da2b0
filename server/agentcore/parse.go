package agentcore

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/front"
)

// parse reads an invocation.
func (x *exchange) parse(body []byte) (*asked, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(body) {
		return nil, &fault{http.StatusBadRequest, validation, "Invalid encoding", "the body is not valid UTF-8"}
	}
	if err := strictjson.Check(body, strictjson.DefaultDepth); err != nil {
		return nil, &fault{http.StatusBadRequest, validation, "Invalid JSON", err.Error()}
	}
	var in payload
	body = bytes.TrimSpace(body)
	switch body[0] {
	case '{':
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, front.Bad("a field of the body has the wrong type", `send {"prompt": "…"}`)
		}
	case '"':
		in.Prompt = body
	default:
		return nil, front.Bad("the body is not a JSON object", `send {"prompt": "…"}`)
	}
	out := &asked{action: in.Action, stream: x.h.options.Stream}
	if x.h.options.Debug && in.Action != "" {
		return out, nil
	}
	if err := out.say(&in); err != nil {
		return nil, err
	}
	words := in.Stream
	if v := x.R.Header.Get(customHeader + "Braid-Stream"); v != "" {
		words = append(words, strings.Split(v, ",")...)
	}
	if len(words) > 0 {
		s, err := ParseStream(words)
		if err != nil {
			return nil, err
		}
		out.stream = s
	}
	own, err := in.Read()
	if err != nil {
		return nil, err
	}
	out.own = own
	own.Set(&out.run)
	if s := string(in.OutputSchema); s != "" && s != "null" {
		out.run.OutputSchema = in.OutputSchema
	}
	out.run.Tokens, out.run.Shown = x.tokens()
	out.run.Key = x.retryID()
	if len(out.run.Key) > front.MaxID {
		return nil, front.Bad("the amz-sdk-invocation-id is too long", "send at most 200 bytes")
	}
	return out, nil
}

// tokens returns the secrets that the headers carry for tools: the caller's headers by their
// names after the prefix, in lower case, and the platform's tokens. They stay in memory and last
// for the run. shown are the header names whose values are not secret.
func (x *exchange) tokens() (out map[string]secret.Secret, shown []string) {
	out = map[string]secret.Secret{}
	put := func(name, value string) {
		if value != "" {
			out[name] = secret.New(value)
		}
	}
	for name := range x.R.Header {
		if rest, ok := strings.CutPrefix(name, customHeader); ok && rest != "Braid-Stream" {
			put(strings.ToLower(rest), x.R.Header.Get(name))
			if !secret.Names(rest) {
				shown = append(shown, strings.ToLower(rest))
			}
		}
	}
	for _, name := range []string{"Workloadaccesstoken", "X-Amz-Bedrock-Agentcore-Identity-Wat"} { // the later name takes precedence
		put("workload_access_token", x.R.Header.Get(name))
	}
	put("oauth2_callback_url", x.R.Header.Get("Oauth2callbackurl"))
	shown = append(shown, "oauth2_callback_url")
	if x.h.options.TrustPlatform && !x.door { // otherwise it is the credential for this server
		put("authorization", x.R.Header.Get("Authorization"))
	}
	return out, shown
}

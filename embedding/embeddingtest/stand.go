// Package embeddingtest is the contract of [embedding.Model] as tests, with fake servers of the
// vendors. They refuse what the vendors refuse.
package embeddingtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/braidrun/braid/internal/sigv4"
)

// Key is the key of the fake servers. For Bedrock it is the secret of the access key "AKIDTEST".
const (
	Key    = "key-of-the-stand-in"
	KeyID  = "AKIDTEST"
	Region = "us-east-1"
)

// Fault is an error that a fake server makes.
type Fault string

// These are the faults.
const (
	None        Fault = ""
	Missing     Fault = "a vector is missing"
	More        Fault = "there is one vector too many"
	Empty       Fault = "a vector is empty"
	Ragged      Fault = "a vector is shorter than the others"
	OtherSize   Fault = "all vectors have other dimensions than were asked for"
	NaN         Fault = "a number is NaN"
	Endless     Fault = "a number is endless"
	Zero        Fault = "a vector is all zeros"
	Words       Fault = "a number is a word"
	Page        Fault = "the answer is a page"
	Cut         Fault = "the answer is cut off"
	Gigabyte    Fault = "the answer does not end"
	Silence     Fault = "nothing comes"
	Elsewhere   Fault = "the caller is sent elsewhere"
	Throttled   Fault = "the caller asks too often"
	Broken      Fault = "the server fails"
	NoUsage     Fault = "no usage is told"
	FalseUsage  Fault = "a usage is told that cannot be"
	TwiceIndex  Fault = "two vectors have the same index"
	FarIndex    Fault = "an index is beyond the texts"
	OtherOrder  Fault = "the vectors stand in another order, by their index"
	OtherLength Fault = "the vectors do not have the length one"
)

// Stand is a fake server of a vendor. It is safe for concurrent use.
type Stand struct {
	*httptest.Server

	mu     sync.Mutex
	fault  Fault
	bodies []json.RawMessage
	// elsewhere counts the calls that followed a redirect.
	elsewhere int
	// ahead is how far the server's clock is ahead of this machine's.
	ahead *atomic.Int64
}

// Ahead sets how far the clock of Bedrock's fake server is ahead of this machine's.
func (s *Stand) Ahead(by time.Duration) { s.ahead.Store(int64(by)) }

// Wrong makes the server make an error from now on.
func (s *Stand) Wrong(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Bodies returns the bodies of all requests so far.
func (s *Stand) Bodies() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// followed returns how many calls followed a redirect.
func (s *Stand) followed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elsewhere
}

// rules describe a vendor's protocol.
type rules struct {
	// admit reads a request. A refusal is a message with the status and the vendor's code.
	admit func(r *http.Request, body []byte) (texts []string, dimensions int, no *refusal)
	// answer returns a response with vectors.
	answer func(vectors []string, tokens string, order []int) string
	// refuse returns an error response.
	refuse func(no *refusal) (header http.Header, body string)
	// counts sets the number of tokens if the vendor reports it in a header.
	counts func(h http.Header, tokens string)
}

type refusal struct {
	status        int
	word, message string
}

func start(v rules) *Stand {
	s := &Stand{}
	// Set before the first request can come.
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, v) }))
	s.Start()
	return s
}

func (s *Stand) serve(w http.ResponseWriter, r *http.Request, v rules) {
	if strings.HasPrefix(r.URL.Path, "/elsewhere") {
		s.mu.Lock()
		s.elsewhere++
		s.mu.Unlock()
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	fault := s.fault
	s.mu.Unlock()
	say := func(no *refusal) {
		h, text := v.refuse(no)
		maps.Copy(w.Header(), h)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(no.status)
		_, _ = io.WriteString(w, text)
	}
	switch fault {
	case Silence:
		<-r.Context().Done()
		return
	case Elsewhere:
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		return
	case Throttled:
		w.Header().Set("Retry-After", "7")
		who := "you"
		if bearer(r) || r.Header.Get("X-Goog-Api-Key") == Key { // other vendors never send it
			who = Key
		}
		say(&refusal{http.StatusTooManyRequests, "ThrottlingException", "Too many requests from " + who + "."})
		return
	case Broken:
		say(&refusal{http.StatusInternalServerError, "InternalServerException", "Something broke."})
		return
	case Page:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Welcome.</html>")
		return
	case Gigabyte:
		w.Header().Set("Content-Type", "application/json")
		for block := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
		return
	}
	texts, dimensions, no := v.admit(r, body)
	if no != nil {
		say(no)
		return
	}
	text, tokens := v.write(texts, dimensions, fault)
	if v.counts != nil && tokens != "" {
		v.counts(w.Header(), tokens)
	}
	w.Header().Set("Content-Type", "application/json")
	if fault == Cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+100))
		text = text[:len(text)/2]
	}
	_, _ = io.WriteString(w, text)
}

// write returns the response to texts.
func (v rules) write(texts []string, dimensions int, fault Fault) (body, tokens string) {
	if fault == OtherSize {
		dimensions++
	}
	count, order := 0, make([]int, len(texts))
	vectors := make([]string, len(texts))
	for i, text := range texts {
		order[i] = i
		count += len(strings.Fields(text))
		vectors[i] = written(Vector(text, dimensions), fault == OtherLength)
	}
	last := len(vectors) - 1
	switch fault {
	case Missing:
		vectors, order = vectors[:last], order[:last]
	case More:
		vectors, order = append(slices.Clip(vectors), vectors[0]), append(order, len(order)) //nolint:makezero // one too many on purpose
	case Empty:
		vectors[last] = "[]"
	case Ragged:
		vectors[last] = "[1]"
	case NaN:
		vectors[last] = "[NaN" + vectors[last][strings.IndexByte(vectors[last], ','):]
	case Endless:
		vectors[last] = "[1e999" + vectors[last][strings.IndexByte(vectors[last], ','):]
	case Words:
		vectors[last] = `["1"` + vectors[last][strings.IndexByte(vectors[last], ','):]
	case Zero:
		vectors[last] = "[" + strings.TrimSuffix(strings.Repeat("0,", dimensions), ",") + "]"
	case TwiceIndex:
		order[last] = 0
	case FarIndex:
		order[last] = len(order) + 7
	case OtherOrder:
		slices.Reverse(vectors)
		slices.Reverse(order)
	}
	tokens = strconv.Itoa(count)
	switch fault {
	case NoUsage:
		tokens = ""
	case FalseUsage:
		tokens = "4611686018427387904"
	}
	return v.answer(vectors, tokens, order), tokens
}

func written(v []float32, longer bool) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, x := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		if longer {
			x *= 3
		}
		b.WriteString(strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	b.WriteByte(']')
	return b.String()
}

// Vector returns the fake servers' vector of a text. Each word adds to some places, so texts with
// the same words are close to each other.
func Vector(text string, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New32a()
		_, _ = io.WriteString(h, word)
		v[int(h.Sum32())%dimensions]++
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// members refuses an unknown member of a JSON object.
func members(body []byte, known ...string) (string, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return "", false
	}
	for name := range all {
		if !slices.Contains(known, name) {
			return name, false
		}
	}
	return "", true
}

// bearer reports whether a request has the key.
func bearer(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+Key }

// tooLong reports whether a text is too long for the fake model.
func tooLong(texts []string, most int) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return len(strings.Fields(s)) > most })
}

func bad(message string) *refusal {
	return &refusal{http.StatusBadRequest, "invalid_request_error", message}
}

func quote(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string can always be written
	return string(b)
}

// OpenAI starts a server with OpenAI's API below /v1. It has the models of text-embedding-3 and
// text-embedding-ada-002.
func OpenAI() *Stand {
	return start(rules{
		admit: func(r *http.Request, body []byte) ([]string, int, *refusal) {
			var in struct {
				Model      string   `json:"model"`
				Input      []string `json:"input"`
				Dimensions *int     `json:"dimensions"`
			}
			sizes := map[string]int{"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
			switch name, ok := members(body, "model", "input", "dimensions", "encoding_format", "user"); {
			case !bearer(r):
				return nil, 0, &refusal{http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: " + Key + "."}
			case r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings":
				return nil, 0, &refusal{http.StatusNotFound, "not_found", "Invalid URL."}
			case !ok || json.Unmarshal(body, &in) != nil:
				return nil, 0, bad("Unrecognized request argument supplied: " + name)
			case sizes[in.Model] == 0:
				return nil, 0, &refusal{http.StatusNotFound, "model_not_found", "The model does not exist."}
			case len(in.Input) == 0 || len(in.Input) > 2048 || slices.Contains(in.Input, ""):
				return nil, 0, bad("'$.input' is invalid.")
			case in.Dimensions != nil && in.Model == "text-embedding-ada-002":
				return nil, 0, bad("This model does not support specifying dimensions.")
			case in.Dimensions != nil && (*in.Dimensions < 1 || *in.Dimensions > sizes[in.Model]):
				return nil, 0, bad("Invalid value for 'dimensions'.")
			case tooLong(in.Input, 8192):
				return nil, 0, &refusal{http.StatusBadRequest, "invalid_request_error", "This model's maximum context length is 8192 tokens."}
			}
			if in.Dimensions != nil {
				return in.Input, *in.Dimensions, nil
			}
			return in.Input, sizes[in.Model], nil
		},
		answer: func(vectors []string, tokens string, order []int) string {
			var b strings.Builder
			b.WriteString(`{"object": "list", "data": [`)
			for i, v := range vectors {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, `{"object": "embedding", "index": %d, "embedding": %s}`, order[i], v)
			}
			b.WriteString(`], "model": "m"`)
			if tokens != "" {
				fmt.Fprintf(&b, `, "usage": {"prompt_tokens": %s, "total_tokens": %s}`, tokens, tokens)
			}
			return b.String() + "}"
		},
		refuse: func(no *refusal) (http.Header, string) {
			return nil, fmt.Sprintf(`{"error": {"message": %s, "type": "invalid_request_error", "param": null, "code": %s}}`,
				quote(no.message), quote(no.word))
		},
	})
}

// Gemini starts a server with the Gemini API. It has gemini-embedding-001, which takes task types,
// and gemini-embedding-2, which does not.
func Gemini() *Stand {
	const path = "/v1beta/models/"
	return start(rules{
		admit: func(r *http.Request, body []byte) ([]string, int, *refusal) {
			var in struct {
				Requests []struct {
					Model   string `json:"model"`
					Content struct {
						Parts []struct {
							Text string `json:"text"`
						} `json:"parts"`
					} `json:"content"`
					Task string `json:"taskType"`
					Size *int   `json:"outputDimensionality"`
				} `json:"requests"`
			}
			model, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, path), ":batchEmbedContents")
			switch {
			case r.Header.Get("X-Goog-Api-Key") != Key || r.URL.RawQuery != "":
				return nil, 0, &refusal{http.StatusUnauthorized, "UNAUTHENTICATED", "API key " + Key + " not valid."}
			case !ok || model != "gemini-embedding-001" && model != "gemini-embedding-2":
				return nil, 0, &refusal{http.StatusNotFound, "NOT_FOUND", "models/" + model + " is not found for API version v1beta."}
			case json.Unmarshal(body, &in) != nil || len(in.Requests) == 0:
				return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid JSON payload received."}
			case len(in.Requests) > 100:
				return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "at most 100 requests can be in one batch"}
			}
			var texts []string
			size := 3072
			for _, one := range in.Requests {
				switch {
				case one.Model != "models/"+model || len(one.Content.Parts) != 1 || one.Content.Parts[0].Text == "":
					return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "Unsupported request."}
				case model == "gemini-embedding-2" && one.Task != "":
					return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "task_type is not supported by this model."}
				case one.Task != "" && one.Task != "RETRIEVAL_QUERY" && one.Task != "RETRIEVAL_DOCUMENT":
					return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid value at 'requests[0].task_type'."}
				}
				if one.Size != nil {
					if size = *one.Size; size < 128 || size > 3072 {
						return nil, 0, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", "output_dimensionality is out of range."}
					}
				}
				texts = append(texts, one.Content.Parts[0].Text)
			}
			if tooLong(texts, 8192) {
				return nil, 0, &refusal{
					http.StatusBadRequest, "INVALID_ARGUMENT",
					"The input token count exceeds the maximum number of tokens allowed.",
				}
			}
			return texts, size, nil
		},
		answer: func(vectors []string, tokens string, _ []int) string {
			for i, v := range vectors {
				vectors[i] = `{"values": ` + v + `}`
			}
			usage := ""
			if tokens != "" {
				usage = `, "usageMetadata": {"promptTokenCount": ` + tokens + `}`
			}
			return `{"embeddings": [` + strings.Join(vectors, ", ") + `]` + usage + `}`
		},
		refuse: func(no *refusal) (http.Header, string) {
			return nil, fmt.Sprintf(`{"error": {"code": %d, "message": %s, "status": %s}}`, no.status, quote(no.message), quote(no.word))
		},
	})
}

// Ollama starts a server with Ollama's API. It has nomic-embed-text, with 768 dimensions.
func Ollama() *Stand {
	return start(rules{
		admit: func(r *http.Request, body []byte) ([]string, int, *refusal) {
			var in struct {
				Model      string   `json:"model"`
				Input      []string `json:"input"`
				Truncate   *bool    `json:"truncate"`
				Dimensions int      `json:"dimensions"`
			}
			switch name, ok := members(body, "model", "input", "truncate", "dimensions", "options", "keep_alive"); {
			case r.URL.Path != "/api/embed":
				return nil, 0, &refusal{http.StatusNotFound, "", "404 page not found"}
			case !ok || json.Unmarshal(body, &in) != nil || len(in.Input) == 0:
				return nil, 0, &refusal{http.StatusBadRequest, "", "invalid input type " + name}
			case in.Model != "nomic-embed-text":
				return nil, 0, &refusal{http.StatusNotFound, "", "model " + quote(in.Model) + " not found, try pulling it first"}
			case in.Truncate != nil && !*in.Truncate && tooLong(in.Input, 8192):
				return nil, 0, &refusal{http.StatusBadRequest, "", "the input length exceeds the context length"}
			case in.Dimensions > 0:
				return in.Input, in.Dimensions, nil
			}
			return in.Input, 768, nil
		},
		answer: func(vectors []string, tokens string, _ []int) string {
			usage := ""
			if tokens != "" {
				usage = `, "prompt_eval_count": ` + tokens
			}
			return `{"model": "nomic-embed-text", "embeddings": [` + strings.Join(vectors, ", ") + `], "total_duration": 1` + usage + `}`
		},
		refuse: func(no *refusal) (http.Header, string) { return nil, `{"error": ` + quote(no.message) + `}` },
	})
}

// Bedrock starts a server with the API of Bedrock's runtime, in [Region]. It has two Titan models
// and Cohere's models, and verifies signatures with [KeyID] and [Key], or [Key] as a bearer token.
func Bedrock() *Stand {
	var titan bool
	var mu sync.Mutex
	ahead := &atomic.Int64{}
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := start(rules{
		admit: func(r *http.Request, body []byte) ([]string, int, *refusal) {
			if !bearer(r) {
				if word, message := sigv4.Check(r, body, sigv4.Keys{ID: KeyID, Secret: Key}, Region, "bedrock", now()); word != "" {
					return nil, 0, &refusal{http.StatusForbidden, word, message}
				}
			}
			id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/model/"), "/invoke")
			if !ok || !strings.Contains(r.URL.EscapedPath(), "%3A") && strings.Contains(id, ":") {
				return nil, 0, &refusal{http.StatusNotFound, "UnknownOperationException", "No such operation."}
			}
			isTitan := strings.HasPrefix(id, "amazon.titan-embed-text-v")
			mu.Lock()
			titan = isTitan
			mu.Unlock()
			switch {
			case isTitan:
				return admitTitan(id, body)
			case strings.HasPrefix(id, "cohere.embed-"):
				return admitCohere(id, body)
			}
			return nil, 0, &refusal{http.StatusNotFound, "ResourceNotFoundException", "Could not resolve the foundation model."}
		},
		answer: func(vectors []string, tokens string, _ []int) string {
			mu.Lock()
			defer mu.Unlock()
			if !titan {
				return `{"id": "x", "response_type": "embeddings_by_type", "embeddings": {"float": [` +
					strings.Join(vectors, ", ") + `]}, "texts": []}`
			}
			if tokens != "" {
				tokens = `, "inputTextTokenCount": ` + tokens
			}
			if len(vectors) == 0 {
				return `{"embeddingsByType": {}` + tokens + `}`
			}
			return `{"embedding": ` + vectors[0] + tokens + `}`
		},
		counts: func(h http.Header, tokens string) { h.Set("X-Amzn-Bedrock-Input-Token-Count", tokens) },
		refuse: func(no *refusal) (http.Header, string) {
			return http.Header{
				"X-Amzn-Errortype": {no.word + ":http://internal.amazon.com/coral/"}, "Date": {now().UTC().Format(http.TimeFormat)},
			}, `{"message": ` + quote(no.message) + `}`
		},
	})
	s.ahead = ahead
	return s
}

func malformed(what string) *refusal {
	return &refusal{http.StatusBadRequest, "ValidationException", "Malformed input request: " + what + ", please reformat your input and try again."}
}

func admitTitan(id string, body []byte) ([]string, int, *refusal) {
	var in struct {
		Text string `json:"inputText"`
		Size *int   `json:"dimensions"`
	}
	second, known := strings.HasPrefix(id, "amazon.titan-embed-text-v2"), []string{"inputText"}
	if second {
		known = []string{"inputText", "dimensions", "normalize", "embeddingTypes"}
	}
	switch name, ok := members(body, known...); {
	case !ok:
		return nil, 0, malformed("extraneous key [" + name + "] is not permitted")
	case json.Unmarshal(body, &in) != nil || in.Text == "":
		return nil, 0, malformed("expected minLength: 1, actual: 0")
	case tooLong([]string{in.Text}, 8192):
		return nil, 0, &refusal{http.StatusBadRequest, "ValidationException", "400 Bad Request: Too many input tokens. Max input tokens: 8192."}
	case !second:
		return []string{in.Text}, 1536, nil
	case in.Size == nil:
		return []string{in.Text}, 1024, nil
	case !slices.Contains([]int{256, 512, 1024}, *in.Size):
		return nil, 0, malformed("dimensions is not a valid enum value")
	}
	return []string{in.Text}, *in.Size, nil
}

func admitCohere(id string, body []byte) ([]string, int, *refusal) {
	var in struct {
		Texts []string `json:"texts"`
		Kind  string   `json:"input_type"`
		Size  *int     `json:"output_dimension"`
	}
	known := []string{"texts", "input_type", "truncate", "embedding_types"}
	fourth := strings.HasPrefix(id, "cohere.embed-v4")
	if fourth {
		known = append(known, "output_dimension", "images", "inputs", "max_tokens")
	}
	switch name, ok := members(body, known...); {
	case !ok:
		return nil, 0, malformed("extraneous key [" + name + "] is not permitted")
	case json.Unmarshal(body, &in) != nil || len(in.Texts) == 0 || len(in.Texts) > 96:
		return nil, 0, malformed("#/texts: expected maxItems: 96")
	case in.Kind != "search_document" && in.Kind != "search_query":
		return nil, 0, malformed("#: required key [input_type] not found")
	case !fourth && slices.ContainsFunc(in.Texts, func(s string) bool { return len(s) > 2048 }), tooLong(in.Texts, 100_000):
		return nil, 0, malformed("#/texts/0: expected maxLength: 2048")
	case in.Size != nil && !slices.Contains([]int{256, 512, 1024, 1536}, *in.Size):
		return nil, 0, malformed("#/output_dimension is not a valid enum value")
	case in.Size != nil:
		return in.Texts, *in.Size, nil
	case fourth:
		return in.Texts, 1536, nil
	}
	return in.Texts, 1024, nil
}

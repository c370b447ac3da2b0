package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire/native"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// operation is what the API's document says about one route. The schemas come from the
// types that the handlers read and write, so that the two cannot part.
type operation struct {
	id, summary string
	query       map[string]string
	headers     map[string]string
	body        reflect.Type
	bodyOption  bool
	// example is a body that is taken; the table of doors asks with it.
	example string
	// raw is the media type of a body that is not JSON.
	raw string
	// form says that the body may be a form of files instead.
	form    bool
	answers map[int]answered
	open    bool
}

type answered struct {
	about string
	// of is the type of a JSON answer; nil has none. kind is another media type.
	of   reflect.Type
	kind string
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

var filePath = map[string]string{"path": "The path of the file in the workspace."}

var cursorHeader = map[string]string{"Last-Event-ID": "The id of the last frame that the reader has."}

// operations is the document, by method and path.
var operations = func() map[string]operation {
	all := adminOperations()
	maps.Copy(all, ownOperations)
	return all
}()

// ownOperations are those of a tenant's own conversations, and of the server.
var ownOperations = map[string]operation{
	"GET /healthz":      {id: "health", summary: "Says that the process answers.", open: true, answers: map[int]answered{200: {"It does.", typeOf[statusBody](), ""}}},
	"GET /readyz":       {id: "ready", summary: "Says that the server can do its work.", open: true, answers: map[int]answered{200: {"It can.", typeOf[statusBody](), ""}, 503: {"Not now.", typeOf[native.ErrorBody](), ""}}},
	"GET /openapi.json": {id: "document", summary: "This document.", open: true, answers: map[int]answered{200: {"The document.", nil, "application/json"}}},
	"GET /metrics":      {id: "metrics", summary: "Metrics for Prometheus.", answers: map[int]answered{200: {"The metrics.", nil, "text/plain"}}},
	"GET /v1/models":    {id: "listModels", summary: "Lists what a run may name as its model.", answers: map[int]answered{200: {"The models.", typeOf[list[modelBody]](), ""}}},
	"GET /v1/mcp-grants": {
		id: "listOwnMCPGrants", summary: "Lists what the credential's user has granted to MCP servers.", query: pageQuery,
		answers: map[int]answered{200: {"A page.", typeOf[page[directory.MCPGrant]](), ""}},
	},
	"POST /v1/mcp-grants/{server}": {
		id: "beginOwnMCPGrant", summary: "Begins to sign the credential's user in to an MCP server, beside any run. The link is a secret of the user.",
		answers: map[int]answered{201: {"The link, also of a sign-in that had begun before.", typeOf[service.SignInLink](), ""}, 409: {"It is not active.", typeOf[native.ErrorBody](), ""}},
	},
	"DELETE /v1/mcp-grants/{server}": {
		id: "revokeOwnMCPGrant", summary: "Ends the grant of the credential's user for an MCP server, here and at its authorization server.",
		answers: map[int]answered{204: {about: "It is gone."}},
	},
	"POST /v1/conversations": {
		id: "createConversation", summary: "Makes a conversation.", body: typeOf[createRequest](), bodyOption: true,
		answers: map[int]answered{201: {"The conversation.", typeOf[conversationState](), ""}},
	},
	"GET /v1/conversations": {
		id: "listConversations", summary: "Lists conversations, newest first.",
		query:   map[string]string{"limit": "How many, at most 100; 20 where it is left out.", "cursor": "next_cursor of the page before.", "archived": "true lists the archived ones instead.", "user": "Of this user; empty lists those of no user.", "agent": "Of this agent.", "status": standing},
		answers: map[int]answered{200: {"A page.", typeOf[page[conversationBody]](), ""}},
	},
	"GET /v1/conversations/{id}": {id: "getConversation", summary: "Gives a conversation as it stands.", answers: map[int]answered{200: {"The conversation.", typeOf[conversationState](), ""}}},
	"PATCH /v1/conversations/{id}": {
		id: "updateConversation", summary: "Renames, archives or labels a conversation; a session_id of null has the next run begin a session.", body: typeOf[updateRequest](), example: `{"title": "Lisbon in May"}`,
		answers: map[int]answered{200: {"The conversation.", typeOf[conversationState](), ""}},
	},
	"DELETE /v1/conversations/{id}": {id: "deleteConversation", summary: "Removes a conversation with everything that was said in it.", answers: map[int]answered{204: {about: "It is gone."}}},
	"POST /v1/conversations/{id}/reset": {
		id: "resetConversation", summary: "Has the next run begin a new session: the model sees nothing of what was before.",
		answers: map[int]answered{200: {"The conversation.", typeOf[conversationState](), ""}},
	},
	"POST /v1/conversations/{id}/fork": {
		id: "forkConversation", summary: "Makes a conversation that knows what was said up to an event.", body: typeOf[forkRequest](), bodyOption: true,
		answers: map[int]answered{201: {"The new conversation.", typeOf[conversationState](), ""}},
	},
	"GET /v1/conversations/{id}/export": {id: "exportConversation", summary: "Gives the whole log, one event a line.", answers: map[int]answered{200: {"The events.", nil, "application/x-ndjson"}}},
	"GET /v1/conversations/{id}/files": {
		id: "listFiles", summary: "Lists the files of the conversation's workspace by their paths.",
		query:   map[string]string{"folder": "Only files in this folder, at any depth.", "after": "The path of the last file that the reader has.", "limit": "How many, at most 1000; 100 where it is left out."},
		answers: map[int]answered{200: {"A page.", typeOf[filePage](), ""}},
	},
	"GET /v1/conversations/{id}/files/content": {
		id: "readFile", summary: "Gives the bytes of a file.", query: filePath,
		answers: map[int]answered{200: {"The bytes. The entity tag is the file's version.", nil, "application/octet-stream"}},
	},
	"PUT /v1/conversations/{id}/files/content": {
		id: "writeFile", summary: "Stores the body as a file, in place of one with this path.", query: filePath, raw: "application/octet-stream",
		headers: map[string]string{"If-Match": "The entity tag that the file must have.", "If-None-Match": "* stores a new file only."},
		answers: map[int]answered{200: {"The file.", typeOf[fileBody](), ""}, 409: {"The condition does not hold.", typeOf[native.ErrorBody](), ""}},
	},
	"DELETE /v1/conversations/{id}/files/content": {
		id: "removeFile", summary: "Removes a file.", query: filePath, answers: map[int]answered{204: {about: "It is gone."}},
	},
	"GET /v1/conversations/{id}/files/archive": {
		id: "readFiles", summary: "Gives all files as a zip archive.", answers: map[int]answered{200: {"The archive.", nil, "application/zip"}},
	},
	"POST /v1/conversations/{id}/files/archive": {
		id: "writeFiles", summary: "Stores the files of a zip archive, each in place of one with its path.", raw: "application/zip",
		answers: map[int]answered{200: {"The stored files.", typeOf[list[fileBody]](), ""}},
	},
	"GET /v1/conversations/{id}/events": {
		id: "listEvents", summary: "Reads the log.",
		query:   map[string]string{"after": "The seq of the last event that the reader has.", "limit": "How many, at most 1000; 100 where it is left out. A page of large events ends earlier, after about 4 MiB, with has_more."},
		answers: map[int]answered{200: {"A page.", typeOf[eventPage](), ""}},
	},
	"GET /v1/conversations/{id}/stream": {
		id: "streamConversation", summary: "Follows a conversation over all its runs.", query: map[string]string{"after": "As Last-Event-ID."}, headers: cursorHeader,
		answers: map[int]answered{200: {"Server-sent events; see the frames below components.", nil, "text/event-stream"}},
	},
	"GET /v1/conversations/{id}/questions": {id: "listQuestions", summary: "Lists what the waiting run wants to know.", answers: map[int]answered{200: {"The questions.", typeOf[list[questionBody]](), ""}}},
	"POST /v1/conversations/{id}/questions/{token}": {
		id: "answerQuestion", summary: "Answers a question, once. The run goes on.", body: typeOf[answerRequest](), example: `{"answer": true}`,
		answers: map[int]answered{200: {"The run.", typeOf[runBrief](), ""}},
	},
	"POST /v1/conversations/{id}/runs": {
		id: "startRun", summary: "Asks for a run: a stream, one JSON (Accept: application/json), or 202 at once (Prefer: respond-async).", body: typeOf[runRequest](), example: `{"user_input": "What is 6 times 7?"}`,
		headers: map[string]string{"Idempotency-Key": "The same key and body is the same run, streamed from its beginning.", "Last-Event-ID": "For a repeated request: the id of the last frame that the reader has.", "Prefer": "respond-async answers at once.", "Traceparent": "The distributed trace (W3C) that the run belongs to."},
		answers: map[int]answered{
			200: {"The stream, or the result.", typeOf[native.Result](), "text/event-stream"}, 202: {"The run was accepted, or waits for a person.", typeOf[accepted](), ""},
			409: {"Another run is open, or the conversation is archived.", typeOf[native.ErrorBody](), ""}, 422: {"There is no such model, the output_schema cannot be used, or the key came with another body.", typeOf[native.ErrorBody](), ""},
			502: {"The run failed.", typeOf[native.ErrorBody](), ""}, 504: {"The run's time was over; this is what there is.", typeOf[native.Result](), ""},
		},
	},
	"GET /v1/conversations/{id}/runs": {
		id: "listRuns", summary: "Lists the runs by their turn.",
		query:   map[string]string{"after": "The turn of the last run that the reader has.", "limit": "How many, at most 1000; 100 where it is left out."},
		answers: map[int]answered{200: {"A page.", typeOf[runPage](), ""}},
	},
	"GET /v1/conversations/{id}/runs/{run}":         {id: "getRun", summary: "Gives a run, with its result once it has ended.", answers: map[int]answered{200: {"The run.", typeOf[runBody](), ""}}},
	"POST /v1/conversations/{id}/runs/{run}/cancel": {id: "cancelRun", summary: "Asks for a run to end.", answers: map[int]answered{202: {"It was asked.", typeOf[cancelBody](), ""}, 409: {"It has ended.", typeOf[native.ErrorBody](), ""}}},
	"POST /v1/conversations/{id}/runs/{run}/retry": {
		id: "retryRun", summary: "Continues a failed run at the step that failed, with a new run; answers as startRun.", body: typeOf[retryRequest](), bodyOption: true,
		headers: map[string]string{"Idempotency-Key": "The same key and body is the same run, streamed from its beginning.", "Last-Event-ID": "For a repeated request: the id of the last frame that the reader has.", "Prefer": "respond-async answers at once.", "Traceparent": "The distributed trace (W3C) that the run belongs to."},
		answers: map[int]answered{
			200: {"The stream, or the result.", typeOf[native.Result](), "text/event-stream"}, 202: {"The run was accepted, or waits for a person.", typeOf[accepted](), ""},
			409: {"The run cannot be continued, or the conversation is archived.", typeOf[native.ErrorBody](), ""}, 422: {"There is no such model, the output_schema cannot be used, or the key came with another body.", typeOf[native.ErrorBody](), ""},
			502: {"The run failed.", typeOf[native.ErrorBody](), ""}, 504: {"The run's time was over; this is what there is.", typeOf[native.Result](), ""},
		},
	},
	"GET /v1/conversations/{id}/runs/{run}/stream": {
		id: "streamRun", summary: "Follows a run to its end.", query: map[string]string{"after": "As Last-Event-ID."}, headers: cursorHeader,
		answers: map[int]answered{200: {"Server-sent events, the last of them result or error.", nil, "text/event-stream"}},
	},
}

// accepted is either form of a 202.
type accepted struct {
	ID       string           `json:"id"`
	Turn     int              `json:"turn,omitempty"`
	Status   string           `json:"status"`
	Joined   bool             `json:"joined,omitempty"`
	Stream   string           `json:"stream,omitempty"`
	Question *native.Question `json:"question,omitempty"`
}

// fourCounts are the counts of every usage.
var fourCounts = []string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}

// agentUsage is a [native.AgentUsage] whose schema is written out.
type agentUsage native.AgentUsage

func schemaOf(t *testing.T, of reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		typeOf[json.RawMessage](): {}, typeOf[pricing.Rate](): {Type: "string"}, typeOf[pricing.NanoUSD](): {Type: "string"}, typeOf[secret.Secret](): {Type: "string"},
		typeOf[[]byte](): {Type: "string", ContentEncoding: "base64"},
		// Its own schema is in the document once: it is large, and every error of a run may hold it.
		typeOf[native.AgentUsage](): {
			Type: "object", Description: "The whole of it is in #/components/schemas/agent_usage.", Required: []string{"usage", "total_cost_usd"},
			Properties: map[string]*jsonschema.Schema{
				"tool_use_id": {Type: "string"}, "total_cost_usd": {Types: []string{"null", "number"}},
				"usage": {Type: "object", Required: fourCounts, Properties: map[string]*jsonschema.Schema{
					fourCounts[0]: {Type: "integer"}, fourCounts[1]: {Type: "integer"}, fourCounts[2]: {Type: "integer"}, fourCounts[3]: {Type: "integer"},
				}},
			},
		},
		// A secret is written and never read back: answers have no such member.
		typeOf[directory.Credential](): {
			Type: "object", Properties: map[string]*jsonschema.Schema{"env": {Type: "string"}, "ends_in": {Type: "string"}},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		},
	}})
	if err != nil {
		t.Fatalf("%v: %v", of, err)
	}
	return s
}

// framesOf are the frames of a stream, by name.
func framesOf() []native.Frame {
	return []native.Frame{
		new(native.Init), new(native.TextDelta), new(native.Thinking), new(native.ToolUse), new(native.ToolProgress), new(native.ToolResult),
		new(native.SubagentStart), new(native.SubagentEnd), new(native.NodeStart), new(native.NodeEnd), new(native.Transfer),
		new(native.Question), new(native.Title), new(native.Result), new(native.Error), new(native.Message), new(native.UserMessage),
		new(native.Snapshot), new(native.Retry), new(native.Redacted), new(native.Answered), new(native.Notice),
	}
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

func document(t *testing.T) []byte {
	t.Helper()
	type object = map[string]any
	paths := map[string]object{}
	scopes := map[string]service.Scope{}
	for _, rt := range new(Server).routes() {
		scopes[rt.method+" "+rt.path] = rt.scope
	}
	for key, op := range operations {
		method, path, _ := strings.Cut(key, " ")
		o := object{"operationId": op.id, "summary": op.summary}
		var params []object
		for _, m := range parameter.FindAllStringSubmatch(path, -1) {
			params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		for _, name := range slices.Sorted(maps.Keys(op.query)) {
			params = append(params, object{"name": name, "in": "query", "description": op.query[name], "schema": object{"type": "string"}})
		}
		for _, name := range slices.Sorted(maps.Keys(op.headers)) {
			params = append(params, object{"name": name, "in": "header", "description": op.headers[name], "schema": object{"type": "string"}})
		}
		if params != nil {
			o["parameters"] = params
		}
		if op.body != nil {
			content := object{"schema": schemaOf(t, op.body)}
			if op.example != "" {
				content["example"] = json.RawMessage(op.example)
			}
			o["requestBody"] = object{"required": !op.bodyOption, "content": object{"application/json": content}}
		}
		if op.raw != "" {
			content := object{op.raw: object{}}
			if op.form {
				content["multipart/form-data"] = object{}
			}
			o["requestBody"] = object{"required": true, "content": content}
		}
		responses := object{"default": object{"$ref": "#/components/responses/Error"}}
		for status, a := range op.answers {
			content := object{}
			if a.of != nil {
				content["application/json"] = object{"schema": schemaOf(t, a.of)}
			}
			if a.kind != "" {
				content[a.kind] = object{}
			}
			r := object{"description": a.about}
			if len(content) > 0 {
				r["content"] = content
			}
			responses[strconv.Itoa(status)] = r
		}
		o["responses"] = responses
		switch scope := scopes[key]; {
		case op.open:
			o["security"] = []object{}
		default:
			o["security"] = []object{{"token": []string{string(scope)}}}
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = o
	}
	schemas := object{"agent_usage": schemaOf(t, typeOf[agentUsage]())}
	for _, f := range framesOf() {
		schemas["frame_"+f.FrameName()] = schemaOf(t, reflect.TypeOf(f).Elem())
	}
	doc, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Braid", "version": "1",
			"description": "Conversations with agents. Streams are server-sent events; the schemas frame_* are the data of the event of that name. An event's id is what Last-Event-ID takes.",
		},
		"security": []object{{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer",
				"description": "An API key, or the token that the server printed. Each operation names the scope that it must have; operator has admin:read and admin:write of every tenant.",
			}},
			"responses": object{"Error": object{
				"description": "What went wrong, and what to do next. A 429 has Retry-After. RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-10) tell what the tenant has left.", "content": object{"application/json": object{"schema": schemaOf(t, typeOf[native.ErrorBody]())}},
			}},
			"schemas": schemas,
		},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(doc, '\n')
}

func TestTheDocumentIsWhatTheTypesSay(t *testing.T) { //nolint:paralleltest // it writes the file that others read
	want := document(t)
	if *update {
		if err := errors.Join(os.WriteFile("openapi.json", want, 0o600), os.WriteFile("openapi.json.gz", packed(t, want), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, want); err != nil {
		t.Fatal(err)
	}
	r, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	served, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(have, want) || !bytes.Equal(served, compact.Bytes()) {
		t.Errorf("openapi.json and openapi.json.gz are not what the types say: go test ./server -run Document -update (%v)", err)
	}
}

// packed is a document without spaces, compressed.
func packed(t *testing.T, document []byte) []byte {
	t.Helper()
	var compact, out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		err = json.Compact(&compact, document)
	}
	if err == nil {
		_, err = z.Write(compact.Bytes())
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every route is in the document, and nothing else.
func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, rt := range new(Server).routes() {
		key := rt.method + " " + rt.path
		have[key] = true
		op, ok := operations[key]
		if !ok {
			t.Errorf("%s is not in the document", key)
		}
		if op.open != (rt.scope == "") {
			t.Errorf("%s: the document says open is %v", key, op.open)
		}
	}
	ids := map[string]string{}
	for key, op := range operations {
		if !have[key] {
			t.Errorf("%s is in the document and not among the routes", key)
		}
		if other, ok := ids[op.id]; ok {
			t.Errorf("%s and %s are both called %s", key, other, op.id)
		}
		ids[op.id] = key
	}
}

// The document is one that others can read.
func TestTheDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("it is of version %s", doc.OpenAPI)
	}
}

package archtest

import (
	"slices"
	"strings"
)

// Module is the path of this module.
const module = "github.com/braidrun/braid"

// A room is a package, or a family of sibling packages, and what it may
// import. Whatever is not named is forbidden; the standard library is free, but
// for what kept lists.
type room struct {
	// dir is the folder below the top; "" is the root package. A folder that
	// ends in "/*" makes a room of each folder below it: siblings.
	dir string
	// own lists the rooms of this module that it may import, each by its
	// folder; "x/*" means every package below x.
	own []string
	// from lists the modules, or parts of them, that it may import from elsewhere.
	from []string
	// tests lists what its tests may import beyond that: rooms, and modules.
	tests []string
	// any is set for the rooms at the end of all arrows.
	any bool
}

// helpers are the internal packages that every room may use: each has one
// reason to exist and imports the standard library alone.
var helpers = []string{
	"internal/strictjson", "internal/sse", "internal/clock", "internal/nearest", "internal/race",
	"internal/sched", "internal/partialjson", "internal/cursor", "internal/sigv4", "internal/hostcheck",
	"internal/schemacheck", "internal/lowspace", "internal/lazyre", "internal/loopback", "internal/shorten",
	"internal/stacks", "internal/unseen",
}

// testLibraries lists what any test may import.
var testLibraries = []string{
	"github.com/google/go-cmp",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
	"github.com/rogpeppe/go-internal/testscript",
	"github.com/anishathalye/porcupine",
	"github.com/getkin/kin-openapi",
}

// rooms is the house: docs/architecture.md explains it. A new folder gets a
// line here, with what it may import, before it gets a package.
var rooms = []room{
	{dir: "event", tests: []string{"event/eventtest"}},
	{dir: "event/eventtest", own: []string{"event"}, from: testLibraries},
	{dir: "blob", own: []string{"event"}, tests: []string{"blob/blobtest"}},
	{dir: "artifact", own: []string{"blob", "event"}, tests: []string{"journal"}},
	{dir: "adk", own: []string{"", "artifact", "event", "hook", "internal/userdata", "tool"}, tests: []string{"flow", "journal", "model", "secret"}},
	{dir: "tool/artifacttool", own: []string{"artifact", "event", "tool"}, tests: []string{"", "journal", "model"}},
	{dir: "workspace", own: []string{"event", "blob"}, tests: []string{"workspace/workspacetest"}},
	{
		dir: "workspace/s3", own: []string{"event", "internal/lazyre", "workspace"}, from: []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
		tests: []string{"workspace/workspacetest", "internal/loopback"},
	},
	{dir: "workspace/workspacetest", own: []string{"event", "workspace"}, from: testLibraries},
	{
		dir: "tool/filetool", own: []string{"event", "tool", "workspace"}, from: []string{"github.com/bmatcuk/doublestar"},
		tests: []string{"", "blob", "model/demo", "workspace/workspacetest"},
	},
	{dir: "blob/blobtest", own: []string{"event", "blob", "journal"}, from: testLibraries},
	{dir: "journal", own: []string{"event", "blob"}, tests: []string{"event/eventtest", "journal/journaltest", "blob/blobtest"}},
	{dir: "journal/journaltest", own: []string{"event", "journal"}, from: testLibraries, tests: []string{"event/eventtest"}},
	{
		dir: "journal/sqlite", own: []string{"event", "blob", "journal", "internal/logrow", "internal/ledgerrow"}, tests: []string{"journal/journaltest", "blob/blobtest"},
		from: []string{"modernc.org/sqlite"},
	},
	{
		dir: "journal/postgres", own: []string{"event", "blob", "journal", "internal/logrow", "internal/ledgerrow", "internal/pg"},
		tests: []string{"journal/journaltest", "blob/blobtest", "journal/postgres/postgrestest"},
		from:  []string{"github.com/jackc/pgx"},
	},
	{dir: "journal/postgres/postgrestest"},
	{
		dir: "", own: []string{
			"flow/kind", "grant", "hook", "trace", "internal/answercheck", "internal/fold", "internal/decide", "internal/drive", "internal/output",
			"internal/compact", "internal/guardrail", "internal/hooks", "internal/foreign", "event", "journal", "model", "secret", "tool",
			"internal/argtype", "internal/userdata", "internal/cost", "internal/offload", "internal/permission", "internal/toolset", "internal/runset",
			"internal/answering",
		},
		// The decoder of plain arguments, and what it is made of (ADR 44).
		from:  []string{"github.com/google/jsonschema-go", "github.com/segmentio/encoding", "github.com/segmentio/asm", "golang.org/x/sys/cpu"},
		tests: []string{"model/demo", "models", "event/eventtest", "internal/fold/foldtest", "internal/decide/decidetest", "journal/journaltest", "journal/sqlite"},
	},
	{
		dir: "internal/drive", own: []string{
			"flow/kind", "grant", "hook", "internal/answercheck", "internal/fold", "internal/decide", "internal/output", "internal/compact",
			"internal/guardrail", "internal/hooks", "internal/foreign", "event", "journal", "model", "secret", "tool",
			"internal/userdata", "internal/lease", "internal/cost", "internal/retry", "internal/offload", "internal/permission", "internal/toolset",
		},
	},
	{dir: "flow/draw", own: []string{"event"}},
	{dir: "agentfile", own: []string{"", "event", "flow", "internal/nearest", "model", "task", "tool"}, from: []string{"go.yaml.in/yaml/v3"}},
	{dir: "flow", own: []string{"", "event", "flow/draw", "flow/kind", "internal/argtype", "internal/drive", "tool"}, tests: []string{"internal/decide", "internal/decide/decidetest", "internal/fold", "journal", "model"}},
	{dir: "task", own: []string{"", "event", "internal/drive", "model", "tool"}, tests: []string{"journal", "wire/native", "wire/story"}},
	{dir: "flow/kind", own: []string{"event", "tool"}},
	{dir: "engine", own: []string{"", "event", "journal"}, tests: []string{"grant", "hook", "engine/enginetest", "model/demo", "journal/journaltest", "model", "tool"}},
	{dir: "engine/enginetest", own: []string{"", "event", "journal", "engine", "model/demo"}, from: testLibraries},
	{
		dir: "engine/temporal", own: []string{"", "event", "journal", "engine"}, tests: []string{"engine/enginetest", "model/demo"},
		from: []string{"go.temporal.io/sdk", "go.temporal.io/api"},
	},
	{dir: "live", own: []string{"event", "internal/fold"}, tests: []string{"live/livetest"}},
	{dir: "live/livetest", own: []string{"event", "live"}, from: testLibraries},
	{
		dir: "live/nats", own: []string{"event", "live"}, tests: []string{"live/livetest"},
		from: []string{"github.com/nats-io/nats.go", "github.com/nats-io/nats-server"},
	},
	{dir: "model", own: []string{"event"}, tests: []string{"event/eventtest"}},
	{dir: "model/demo", own: []string{"model", "event"}, from: []string{"go.yaml.in/yaml"}, tests: []string{"", "model/modeltest"}},
	{dir: "model/cassette", own: []string{"model", "event", "secret"}, tests: []string{"", "journal", "model/demo", "model/modeltest", "tool"}},
	{
		dir: "model/modeltest", own: []string{"model", "event"}, from: testLibraries,
		tests: []string{"test/wires", "internal/media"},
	},
	{
		dir: "model/*", own: []string{"model", "event", "secret", "model/internal/*", "internal/media"},
		tests: []string{"", "hook", "model/modeltest", "model/cassette", "test/wires", "tool"},
		from: []string{
			"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go",
			"go.yaml.in/yaml", // the tests' recordings are written in it
		},
	},
	{dir: "model/internal/provider", own: []string{"event", "model", "secret", "internal/vendor"}},
	{dir: "model/internal/awserr", own: []string{"event", "secret", "model/internal/provider"}},
	{dir: "model/internal/toolname", own: []string{"model"}},
	{dir: "model/internal/reqcache", own: []string{"model", "event"}, tests: []string{"model/internal/toolname"}},
	{dir: "model/internal/schema", tests: []string{"github.com/google/jsonschema-go"}},
	{dir: "model/internal/idle"},
	{dir: "model/internal/bound", own: []string{"model", "event"}},
	{dir: "model/internal/awsframe", tests: []string{"model/internal/recordings"}},
	{dir: "model/internal/vendortest"},
	{dir: "model/internal/recordings", from: []string{"go.yaml.in/yaml"}},
	{
		dir: "models", own: []string{"model", "event", "model/*", "secret", "pricing", "embedding", "embedding/*"}, tests: []string{"", "embedding/embeddingtest"},
		from: []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "golang.org/x/oauth2", "golang.org/x/sync", "go.yaml.in/yaml"},
	},
	{dir: "embedding", own: []string{"event"}, tests: []string{"embedding/embeddingtest", "embedding/openai", "secret"}},
	{
		dir: "embedding/*", own: []string{"embedding", "event", "secret", "embedding/internal/*", "internal/vendor"},
		tests: []string{"embedding/embeddingtest"}, from: []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	},
	{dir: "embedding/embeddingtest", own: []string{"embedding", "event"}, from: testLibraries},
	{dir: "embedding/internal/batch", own: []string{"embedding", "event", "secret", "internal/vendor"}},
	{dir: "internal/lazyre"},
	{dir: "internal/media", own: []string{"event"}},
	{dir: "attachment", own: []string{"event", "internal/media"}},
	{dir: "internal/vendor", own: []string{"event", "model", "secret"}},
	{dir: "tool", own: []string{"event", "secret", "internal/argtype", "internal/userdata"}},
	{dir: "tool/search"},
	{dir: "tool/demotool", own: []string{"event", "tool"}, tests: []string{"", "model/demo"}},
	{
		dir: "tool/mcpauth", own: []string{"event", "secret"}, tests: []string{"secret/keyset", "tool/mcpauth/mcpauthtest"},
		from: []string{"github.com/modelcontextprotocol/go-sdk", "golang.org/x/oauth2"},
	},
	{dir: "tool/mcpauth/mcpauthtest", from: []string{"github.com/modelcontextprotocol/go-sdk"}},
	{
		dir: "tool/mcptool", own: []string{"event", "netguard", "secret", "model", "tool", "tool/mcpauth"},
		tests: []string{"", "grant", "model/demo", "tool/mcpauth/mcpauthtest"},
		from:  []string{"github.com/modelcontextprotocol/go-sdk", "golang.org/x/oauth2", "go.opentelemetry.io/otel"},
	},
	{
		dir: "tool/openapitool", own: []string{"event", "secret", "tool"}, from: []string{"go.yaml.in/yaml", "golang.org/x/oauth2"},
		tests: []string{"", "hook", "model/demo", "netguard"},
	},
	{dir: "claude", own: []string{"event"}},
	{dir: "claude/runner", own: []string{"", "claude", "event", "hook", "model", "task", "tool"}, tests: []string{"journal"}},
	{dir: "sandbox", own: []string{"event"}, from: []string{"golang.org/x/sys"}},
	{
		dir: "tool/shelltool", own: []string{"event", "sandbox", "tool", "workspace"},
		tests: []string{"", "blob", "model/demo", "workspace/workspacetest"},
	},
	{dir: "tool/workspacetool", own: []string{"event", "tool", "workspace"}},
	{dir: "skill", own: []string{"event", "tool"}, from: []string{"go.yaml.in/yaml"}, tests: []string{"", "model/demo", "model"}},
	{
		dir: "telemetry", own: []string{"", "hook", "event", "internal/fold"}, from: []string{"go.opentelemetry.io/otel"},
		tests: []string{"journal", "trace", "go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf", "model", "tool"},
	},
	{
		dir: "telemetry/otlp", own: []string{"", "event", "telemetry"},
		from:  []string{"go.opentelemetry.io/otel", "github.com/cenkalti/backoff"},
		tests: []string{"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf", "model"},
	},
	{dir: "claude", own: []string{"", "event"}},
	{dir: "netguard", own: []string{"event"}},
	{dir: "secret"},
	{dir: "secret/keyset", own: []string{"event"}, tests: []string{"github.com/tink-crypto/tink-go"}},
	{dir: "workspace"},
	{dir: "pricing", own: []string{"event"}, from: []string{"go.yaml.in/yaml"}},
	{
		dir: "service/database", own: []string{"event", "internal/pg"}, tests: []string{"service/database/databasetest", "journal/postgres/postgrestest"},
		from: []string{"modernc.org/sqlite", "github.com/jackc/pgx"},
	},
	{
		dir: "service/database/databasetest", own: []string{"service/database", "journal/postgres/postgrestest"},
		from: append([]string{"github.com/jackc/pgx"}, testLibraries...),
	},
	{dir: "service/directory/directorytest", own: []string{"event", "secret", "service/directory"}, from: testLibraries},
	{
		dir: "service/directory", own: []string{"event", "secret", "pricing", "service/database"},
		tests: []string{
			"service/database/databasetest", "service/directory/directorytest", "secret/keyset", "journal/postgres/postgrestest",
			"github.com/jackc/pgx", "modernc.org/sqlite",
		},
	},
	{
		dir:   "service/toolservers",
		own:   []string{"event", "internal/lazyre", "netguard", "secret", "service/directory", "tool", "tool/mcpauth", "tool/mcptool", "tool/openapitool"},
		tests: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	{
		dir: "service/webhooks", own: []string{"event", "netguard", "secret", "service/database", "service/directory"},
		tests: []string{"service/database/databasetest", "github.com/standard-webhooks/standard-webhooks"},
	},
	{dir: "service/skillpack", own: []string{"blob", "event", "internal/lazyre", "service/directory", "skill", "workspace"}},
	{dir: "service", tests: []string{"blob", "workspace/workspacetest", "service/database/databasetest", "modernc.org/sqlite", "task", "wire/native", "wire/story"}, own: []string{
		"service/database", "service/directory", "service/webhooks", "internal/fold", "internal/runset",
		"", "hook", "event", "journal", "journal/*", "flow", "engine", "engine/*", "live", "live/*", "model", "model/*", "models", "tool", "tool/*",
		"telemetry", "claude", "netguard", "secret", "workspace", "pricing", "skill", "artifact", "attachment", "service/skillpack",
	}, from: []string{"github.com/rivo/uniseg"}},
	{
		dir: "service/agents", own: []string{"", "grant", "event", "model", "models", "secret", "service", "service/directory", "service/toolservers", "skill", "task", "tool/demotool", "tool/filetool", "tool/mcptool", "tool/shelltool", "workspace"},
		tests: []string{"service/skillpack", "journal", "live", "model/demo", "model/openai", "service/database", "github.com/modelcontextprotocol/go-sdk"},
	},
	{
		dir: "serve",
		own: []string{
			"", "event", "journal", "journal/*", "engine", "secret", "console",
			"service", "service/agents", "service/database", "service/directory", "service/webhooks", "server", "server/*",
		},
		tests: []string{
			"model/demo", "skill", "workspace", "models", "wire/agentcore", "tool/demotool", "tool/mcpauth/mcpauthtest", "service/database/databasetest", "model", "service/toolservers", "secret/keyset",
			"journal/postgres/postgrestest", "github.com/jackc/pgx", "github.com/modelcontextprotocol/go-sdk",
		},
	},
	{dir: "wire", own: []string{"event", "wire/story"}},
	{dir: "wire/story", own: []string{"event", "internal/fold"}, tests: []string{"wire/wiretest", "event/eventtest"}},
	{dir: "wire/wiretest", own: []string{"event", "wire"}, from: testLibraries},
	{dir: "wire/*", own: []string{"event", "internal/userdata", "wire", "wire/story"}, tests: []string{"wire/wiretest", "event/eventtest"}},
	{
		dir: "server", own: []string{"", "attachment", "artifact", "internal/userdata", "event", "journal", "live", "pricing", "secret", "service", "service/directory", "service/skillpack", "service/webhooks", "wire", "wire/*", "workspace", "console"},
		tests: []string{"tool/artifacttool", "hook", "service/database", "live/livetest", "journal/sqlite", "model/demo", "models", "client", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/prometheus/common", "model", "tool"},
		from:  []string{"golang.org/x/sys", "github.com/google/jsonschema-go", "github.com/coreos/go-oidc", "github.com/coder/websocket"},
	},
	{dir: "console"},
	{
		dir: "client", own: []string{"event", "secret", "wire/*"},
		tests: []string{"wire/wiretest", "", "journal", "service", "service/database", "service/directory", "server", "model", "tool"},
	},
	{
		dir: "internal/decide", own: []string{"event", "flow/kind", "internal/fold", "internal/output"},
		tests: []string{"internal/decide/decidetest", "internal/fold/foldtest"},
	},
	{dir: "internal/decide/decidetest", own: []string{"event", "internal/decide", "internal/fold", "internal/fold/foldtest"}},
	{dir: "internal/lease", own: []string{"event", "journal"}},
	{dir: "internal/permission", own: []string{"event", "grant", "internal/fold", "internal/userdata", "tool"}},
	{dir: "internal/toolset", own: []string{"event", "internal/foreign", "internal/output", "model", "tool", "tool/search"}},
	{dir: "internal/offload", own: []string{"event", "internal/fold"}},
	{dir: "internal/cost", own: []string{"event", "model"}},
	{dir: "internal/retry", own: []string{"event", "model", "tool"}},
	{dir: "internal/output", own: []string{"event", "model", "internal/fold"}},
	{dir: "internal/compact", own: []string{"event", "model", "internal/fold"}},
	{dir: "grant"},
	{dir: "trace", own: []string{"event", "internal/fold"}},
	{dir: "hook", own: []string{"event", "model", "tool"}},
	{dir: "internal/hooks", own: []string{"hook", "internal/foreign"}},
	{dir: "internal/foreign", own: []string{"event"}},
	{dir: "internal/answercheck", own: []string{"event", "tool", "internal/userdata"}},
	{dir: "internal/answering", own: []string{"event", "internal/foreign"}},
	{dir: "internal/runset", own: []string{"event", "model"}},
	{dir: "internal/argtype", own: []string{"event"}, from: []string{"github.com/google/jsonschema-go", "github.com/segmentio/encoding"}},
	{dir: "internal/userdata", own: []string{"event"}},
	{dir: "internal/guardrail", own: []string{"event", "secret"}},
	{dir: "internal/fold", own: []string{"event", "flow/kind", "model", "internal/userdata"}, tests: []string{"event/eventtest", "internal/fold/foldtest"}},
	{dir: "internal/fold/foldtest", own: []string{"event", "internal/fold"}},
	{dir: "internal/logrow", own: []string{"event"}},
	{dir: "internal/pg", own: []string{"event"}, from: []string{"github.com/jackc/pgx"}, tests: []string{"journal/postgres/postgrestest", "github.com/pressly/goose"}},
	{dir: "internal/ledgerrow", own: []string{"event", "journal"}},
	{dir: "internal/strictjson"},
	{dir: "internal/partialjson"},
	{dir: "internal/cursor"},
	{dir: "internal/sse"},
	{dir: "internal/clock"},
	{dir: "internal/nearest"},
	{dir: "internal/shorten"},
	{dir: "internal/race"},
	{dir: "internal/loopback"},
	{dir: "internal/stacks"},
	{dir: "internal/unseen"},
	{dir: "internal/sched"},
	{dir: "internal/lowspace"},
	{dir: "internal/sigv4"},
	{dir: "internal/hostcheck"},
	{dir: "internal/schemacheck", tests: []string{"github.com/google/jsonschema-go"}},
	{dir: "internal/gen/codec"},
	{dir: "internal/archtest", tests: []string{"event"}},
	{dir: "cmd/*", any: true},
	{
		dir: "cmd/braid/internal/term", own: []string{"event"},
		from: []string{"github.com/mattn/go-runewidth", "github.com/peterh/liner", "golang.org/x/sys", "golang.org/x/term"},
	},
	{
		dir: "cmd/braid/internal/conf", own: []string{
			"", "client", "cmd/braid/internal/term", "engine", "event", "journal", "model", "models", "sandbox", "secret", "server", "server/door",
			"service/directory",
		},
		from: []string{"go.yaml.in/yaml/v3"},
	},
	{
		dir: "cmd/braid/internal/printer",
		own: []string{"", "cmd/braid/internal/term", "event", "internal/fold", "journal", "trace", "wire/agentcore"},
	},
	{
		dir: "cmd/braid/internal/admin", own: []string{
			"client", "cmd/braid/internal/conf", "cmd/braid/internal/printer", "cmd/braid/internal/term", "event", "model", "pricing", "secret",
		},
		from: []string{"go.yaml.in/yaml/v3"},
	},
	{dir: "examples", any: true},
	{dir: "examples/*", any: true},
	{dir: "bench", any: true},
	{dir: "test", any: true},
	{dir: "test/logcheck", own: []string{"event"}},
	{dir: "test/sim", any: true},
	{dir: "test/wires", any: true},
}

// roomOf finds the room of a package by its folder. key tells siblings apart.
func roomOf(dir string) (r room, key string, found bool) {
	best := -1
	for _, candidate := range rooms {
		k, ok := candidate.holds(dir)
		if ok && len(k) > best {
			r, key, found, best = candidate, k, true, len(k)
		}
	}
	return r, key, found
}

// holds reports whether the folder belongs to the room, and to which sibling.
// The root holds its own folder only: what is below is another room.
func (r room) holds(dir string) (key string, ok bool) {
	if r.dir == "" {
		return "", dir == ""
	}
	family, siblings := strings.CutSuffix(r.dir, "/*")
	if !siblings {
		return r.dir, dir == r.dir || strings.HasPrefix(dir, r.dir+"/")
	}
	rest, ok := strings.CutPrefix(dir, family+"/")
	if !ok {
		return "", false
	}
	first, _, _ := strings.Cut(rest, "/")
	return family + "/" + first, true
}

// mayOwn reports whether the room may import the folder of this module.
func mayOwn(allowed []string, key string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		if family, ok := strings.CutSuffix(a, "/*"); ok {
			return strings.HasPrefix(key, family+"/")
		}
		return a == key
	})
}

// mayFrom reports whether path lies in one of the modules.
func mayFrom(modules []string, path string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

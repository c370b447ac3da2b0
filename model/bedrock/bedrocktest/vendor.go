package bedrocktest

import (
	"regexp"
	"strconv"
	"strings"
)

// vendor describes how the models behind the API differ. It is separate from the client's own table, so that each
// shows errors in the other (conversation-inference-supported-models-features).
type vendor struct {
	id *regexp.Regexp

	noSystem, noTools, noToolStream, noImages, noDocuments bool
	claude, nova                                           bool
	// choices counts the tool choices beyond auto: any, and one by name.
	choices int
	// caches reports that cache points are accepted, status that results may have one. apart reports that results
	// need a turn of their own. schemas reports that output schemas are supported.
	caches, status, apart, schemas bool
	// reasons reports Nova 2's reasoning. systemTools names the tools that the vendor runs. hour reports that caches
	// may live for an hour.
	reasons, hour bool
	systemTools   []string
	// profile reports that the model needs an inference profile.
	profile bool
}

var vendors = []vendor{
	{id: regexp.MustCompile(`^anthropic\.claude-3-(sonnet|haiku)-`), claude: true, choices: 2, status: true},
	{id: regexp.MustCompile(`^anthropic\.claude-(3-|(sonnet|opus)-4-(2025|1))`), claude: true, choices: 2, caches: true, status: true, profile: true},
	{
		id:     regexp.MustCompile(`^anthropic\.claude-((sonnet|haiku|opus)-5-5|(fable|mythos)-5-)`),
		claude: true, caches: true, hour: true, status: true, schemas: true, profile: true,
	},
	{id: regexp.MustCompile(`^anthropic\.claude-`), claude: true, hour: true, choices: 2, caches: true, status: true, schemas: true, profile: true},
	{id: regexp.MustCompile(`^amazon\.nova-micro-`), nova: true, choices: 2, caches: true, status: true, noImages: true, noDocuments: true},
	{
		id: regexp.MustCompile(`^amazon\.nova-2`), nova: true, choices: 2, caches: true, status: true, profile: true, reasons: true,
		systemTools: []string{"nova_grounding", "nova_code_interpreter"},
	},
	{
		id: regexp.MustCompile(`^amazon\.nova-premier`), nova: true, choices: 2, caches: true, status: true, profile: true,
		systemTools: []string{"nova_grounding"},
	},
	{id: regexp.MustCompile(`^amazon\.nova-`), nova: true, choices: 2, caches: true, status: true},
	{id: regexp.MustCompile(`^amazon\.titan-text-express`), noSystem: true, noTools: true, noImages: true},
	{id: regexp.MustCompile(`^mistral\.mistral-7b-instruct`), noSystem: true, noTools: true, noImages: true},
	{id: regexp.MustCompile(`^mistral\.mistral-large-2402`), choices: 1, noToolStream: true, noImages: true, apart: true},
	{id: regexp.MustCompile(`^meta\.llama3-8b`), noTools: true, noImages: true},
	{id: regexp.MustCompile(`^meta\.llama4`), noToolStream: true, apart: true, profile: true},
	{id: regexp.MustCompile(`^cohere\.command-r`), noImages: true, apart: true},
	{id: regexp.MustCompile(`^deepseek\.r1`), noTools: true, noImages: true, profile: true},
	{id: regexp.MustCompile(`^(qwen|openai)\.`), choices: 2, apart: true, schemas: true},
}

// region matches the prefix of an inference profile.
var region = regexp.MustCompile(`^(us|eu|apac|global)\.`)

// modelOf returns the model of an id, and whether the id is a profile.
func modelOf(id string) (v vendor, plain string, profile, found bool) {
	plain = region.ReplaceAllString(id, "")
	for _, v := range vendors {
		if v.id.MatchString(plain) {
			return v, plain, plain != id, true
		}
	}
	return vendor{}, plain, false, false
}

var numbers = regexp.MustCompile(`claude-[a-z]+-(\d)(?:-(\d))?(?:\D|$)`)

// claudeOf returns 46 for claude-sonnet-4-6, 50 for claude-opus-5 and 37 for claude-3-7-sonnet.
func claudeOf(plain string) int {
	n := numbers.FindStringSubmatch(plain)
	if n == nil {
		const old = 37
		return old
	}
	major, _ := strconv.Atoi(n[1]) // the expression matches digits only
	minor, _ := strconv.Atoi(n[2])
	return major*10 + minor
}

// thinksByBudget reports whether a Claude thinks by a budget of tokens.
func thinksByBudget(plain string) bool { return claudeOf(plain) < 46 }

// efforts returns the efforts that a Claude accepts.
func efforts(plain string) []string {
	switch n := claudeOf(plain); {
	case n >= 47:
		return []string{"low", "medium", "high", "xhigh", "max"}
	case n == 46:
		return []string{"low", "medium", "high", "max"}
	case strings.Contains(plain, "claude-opus-4-5"):
		return []string{"low", "medium", "high"}
	default:
		return nil
	}
}

// offs returns the types of thinking that turn a Claude's thinking off.
func offs(plain string) []string {
	switch n := claudeOf(plain); {
	case strings.Contains(plain, "fable"), strings.Contains(plain, "mythos"), n >= 55 && strings.Contains(plain, "opus"):
		return nil
	case n >= 55 && strings.Contains(plain, "sonnet"):
		return []string{"between_tools"}
	default:
		return []string{"disabled"}
	}
}

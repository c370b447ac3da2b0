package bedrocktest

import (
	"regexp"
	"strconv"
)

// What the models behind the API differ in, as far as the server knows it. It is
// written down apart from the client's own table, so that one finds what is wrong
// in the other (conversation-inference-supported-models-features).
type vendor struct {
	id *regexp.Regexp

	noSystem, noTools, noToolStream, noImages, noDocuments bool
	claude, nova                                           bool
	// choices counts the ways of choosing a tool beyond auto: any, and one by its name.
	choices int
	// caches says whether cache points are taken, status whether results may have
	// one, apart whether results must stand in a turn of their own, schemas whether
	// answers can be held to one.
	caches, status, apart, schemas bool
	// profile says that it is served through inference profiles only.
	profile bool
}

var vendors = []vendor{
	{id: regexp.MustCompile(`^anthropic\.claude-3-(sonnet|haiku)-`), claude: true, choices: 2, status: true},
	{id: regexp.MustCompile(`^anthropic\.claude-`), claude: true, choices: 2, caches: true, status: true, schemas: true, profile: true},
	{id: regexp.MustCompile(`^amazon\.nova-micro-`), nova: true, choices: 2, caches: true, status: true, noImages: true, noDocuments: true},
	{id: regexp.MustCompile(`^amazon\.nova-(2|premier)`), nova: true, choices: 2, caches: true, status: true, profile: true},
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

// region is what stands in front of a model in an inference profile.
var region = regexp.MustCompile(`^(us|eu|apac|global)\.`)

// modelOf finds the model of an id, and whether it was asked for by a profile.
func modelOf(id string) (v vendor, plain string, profile, found bool) {
	plain = region.ReplaceAllString(id, "")
	for _, v := range vendors {
		if v.id.MatchString(plain) {
			return v, plain, plain != id, true
		}
	}
	return vendor{}, plain, false, false
}

var numbers = regexp.MustCompile(`claude-[a-z]+-(\d)-(\d)\b`)

// thinksByBudget reports whether a Claude thinks by a budget of tokens.
func thinksByBudget(plain string) bool {
	n := numbers.FindStringSubmatch(plain)
	if n == nil {
		return true
	}
	major, _ := strconv.Atoi(n[1]) // digits by the expression
	minor, _ := strconv.Atoi(n[2])
	return major*10+minor < 46
}

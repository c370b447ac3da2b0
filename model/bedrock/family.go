package bedrock

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/model/internal/toolname"
)

// What the models of each vendor support in the Converse API. A model's family follows from its
// id alone. The zero value of a field means that no restriction is known; the API then decides.
//
// The table follows the user guide of Amazon Bedrock: the page
// conversation-inference-supported-models-features for supported features, prompt-caching for
// cache points, structured-output for schemas of answers, and the API's reference for
// ToolResultBlock.status and ToolChoice. For Nova it follows the pages
// prompting-tool-troubleshooting, tool-choice and extended-thinking. Errors of the API that
// users of Strands met complete it (its file models/bedrock.py).

// family describes a group of models.
type family struct {
	// noSystem is set if the model has no system prompt. The instructions then precede the
	// first message.
	noSystem bool
	// noTools is set if the model has no tools, noToolStream if it does not stream with tools,
	// noStream if it never streams.
	noTools, noToolStream, noStream bool
	// choice is the supported form of tool choice.
	choice choice
	// status is set if results have a status.
	status bool
	// noImages, noDocuments and video are the supported inputs. resultFiles is set if results
	// may contain images and documents, stored if files may be in S3.
	noImages, noDocuments, video, resultFiles, stored bool
	// largestImage is the size limit of an image in bytes; 0 is the usual limit.
	largestImage int
	// split is set if results and user content need separate turns.
	split bool
	// textResults is set if the model reads JSON in results better as text.
	textResults bool
	// names is the rule for tool names, schema the rules for their schemas.
	names  toolname.Rule
	schema *schema.Rules
	// cache selects where cache points may be.
	cache cacheKind
	// thinks is the form of the thinking settings. claude is set if thinking has signatures and
	// is sent back.
	thinks thinking
	claude bool
	// binds is set if the model accepts its thinking only after the request that it was made
	// for (claude-messages-thinking-block-binding), and if tool calls cannot be forced: Claude
	// 5.5, Fable 5.1 and Mythos 5.1 on.
	binds bool
	// nova is set if the model writes its thinking into its text and takes none back, decodes
	// greedily with tools, and may fail to write a call.
	nova bool
	// output is set if the model has structured outputs.
	output bool
	// window is the context window in tokens; 0 is unknown.
	window int
	// efforts are the model's values for efforts in ascending order. off is the type that turns
	// thinking off: "" if the model thinks only on request, never if it always thinks.
	efforts []string
	off     string
	// always is set if the model thinks by default, hides if its thinking has no text by
	// default.
	always, hides bool
	// noSampling is set if the model takes no top_p, oneSampling if it takes either top_p or a
	// temperature.
	noSampling, oneSampling bool
	// served are the server-side tools.
	served []model.ServerToolKind
	// hourCache is set if the cache may last an hour.
	hourCache bool
}

type choice uint8

const (
	anyChoice  choice = iota // auto, any, and one by its name
	someChoice               // auto and any
	noChoice                 // auto
)

type cacheKind uint8

const (
	noCache    cacheKind = iota
	textCache            // after instructions, and after messages of text
	wholeCache           // after tools and results as well
)

// The size limits of an image in bytes: 3.75 MB, and for Nova 25 MB for the whole request
// (API_runtime_Message; nova/latest/userguide/modalities-image).
const (
	usualLargest = 3_932_160
	novaLargest  = 25_000_000
)

type thinking uint8

const (
	unasked       thinking = iota
	claudeBudget           // a token budget
	claudeDecides          // adaptive
	novaEffort             // reasoningConfig
	wordEffort             // reasoning_effort
)

// threeEfforts are the efforts of Nova 2 and gpt-oss.
var threeEfforts = []string{"low", "medium", "high"}

// table maps ids to families; the first match counts. The expressions match an id without its
// region, such as anthropic.claude-….
var table = []struct {
	id *lazyre.Regexp
	is family
}{
	{lazyre.New(`^anthropic\.claude-(v2|instant)`), family{
		noTools: true, noImages: true, window: 100_000,
	}},
	{lazyre.New(`^anthropic\.claude`), family{
		claude: true, status: true, resultFiles: true, cache: wholeCache, thinks: claudeDecides, output: true,
	}},
	{lazyre.New(`^amazon\.nova-(micro)`), nova(family{noImages: true, noDocuments: true, window: 128_000})},
	{lazyre.New(`^amazon\.nova-(lite|pro)`), nova(family{video: true, window: 300_000})},
	{lazyre.New(`^amazon\.nova-premier`), nova(family{video: true, window: 1_000_000, served: []model.ServerToolKind{model.WebSearch}})},
	{lazyre.New(`^amazon\.nova`), nova(family{
		video: true, thinks: novaEffort, efforts: threeEfforts, window: 1_000_000,
		served: []model.ServerToolKind{model.WebSearch, model.CodeExecution},
	})},
	{lazyre.New(`^amazon\.titan-text-premier`), family{noSystem: true, noTools: true, noImages: true, noDocuments: true, window: 32_000}},
	{lazyre.New(`^amazon\.titan`), family{noSystem: true, noTools: true, noImages: true, window: 8_000}},
	{lazyre.New(`^ai21\.jamba-instruct`), family{noTools: true, noImages: true, noDocuments: true, window: 256_000}},
	{lazyre.New(`^ai21\.`), family{choice: noChoice, noImages: true, split: true, window: 256_000}},
	{lazyre.New(`^cohere\.command-r`), family{choice: noChoice, noImages: true, split: true, window: 128_000}},
	{lazyre.New(`^cohere\.command`), family{noSystem: true, noTools: true, noImages: true, window: 4_000}},
	{lazyre.New(`^meta\.llama(2|3-(8|70)b|3-2-(1|3)b)`), family{noTools: true, noImages: true}},
	{lazyre.New(`^meta\.llama3-(1|3)`), family{choice: noChoice, noToolStream: true, noImages: true, split: true, window: 128_000}},
	{lazyre.New(`^meta\.llama`), family{choice: noChoice, noToolStream: true, split: true}},
	{lazyre.New(`^mistral\.(mistral-7b|mixtral)`), family{noSystem: true, noTools: true, noImages: true, window: 32_000}},
	{lazyre.New(`^mistral\.mistral-(large-24|small-24)`), family{choice: someChoice, noToolStream: true, noImages: true, split: true}},
	{lazyre.New(`^mistral\.pixtral`), family{choice: someChoice, noToolStream: true, split: true, window: 128_000}},
	{lazyre.New(`^mistral\.`), family{off: never, split: true, output: true}},
	{lazyre.New(`^deepseek\.r1`), family{off: never, noTools: true, noImages: true, window: 128_000}},
	{lazyre.New(`^deepseek\.`), family{off: never, noImages: true, split: true, output: true}},
	{lazyre.New(`^openai\.gpt-oss`), family{
		thinks: wordEffort, efforts: threeEfforts, off: never, noImages: true, split: true, output: true, window: 128_000,
	}},
	{lazyre.New(`^(qwen|minimax|moonshot(ai)?|google|nvidia|zai)\.`), family{off: never, split: true, output: true}},
	{lazyre.New(`^writer\.`), family{choice: noChoice, noImages: true, split: true, window: 128_000}},
}

func nova(f family) family {
	f.nova, f.status, f.resultFiles, f.stored, f.textResults = true, true, !f.noImages, true, true
	f.cache, f.schema, f.largestImage = textCache, schema.NovaTools, novaLargest
	f.names = toolname.Rule{Max: 64, Letter: true}
	return f
}

// familyOf returns the family of a model.
func familyOf(id string) family {
	id = plainModel(id)
	f := family{off: never} // the default for unknown models
	for i := range table {
		if table[i].id.MatchString(id) {
			f = table[i].is
			break
		}
	}
	if f.names.Max == 0 {
		f.names = toolname.Usual
	}
	if f.schema == nil {
		f.schema = schema.BedrockTools
	}
	if f.largestImage == 0 {
		f.largestImage = usualLargest
	}
	if f.claude {
		f.generation(id)
	}
	return f
}

// generation sets the fields that depend on Claude's version.
func (f *family) generation(id string) {
	g := generation(id)
	f.binds = g > 500
	if g > 0 && g < 406 {
		f.thinks = claudeBudget
		f.window = 200_000
	}
	if g > 0 && g < 307 {
		f.thinks = unasked
		if !strings.Contains(id, "claude-3-5-haiku") {
			f.cache = noCache
		}
	}
	f.output = g == 0 || g >= 405
	f.hourCache = g == 0 || g >= 405
	f.oneSampling = g >= 401
	if g >= 406 {
		f.window = 1_000_000
	}
	if f.thinks == claudeDecides {
		f.efforts = []string{"low", "medium", "high", "xhigh", "max"}
		if g == 406 {
			f.efforts = []string{"low", "medium", "high", "max"}
		}
		f.noSampling, f.hides = g >= 407, g >= 407
		f.always, f.off = g >= 500, off(id, g)
	}
}

// off returns the type that turns thinking off, for Claude 4.6 or later
// (bedrock/latest/userguide/claude-messages-adaptive-thinking; platform.claude.com/docs, the
// pages and migration guides of the models of 5.5).
func off(id string, generation int) string {
	const five, later = 500, 505
	switch {
	case strings.Contains(id, "fable") || strings.Contains(id, "mythos"), generation >= later && strings.Contains(id, "opus"):
		return never
	case generation >= later && strings.Contains(id, "sonnet"):
		return "between_tools"
	case generation >= five:
		return "disabled"
	case generation == 0:
		return never // unknown
	default:
		return ""
	}
}

// vendors matches the model's id in an inference profile, which has a region prefix, or in an
// ARN.
var vendors = lazyre.New(`(?:^|[./])((?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|` +
	`nvidia|openai|qwen|stability|writer|zai)\..+)$`)

func plainModel(id string) string {
	if g := vendors.FindStringSubmatch(id); g != nil {
		return g[1]
	}
	return id
}

var generations = lazyre.New(`claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)

// generation returns 405 for anthropic.claude-sonnet-4-5-20250929-v1:0 and 307 for
// anthropic.claude-3-7-sonnet-20250219-v1:0; 0 for an id without a version.
func generation(id string) int {
	g := generations.FindStringSubmatch(id)
	if g == nil {
		return 0
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// never is family.off for models whose thinking cannot be switched off.
const never = "never"

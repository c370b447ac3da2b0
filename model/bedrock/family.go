package bedrock

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/model/internal/toolname"
)

// What the models of each vendor can and cannot by the Converse API. It is told
// by their ids alone, and the zero value of a field means that nothing is known
// against it: the API itself then says what it thinks of a request.
//
// The table follows the user guide of Amazon Bedrock: the page
// conversation-inference-supported-models-features for what is supported,
// prompt-caching for cache points, structured-output for schemas of answers, the
// API's reference for ToolResultBlock.status and ToolChoice; of Nova the pages
// prompting-tool-troubleshooting, tool-choice and extended-thinking; and what the
// API has answered users of Strands (its file models/bedrock.py).

// family is what is known of a group of models.
type family struct {
	// noSystem says that there is no place for instructions: they go in front of
	// the first message.
	noSystem bool
	// noTools says that there are no tools; noToolStream that an answer does not
	// stream where there are some; noStream that none does.
	noTools, noToolStream, noStream bool
	// choice is what can be said about tools.
	choice choice
	// status says that a result tells whether it went well.
	status bool
	// noImages, noDocuments and video say what can be shown, resultFiles whether
	// images and documents may stand in results, and stored whether files may lie
	// in S3.
	noImages, noDocuments, video, resultFiles, stored bool
	// largestImage is in bytes; 0 is the usual bound.
	largestImage int
	// split says that results and what people say may not stand in one turn.
	split bool
	// textResults says that JSON in results is better told as text.
	textResults bool
	// names is what a tool's name may be, schema what its parameters.
	names  toolname.Rule
	schema *schema.Rules
	// cache says where cache points may stand.
	cache cacheKind
	// thinks says how the model is told to think; claude that its thinking bears
	// signatures that it takes back.
	thinks thinking
	claude bool
	// binds says that the model accepts its thinking only behind the request that it
	// was made for (claude-messages-thinking-block-binding), and that it cannot be made
	// to call a tool: Claude 5.5, Fable 5.1 and Mythos 5.1 on.
	binds bool
	// nova says that the model writes its thinking into its text and takes none
	// back, decodes greedily where there are tools, and may fail to write a call.
	nova bool
	// output says that an answer can be held to a schema.
	output bool
	// window is the context window in tokens; 0 is unknown.
	window int
	// efforts are the model's own words for efforts, the most last; off is the type of
	// thinking that is none: "" where the model does not think unasked, never where it
	// cannot be kept from it.
	efforts []string
	off     string
	// always says that the model thinks unasked, hides that its thinking has no text
	// unless that is asked for.
	always, hides bool
	// noSampling says that the model takes no top_p, oneSampling that it takes either that
	// or a temperature.
	noSampling, oneSampling bool
	// served are the server-side tools.
	served []model.ServerToolKind
	// hourCache says that what is cached may stay for an hour.
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
	textCache            // behind instructions, and messages of text
	wholeCache           // behind tools and results as well
)

// How large an image may be, in bytes: 3.75 MB, and for Nova a whole request of
// 25 MB (API_runtime_Message; nova/latest/userguide/modalities-image).
const (
	usualLargest = 3_932_160
	novaLargest  = 25_000_000
)

type thinking uint8

const (
	unasked       thinking = iota
	claudeBudget           // by a budget of tokens
	claudeDecides          // adaptive
	novaEffort             // reasoningConfig
	wordEffort             // reasoning_effort
)

// threeEfforts are the words of Nova 2 and gpt-oss.
var threeEfforts = []string{"low", "medium", "high"}

// table is looked through from the top; the first line that fits counts. The
// expressions are matched against an id without its region: anthropic.claude-….
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

// familyOf finds what is known of a model.
func familyOf(id string) family {
	id = plainModel(id)
	f := family{off: never} // of one that is not known
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

// generation fills in what Claudes of one age have.
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

// off is the type of thinking that is none, for a Claude of 4.6 or later
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
		return never // nobody knows
	default:
		return ""
	}
}

// vendors finds a model's own id in one of an inference profile, which has a
// region in front of it, or in an ARN.
var vendors = lazyre.New(`(?:^|[./])((?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|` +
	`nvidia|openai|qwen|stability|writer|zai)\..+)$`)

func plainModel(id string) string {
	if g := vendors.FindStringSubmatch(id); g != nil {
		return g[1]
	}
	return id
}

var generations = lazyre.New(`claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)

// generation reads 405 from anthropic.claude-sonnet-4-5-20250929-v1:0 and 307
// from anthropic.claude-3-7-sonnet-20250219-v1:0; 0 is an id that tells nothing.
func generation(id string) int {
	g := generations.FindStringSubmatch(id)
	if g == nil {
		return 0
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

package claude

// SystemPrompt replaces the program's system prompt. Several texts are blocks of it; see [DynamicBoundary].
func SystemPrompt(texts ...string) Option { return func(c *config) { c.prompt.system = texts } }

// DynamicBoundary is a text of [SystemPrompt] that ends the part which providers may cache for all sessions.
const DynamicBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// AppendSystemPrompt adds a text to the end of the system prompt.
func AppendSystemPrompt(text string) Option { return func(c *config) { c.prompt.added = text } }

// ExcludeDynamicSections moves what differs between users out of the program's own system prompt, for caching.
func ExcludeDynamicSections() Option { return func(c *config) { c.prompt.stable = true } }

// SnapshotSystemPrompt says whether a resumed session keeps the system prompt of its first request. The program's default
// is true: later changes have no effect until the session is compacted.
func SnapshotSystemPrompt(keep bool) Option { return func(c *config) { c.prompt.snapshot = &keep } }

// PlanInstructions replaces the instructions of permission mode "plan".
func PlanInstructions(text string) Option { return func(c *config) { c.prompt.plan = text } }

// Literal sends prompts as they are: "/compact" runs no command and "@file" reads no file. Use it for the text of users.
func Literal() Option { return func(c *config) { c.prompt.literal = true } }

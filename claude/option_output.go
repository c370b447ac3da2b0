package claude

// PartialMessages also sends the answers of the main agent while they arrive, as [StreamEvent].
func PartialMessages() Option { return func(c *config) { c.output.partial = true } }

// HookEvents also reports the hooks of the settings, as [HookEvent].
func HookEvents() Option { return func(c *config) { c.output.hookEvents = true } }

// ReplayUserMessages also repeats prompts, as [User] with Replay.
func ReplayUserMessages() Option { return func(c *config) { c.output.replay = true } }

// PromptSuggestions also sends what the user may want to ask next. It costs a model call a turn.
func PromptSuggestions() Option { return func(c *config) { c.output.suggest = true } }

// SessionStates also sends [SessionState]. The state idle of a turn comes with the next one.
func SessionStates() Option { return func(c *config) { c.output.states = true } }

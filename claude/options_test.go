package claude

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// an option of the vendor's SDK, what it is here, and what the program gets of it.
type optionRow struct {
	sdk  string
	here Option
	// args is the argument, first the field of the first request, env the variable; empty for none.
	args, first, env string
	// why says why there is no option here, or where it is tested.
	why string
}

var yes = true

func anyHook(context.Context, *HookInput) (HookOutput, error) { return HookOutput{}, nil }

func anyPermission(context.Context, *PermissionRequest) (Permission, error) { return Permission{}, nil }

func anyElicitation(context.Context, *Elicitation) (e ElicitationAnswer, err error) { return e, nil }

func anyDialog(context.Context, *Dialog) (any, error) { return nil, nil }

// optionRows has every option of the vendor's SDK, version 0.3.332.
var optionRows = []optionRow{
	{sdk: "abortController", why: "the context of Query and Turn: TestAnInterruptKeepsTheProcess"},
	{sdk: "additionalDirectories", here: AddDirs("/a", "/b"), args: "--add-dir=/a --add-dir=/b"},
	{sdk: "projectConfigRoot", here: ProjectRoot("/a"), args: "--project-config-root=/a"},
	{sdk: "agent", here: MainAgent("a"), args: "--agent=a"},
	{
		sdk: "agents", here: Agents(map[string]Agent{"a": {Description: "d", Prompt: "p", Tools: []string{"Read"}, Model: "haiku", Background: true}}),
		first: `"agents":{"a":{"description":"d","prompt":"p","tools":["Read"],"model":"haiku","background":true}}`,
	},
	{sdk: "allowedTools", here: AllowTools("Read", "Bash(git *)"), args: "--allowedTools=Read,Bash(git *)"},
	{sdk: "canUseTool", here: CanUseTool(anyPermission), args: "--permission-prompt-tool=stdio"},
	{sdk: "continue", here: Continue(), args: "--continue"},
	{sdk: "cwd", why: "Dir: TestTheWorkingFolder"},
	{sdk: "disallowedTools", here: DenyTools("Bash"), args: "--initialize-fields=disallowedTools", first: `"disallowedTools":["Bash"]`},
	{sdk: "toolAliases", here: ToolAliases(map[string]string{"a": "b"}), first: `"toolAliases":{"a":"b"}`},
	{sdk: "tools", here: Tools("Read", "Glob"), args: "--tools=Read,Glob"},
	{sdk: "tools", here: Tools(), args: "--tools="},
	{sdk: "env", here: Env("A=1"), env: "A=1"},
	{sdk: "executable", why: "the program is an executable of its own"},
	{sdk: "executableArgs", why: "the program is an executable of its own"},
	{sdk: "extraArgs", here: ExtraArgs("--x"), args: "--x"},
	{sdk: "fallbackModel", here: FallbackModels("a", "b"), args: "--fallback-model=a,b"},
	{sdk: "enableFileCheckpointing", here: FileCheckpoints(), env: "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true"},
	{sdk: "toolConfig", here: Env("CLAUDE_CODE_QUESTION_EXTENDED=1"), env: "CLAUDE_CODE_QUESTION_EXTENDED=1", why: "variables of the program, with Env"},
	{sdk: "forkSession", here: Fork(), args: "--fork-session"},
	{sdk: "betas", here: Betas("a", "b"), args: "--betas=a,b"},
	{
		sdk: "hooks", here: OnHook(HookMatch{Point: PreToolUse, Tool: "Write", Timeout: 5e9, Block: true}, anyHook),
		first: `"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"],"matcher":"Write","onFailure":"block","timeout":5}]}`,
	},
	{sdk: "onElicitation", here: OnElicitation(anyElicitation), why: "TestQuestionsOfTheProgram"},
	{sdk: "onUserDialog", here: OnDialog([]string{"k"}, anyDialog), first: `"supportedDialogKinds":["k"]`},
	{sdk: "supportedDialogKinds", here: OnDialog([]string{"k"}, anyDialog), first: `"supportedDialogKinds":["k"]`},
	{sdk: "perTaskStopAffordance", here: StoppableTasks(), first: `"perTaskStopAffordance":true`},
	{sdk: "persistSession", here: NoPersistence(), args: "--no-session-persistence"},
	{sdk: "sessionStore", here: MirrorSession(), args: "--session-mirror"},
	{sdk: "sessionStoreFlush", why: "the reader of Mirror decides"},
	{sdk: "loadTimeoutMs", why: "the reader of Mirror loads a session before it opens a client"},
	{sdk: "includeHookEvents", here: HookEvents(), args: "--include-hook-events"},
	{sdk: "includePartialMessages", here: PartialMessages(), args: "--include-partial-messages"},
	{sdk: "forwardSubagentText", here: ForwardSubagentText(), first: `"forwardSubagentText":true`},
	{sdk: "verbatimPrompts", here: Literal(), why: "TestLiteralPrompts"},
	{sdk: "thinking", here: ThinkingMode(Thinking{Mode: "adaptive", Display: "omitted"}), args: "--thinking=adaptive --thinking-display=omitted"},
	{sdk: "thinking", here: ThinkingMode(Thinking{Mode: "disabled"}), args: "--thinking=disabled"},
	{sdk: "thinking", here: ThinkingMode(Thinking{Mode: "enabled"}), args: "--thinking=adaptive"},
	{sdk: "effort", here: Effort("high"), args: "--effort=high"},
	{sdk: "maxThinkingTokens", here: ThinkingMode(Thinking{Mode: "enabled", Budget: 9}), args: "--max-thinking-tokens=9"},
	{sdk: "maxTurns", here: MaxTurns(3), args: "--max-turns=3"},
	{sdk: "maxBudgetUsd", here: MaxBudgetUSD(0.25), args: "--max-budget-usd=0.25"},
	{sdk: "taskBudget", here: TaskBudget(9), args: "--task-budget=9"},
	{
		sdk: "mcpServers", here: MCP("a", Server{Type: "http", URL: "u", Headers: map[string]string{"h": "v"}}),
		first: `"mcpServers":{"a":{"type":"http","url":"u","headers":{"h":"v"}}}`,
	},
	{sdk: "mcpServers", here: InProcess("a", &ToolServer{}), first: `"sdkMcpServers":["a"]`},
	{sdk: "mcpServersDelivery", why: "always through the first request: TestSecretsAreInNoArgument"},
	{sdk: "model", here: Model("m"), args: "--model=m"},
	{sdk: "outputFormat", here: JSONSchema(json.RawMessage(`{"type":"object"}`)), first: `"jsonSchema":{"type":"object"}`},
	{sdk: "pathToClaudeCodeExecutable", why: "Command: every test"},
	{sdk: "permissionMode", here: PermissionMode("plan"), args: "--permission-mode=plan"},
	{sdk: "planModeInstructions", here: PlanInstructions("p"), first: `"planModeInstructions":"p"`},
	{sdk: "allowDangerouslySkipPermissions", here: SkipPermissions(), args: "--allow-dangerously-skip-permissions"},
	{sdk: "permissionPromptToolName", here: PermissionTool("t"), args: "--permission-prompt-tool=t"},
	{sdk: "permissionPrompts", here: PermissionPrompts("none"), args: "--permission-prompts=none"},
	{sdk: "plugins", here: Plugins(Plugin{Type: "local", Path: "/p", SkipMCP: true}), first: `"plugins":[{"type":"local","path":"/p","skipMcpDiscovery":true}]`},
	{sdk: "pluginDelivery", why: "always through the first request"},
	{sdk: "promptSuggestions", here: PromptSuggestions(), first: `"promptSuggestions":true`},
	{sdk: "agentProgressSummaries", here: AgentProgressSummaries(), first: `"agentProgressSummaries":true`},
	{sdk: "resume", here: Resume("s"), args: "--resume=s"},
	{sdk: "sessionId", here: SessionID("s"), args: "--session-id=s"},
	{sdk: "resumeSessionAt", here: ResumeAt("m"), args: "--resume-session-at=m"},
	{sdk: "resumeDropsTurn", here: ResumeDropsTurn("m"), args: "--resume-drops-turn=m"},
	{sdk: "sandbox", here: Sandbox(json.RawMessage(`{"enabled":true}`)), args: "--initialize-fields=settings", first: `"settings":{"sandbox":{"enabled":true}}`},
	{sdk: "settings", here: Settings(json.RawMessage(`{"a":1}`)), args: "--initialize-fields=settings", first: `"settings":{"a":1}`},
	{sdk: "managedSettings", here: ManagedSettings(json.RawMessage(`{"a":1}`)), args: "--managed-settings-in-initialize", first: `"managedSettings":{"a":1}`},
	{sdk: "settingSources", here: SettingSources("user", "project"), args: "--setting-sources=user,project"},
	{sdk: "settingSources", here: SettingSources(), args: "--setting-sources="},
	{sdk: "skills", here: Skills("a"), args: "--allowedTools=Skill(a)", first: `"skills":["a"]`},
	{sdk: "debug", here: DebugFile("/d"), args: "--debug-file=/d"},
	{sdk: "debugFile", here: DebugFile("/d"), args: "--debug-file=/d"},
	{sdk: "stderr", why: "Stderr: TestStderr"},
	{sdk: "strictMcpConfig", here: StrictMCP(), args: "--strict-mcp-config"},
	{sdk: "systemPrompt", here: SystemPrompt("a", DynamicBoundary, "b"), first: `"systemPrompt":["a","__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__","b"]`},
	{sdk: "systemPrompt", here: AppendSystemPrompt("a"), first: `"appendSystemPrompt":"a"`},
	{sdk: "systemPrompt", here: ExcludeDynamicSections(), first: `"excludeDynamicSections":true`},
	{sdk: "systemPrompt", here: SnapshotSystemPrompt(yes), first: `"systemPromptSnapshot":true`},
	{sdk: "title", here: Title("t"), first: `"title":"t"`},
	{sdk: "spawnClaudeCodeProcess", why: "Command names the program to run, as every test does"},
}

// alwaysArgs are the arguments of every process.
var alwaysArgs = []string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--await-initialize"}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, row := range optionRows {
		if row.here == nil {
			if row.why == "" {
				t.Errorf("%s has neither an option nor a reason", row.sdk)
			}
			continue
		}
		c := newConfig([]Option{row.here, nil})
		args := slices.DeleteFunc(c.arguments(), func(a string) bool { return slices.Contains(alwaysArgs, a) })
		if got := strings.Join(args, " "); got != row.args {
			t.Errorf("%s: the arguments are %q, want %q", row.sdk, got, row.args)
		}
		first, err := c.initialize()
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "{"+row.first+"}" {
			t.Errorf("%s: the first request has %s, want %s", row.sdk, got, row.first)
		}
		if row.env != "" && !slices.Contains(c.environment(nil), row.env) {
			t.Errorf("%s: the environment has no %s", row.sdk, row.env)
		}
	}
}

// The guide lists the same options.
func TestTheGuideListsTheOptions(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/guide/claude.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, row := range optionRows {
		names[row.sdk] = true
	}
	for name := range maps.Keys(names) {
		if !strings.Contains(string(guide), "`"+name+"`") {
			t.Errorf("the guide does not name %s", name)
		}
	}
}

func TestLiteralPrompts(t *testing.T) {
	t.Parallel()
	for _, literal := range []bool{false, true} {
		c := newConfig(nil)
		if literal {
			c = newConfig([]Option{Literal()})
		}
		if got := c.line(Prompt{Text: "/compact", UUID: "u"})["client_composed"] == true; got != literal {
			t.Errorf("literal %v: %v", literal, got)
		}
	}
}

func TestTheWorkingFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, "args", Dir(dir))
	var told struct {
		Dir string `json:"dir"`
	}
	if err := json.Unmarshal(c.Setup(), &told); err != nil {
		t.Fatal(err)
	}
	if told.Dir != dir {
		t.Errorf("%q", told.Dir)
	}
}

func TestStderr(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if _, err := Open(t.Context(), append(standing("exit oh dear"), Stderr(&said))...); err == nil || said.String() != "oh dear\n" {
		t.Errorf("%q, %v", said.String(), err)
	}
}

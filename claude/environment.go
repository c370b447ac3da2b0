package claude

import (
	"slices"
	"strings"
)

// inherited are the variables that the program gets without CleanEnv; a name that ends in "_" is a prefix.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_", "TZ", "TERM", "TMPDIR", "TEMP", "TMP",
	"XDG_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "CLOUD_ML_", "IS_SANDBOX", "DISABLE_",
	"SYSTEMROOT", "SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "ComSpec",
}

// environment returns the variables of the program. all are those of this process.
func (c *config) environment(all []string) (env []string) {
	for _, v := range all {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			continue
		}
		if name == "PATH" || !c.process.clean && slices.ContainsFunc(inherited, func(one string) bool {
			return name == one || strings.HasSuffix(one, "_") && strings.HasPrefix(name, one)
		}) {
			env = append(env, v)
		}
	}
	env = append(env, "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "BUN_ENABLE_CRASH_REPORTING=0")
	if c.session.undo {
		env = append(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true")
	}
	return append(env, c.process.env...)
}

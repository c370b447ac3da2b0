package service

// These metadata keys of a run hold what its agent needs after a restart. They are never shown to
// callers.
const (
	reserved    = "braid."
	keyAgent    = reserved + "agent"
	keyModel    = reserved + "model"
	keyLimits   = reserved + "limits"
	keySchema   = reserved + "schema"
	keySkills   = reserved + "skills"
	keyBody     = reserved + "body"
	keyLife     = reserved + "life"
	keyTokens   = reserved + "tokens"
	keyBytes    = reserved + "bytes"
	keyNoFiles  = reserved + "no_files"
	agentOnTurn = "assistant"
)

// hidden returns metadata without the reserved keys.
func hidden(m map[string]string) map[string]string {
	shown := make(map[string]string, len(m))
	for k, v := range m {
		if !isReserved(k) {
			shown[k] = v
		}
	}
	return shown
}

func isReserved(key string) bool { return len(key) >= len(reserved) && key[:len(reserved)] == reserved }

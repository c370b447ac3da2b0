package gemini

// outcomes maps Braid's outcomes of code to the API's.
var outcomes = map[string]string{"ok": "OUTCOME_OK", "failed": "OUTCOME_FAILED", "timeout": "OUTCOME_DEADLINE_EXCEEDED"}

// outcome maps the API's outcome of code to Braid's.
func outcome(s string) string {
	for ours, theirs := range outcomes {
		if s == theirs {
			return ours
		}
	}
	return s
}

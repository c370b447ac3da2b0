package drive

import "github.com/braidrun/braid/internal/fold"

// projected estimates how many tokens the scope's next model call has.
func (a *Agent) projected(s *fold.Scope) int64 {
	tokens, whole := s.Tokens()
	if whole {
		return tokens
	}
	return tokens + a.toldTokens()
}

// toldTokens estimates what stands before the messages of each call.
func (a *Agent) toldTokens() int64 {
	return a.InstructionTokens + a.Current().tokens
}

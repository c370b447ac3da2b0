package scenario

// A turn makes its conversation longer, so a conversation serves only some
// turns: as many as let it grow by a tenth, and twenty of a short one. One after
// the other has all its turns, so that what is timed is warm in the cache too.

// turnsEach is how many turns one conversation of prior messages serves.
func turnsEach(prior int) int { return max(20, prior/20) }

// mostTurns is how many turns one batch does.
func mostTurns(prior int) int { return max(1, 500/turnsEach(prior)) * turnsEach(prior) }

// sessionsFor is how many conversations n turns need.
func sessionsFor(prior, n int) int {
	each := turnsEach(prior)
	return max(1, (n+each-1)/each)
}

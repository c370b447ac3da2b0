package scenario

// A turn makes its conversation longer, so a conversation serves only as many
// turns as let it grow by a tenth, and small ones are prepared by the dozen:
// together they hold a thousand prior messages, which stay in the cache.

// turnsEach is how many turns one conversation of prior messages serves.
func turnsEach(prior int) int { return max(1, prior/20) }

// mostTurns is how many turns one batch does.
func mostTurns(prior int) int { return max(1, 1000/prior) * turnsEach(prior) }

// sessionsFor is how many conversations n turns need.
func sessionsFor(prior, n int) int {
	each := turnsEach(prior)
	return max(1, (n+each-1)/each)
}

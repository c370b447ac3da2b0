package service

// HeldTokens is how many runs there are tokens for.
func (s *Service) HeldTokens() int {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	return len(s.tokens.runs)
}

// OpenDoors is how many conversations have somebody on the way in.
func (s *Service) OpenDoors() int {
	s.doors.mu.Lock()
	defer s.doors.mu.Unlock()
	return len(s.doors.used)
}

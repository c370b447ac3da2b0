package claude

// Resume goes on with a session, by its id or the path of its transcript.
func Resume(session string) Option { return func(c *config) { c.session.resume = session } }

// Continue goes on with the latest session of the working folder.
func Continue() Option { return func(c *config) { c.session.latest = true } }

// Fork has a resumed session get an id of its own, and leaves the old one as it is.
func Fork() Option { return func(c *config) { c.session.fork = true } }

// SessionID chooses the id of a new session, a UUID. The program refuses an id that exists.
func SessionID(id string) Option { return func(c *config) { c.session.id = id } }

// ResumeAt resumes a session up to the message of this UUID.
func ResumeAt(message string) Option { return func(c *config) { c.session.at = message } }

// ResumeDropsTurn resumes a session without the turn of the message of this UUID.
func ResumeDropsTurn(message string) Option { return func(c *config) { c.session.drops = message } }

// NoPersistence keeps no transcript, so the session cannot be resumed.
func NoPersistence() Option { return func(c *config) { c.session.forget = true } }

// MirrorSession also sends what the program appends to its transcripts, as [Mirror].
func MirrorSession() Option { return func(c *config) { c.session.mirror = true } }

// Title names the session.
func Title(title string) Option { return func(c *config) { c.session.title = title } }

// FileCheckpoints keeps the versions of files that the tools change, for [Client.RewindFiles].
func FileCheckpoints() Option { return func(c *config) { c.session.undo = true } }

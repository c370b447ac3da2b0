package attachment

// The bounds of attachments.
const (
	// MaxCount bounds the attachments of one message.
	MaxCount = 20
	// MaxImage bounds an image, in bytes.
	MaxImage = 10 << 20
	// MaxText bounds a text, in bytes.
	MaxText = 4 << 20
	// MaxDocument bounds another document, in bytes.
	MaxDocument = 32 << 20
	// MaxTotal bounds all attachments of one message together, in bytes.
	MaxTotal = 32 << 20
	// MaxName bounds the name of a file, in bytes.
	MaxName = 200
	// MaxURL bounds the address of a reference, in bytes.
	MaxURL = 2048
)

// The names of errors for programs.
const (
	// Invalid is the code of a file that is damaged, or is not what it is declared to be.
	Invalid = "ATTACHMENT_INVALID"
	// Unreadable is the code of a file that cannot be read: by no model, or by the run's.
	Unreadable = "ATTACHMENT_UNREADABLE"
	// TooLarge is the code of a file over a bound of this package.
	TooLarge = "ATTACHMENT_TOO_LARGE"
)

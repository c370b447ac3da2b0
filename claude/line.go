package claude

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is how long a line of the program may be.
const MaxLine = 64 << 20

// LineError is a line of the program that breaks its protocol.
type LineError struct {
	// Start is the beginning of the line; empty for one that is longer than [MaxLine].
	Start string
	// Long says that the line is longer than [MaxLine].
	Long bool
}

// Error implements error.
func (e *LineError) Error() string {
	if e.Long {
		return fmt.Sprintf("claude: the program wrote a line of more than %d MiB", MaxLine>>20)
	}
	return fmt.Sprintf("claude: the program wrote a line that is no message: %q", e.Start)
}

// shorten returns the beginning of a line for an error.
func shorten(line []byte) string {
	const most = 80
	if len(line) > most {
		return strings.ToValidUTF8(string(line[:most]), "") + "…"
	}
	return string(line)
}

// readLine returns the next line without its end, in memory of its own. The error is a [LineError], or that of r.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			return nil, &LineError{Long: true}
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

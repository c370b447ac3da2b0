//go:build planted && !race

package e2e

import (
	"path/filepath"

	"github.com/braidrun/braid/test/instrument"
)

// make test compiles what it tests without the race detector with the points and the bugs of package
// instrument. The command is built like this as well, so that nothing is compiled twice. No point and
// no bug is on.
func init() {
	buildFlags = func(dir string) ([]string, error) {
		overlay, err := instrument.Overlay("../..", filepath.Join(dir, "overlay"))
		return []string{"-trimpath", "-tags=planted", "-overlay=" + overlay}, err
	}
}

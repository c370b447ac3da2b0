package conf

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// ToolNames lists the tools that are built into the command.
var ToolNames = []string{"calculator", "clock", "files"}

// parseTools returns "auto", "none" or a list of names joined by commas.
func parseTools(v string) (string, error) {
	switch v = strings.ToLower(strings.TrimSpace(v)); v {
	case "", "auto":
		return "auto", nil
	case "none":
		return v, nil
	case "all":
		return strings.Join(ToolNames, ","), nil
	}
	var names []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(ToolNames, name) {
			return "", errors.New("is not a list of tools: " +
				term.DidYouMean(name, ToolNames, "", "use auto, all, none or some of "+strings.Join(ToolNames, ",")))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ","), nil
}

// parsePatterns reads patterns of tool names.
func parsePatterns(to *[]string, v string) error {
	list := Words(v)
	if err := (braid.Permissions{Allow: list}).Check(); err != nil {
		return errors.New("is not a list of tools: use their names, with * for any letters, as in get_*,delete_file")
	}
	*to = list
	return nil
}

// parseKinds reads kinds of errors by their names.
func parseKinds(v string) ([]event.ErrorKind, error) {
	var names []string
	for _, k := range event.Kinds() {
		names = append(names, string(k.Kind))
	}
	var kinds []event.ErrorKind
	for _, name := range Words(strings.ToLower(v)) {
		if !slices.Contains(names, name) {
			return nil, errors.New("is not a list of kinds of errors: " + term.DidYouMean(name, names, "", "braid help exit-codes lists them"))
		}
		if kind := event.ErrorKind(name); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// ParseTime reads a duration such as 90s; "0" needs no unit.
func ParseTime(v string) (time.Duration, error) {
	if v == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, errors.New("is no time such as 90s or 5m")
	}
	return d, nil
}

// parseLease reads the duration of leases. Shorter leases expire while a slow database answers; longer ones
// delay the takeover of runs.
func parseLease(s *Settings, v string) error {
	const least, most = 3 * time.Second, 10 * time.Minute
	d, err := time.ParseDuration(v)
	if err != nil || d < least || d > most {
		return errors.New("is no time from 3s to 10m")
	}
	s.Lease = d
	return nil
}

// parseProxies reads addresses and networks.
func parseProxies(s *Settings, v string) error {
	s.TrustedProxies = nil
	for _, word := range Words(v) {
		network, err := netip.ParsePrefix(word)
		if err != nil {
			addr, wrong := netip.ParseAddr(word)
			if wrong != nil || addr.Zone() != "" {
				return fmt.Errorf("%q is no address and no network: write 192.0.2.7 or 10.0.0.0/8", term.Fit(word, 60))
			}
			network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		}
		s.TrustedProxies = append(s.TrustedProxies, network.Masked())
	}
	return nil
}

// ParseCount reads a whole number from 0.
func ParseCount[N int | int64](n *N, v string) error {
	i, err := strconv.ParseInt(v, 10, 64)
	if err != nil || i < 0 || int64(N(i)) != i {
		return errors.New("is no count: use a whole number from 0")
	}
	*n = N(i)
	return nil
}

// parsePositive reads a whole number from 1.
func parsePositive(n *int, v string) error {
	if err := ParseCount(n, v); err != nil || *n == 0 {
		return errors.New("is no count: use a whole number from 1")
	}
	return nil
}

// leastMemory is the minimum for a server: with less, hardly any request fits.
const leastMemory = 32 << 20

// parseMemory reads a size in bytes of at least [leastMemory].
func parseMemory(to *int64, v string) error {
	n, ok := parseSize(v)
	if !ok || n < leastMemory {
		return errors.New("is not a size of at least 32MiB: use a whole number with KiB, MiB or GiB")
	}
	*to = n
	return nil
}

// ParseStorage reads a size in bytes, which may be 0.
func ParseStorage(to *int64, v string) error {
	n, ok := parseSize(v)
	if !ok {
		return errors.New("is not a size: use a whole number with KiB, MiB or GiB")
	}
	*to = n
	return nil
}

// parseSize reads a size such as 512MiB. 1 KB is 1000 bytes.
func parseSize(v string) (n int64, ok bool) {
	digits := strings.TrimRight(v, "BGKMTibgkmt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	units := map[string]int64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}
	unit, known := units[strings.ToLower(strings.TrimSpace(v[len(digits):]))]
	if !known || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// ParseSwitch reads true or false, in several spellings.
func ParseSwitch(b *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		*b = true
	case "false", "no", "off", "0":
		*b = false
	default:
		return errors.New("is neither true nor false")
	}
	return nil
}

// parseTemperature reads a temperature; an empty value gives nil, the provider's default.
func parseTemperature(to **float64, v string) error {
	if v == "" {
		return nil
	}
	t, err := strconv.ParseFloat(v, 64)
	if err != nil || !(t >= 0 && t <= 2) {
		return errors.New("is no temperature: use a number from 0 to 2")
	}
	*to = &t
	return nil
}

// ParseWord reads one of the words, in any case.
func ParseWord(v string, words ...string) (string, error) {
	v = strings.ToLower(v)
	if slices.Contains(words, v) {
		return v, nil
	}
	return "", fmt.Errorf("is none of %s", strings.Join(words, ", "))
}

// Words splits a list at its commas and removes blanks; an empty list gives nil.
func Words(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// OrNever translates an option's 0, which disables a limit, to the library's -1.
func OrNever(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// Case is one simulation. Its fields determine it completely.
type Case struct {
	Scenario string
	// Store is "memory" or "sqlite".
	Store   string
	Seed    uint64
	Strikes []Strike
}

// Strike is a fault at the K-th call of a seam, counted over all processes from 1.
type Strike struct {
	Seam  Seam
	K     int
	Fault Fault
}

// String returns the name of the case in reports; [Parse] parses it.
func (c Case) String() string {
	parts := make([]string, len(c.Strikes))
	for i, s := range c.Strikes {
		parts[i] = s.String()
	}
	return fmt.Sprintf("%s/%s/%d/%s", c.Scenario, c.Store, c.Seed, strings.Join(parts, "+"))
}

func (s Strike) String() string { return fmt.Sprintf("%s:%d:%s", s.Seam, s.K, s.Fault) }

// Parse parses the name of a case.
func Parse(name string) (Case, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return Case{}, fmt.Errorf("%q is no case: want scenario/store/seed/strikes", name)
	}
	seed, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return Case{}, fmt.Errorf("%q has no seed: %w", name, err)
	}
	c := Case{Scenario: parts[0], Store: parts[1], Seed: seed}
	for one := range strings.SplitSeq(parts[3], "+") {
		if one == "" {
			continue
		}
		p := strings.Split(one, ":")
		if len(p) != 3 {
			return Case{}, fmt.Errorf("%q is no strike: want seam:k:fault", one)
		}
		k, err := strconv.Atoi(p[1])
		if err != nil {
			return Case{}, fmt.Errorf("%q has no k: %w", one, err)
		}
		c.Strikes = append(c.Strikes, Strike{Seam(p[0]), k, Fault(p[2])})
	}
	return c, nil
}

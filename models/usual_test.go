package models

import (
	"testing"
	"time"
)

// A vendor's name alone opens its usual model, whose price and window are known.
func TestUsualModelsOfVendors(t *testing.T) {
	t.Parallel()
	usual := 0
	for _, p := range DefaultVendors().providers() {
		if p.model == "" {
			continue
		}
		usual++
		o, err := NewOpener(Options{Env: env(p.keys[0], "k")})
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{p.name, p.name + ":", ""} { // and where only its key is set
			m, err := o.Open(ref)
			if err != nil || m.Info().Name != p.model {
				t.Errorf("%q opens %v: %v", ref, m, err)
				continue
			}
			if price, ok := o.prices.Find(p.model, "", time.Now()); !ok || price.RanOut != "" || m.Info().ContextWindow == 0 {
				t.Errorf("%s has the price %+v and a window of %d", p.model, price, m.Info().ContextWindow)
			}
		}
	}
	if usual < 8 {
		t.Errorf("%d vendors have a usual model", usual)
	}
}

package embeddingtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/event"
)

// Vendor describes a provider to the contract.
type Vendor struct {
	// Start starts a fake server.
	Start func() *Stand
	// Open opens a model for that server with the right key.
	Open func(t *testing.T, address string) embedding.Model
	// Dimensions is the model's default, Other another possible value; 0 means none.
	Dimensions, Other int
	// Unsized is a number of dimensions that the model does not support; 0 means that only the
	// server knows.
	Unsized int
	// Cannot are faults that the vendor's protocol cannot express.
	Cannot []Fault
	// Indexes is set if a vector has the index of its text.
	Indexes bool
}

// Run tests a provider against the contract of [embedding.Model].
func Run(t *testing.T, v Vendor) {
	t.Helper()
	t.Run("vectors", v.vectors)
	t.Run("many texts", v.many)
	t.Run("dimensions", v.sizes)
	t.Run("requests that cannot be", v.requests)
	t.Run("answers that cannot be", v.answers)
	t.Run("what is mended", v.mended)
	t.Run("failures", v.failures)
	t.Run("cancelling", v.cancelling)
	t.Run("at once", v.atOnce)
}

func (v Vendor) open(t *testing.T) (embedding.Model, *Stand) {
	t.Helper()
	s := v.Start()
	t.Cleanup(s.Close)
	return v.Open(t, s.URL), s
}

func (v Vendor) vectors(t *testing.T) {
	t.Parallel()
	m, s := v.open(t)
	texts := []string{"Ann pays the bill.", "The moon is far away.", "日本語 \"quoted\" \n <b>"}
	req := &embedding.Request{Texts: texts, Task: embedding.Document}
	docs, err := m.Embed(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	check(t, docs, texts, v.Dimensions)
	if docs.UsageUnknown || docs.Usage.Input < int64(len(texts)) || docs.Usage.Output != 0 || docs.CostNanoUSD != nil {
		t.Errorf("usage %+v, unknown %v", docs.Usage, docs.UsageUnknown)
	}
	asked, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"Who pays the bill?"}, Task: embedding.Query})
	if err != nil {
		t.Fatal(err)
	}
	if near := embedding.Nearest(asked.Vectors[0], docs.Vectors, 1); near[0].Index != 0 {
		t.Errorf("the closest text is %+v", near)
	}
	if !slices.Equal(req.Texts, texts) || req.Task != embedding.Document || len(s.Bodies()) == 0 {
		t.Error("the request was changed")
	}
	if name := m.Info().Name; !strings.Contains(name, ":") {
		t.Errorf("the model is called %q", name)
	}
}

// check checks the vectors of a response.
func check(t *testing.T, r *embedding.Response, texts []string, dimensions int) {
	t.Helper()
	if len(r.Vectors) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(r.Vectors), len(texts))
	}
	for i, vec := range r.Vectors {
		var sum float64
		for _, x := range vec {
			sum += float64(x) * float64(x)
		}
		if len(vec) != dimensions || math.Abs(sum-1) > 1e-3 {
			t.Fatalf("vector %d has %d dimensions and the length %v", i, len(vec), math.Sqrt(sum))
		}
	}
}

func (v Vendor) many(t *testing.T) {
	t.Parallel()
	m, s := v.open(t)
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = fmt.Sprintf("text%d", i)
	}
	r, err := m.Embed(t.Context(), &embedding.Request{Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r, texts, v.Dimensions)
	for _, i := range []int{0, 63, 64, 95, 96, 99, 100, 255, 256, 299} {
		if near := embedding.Nearest(Vector(texts[i], v.Dimensions), r.Vectors[i:i+1], 1); near[0].Cosine < 0.99 {
			t.Errorf("the vector at %d is of another text", i)
		}
	}
	if r.Usage.Input != int64(len(texts)) || len(s.Bodies()) < 2 {
		t.Errorf("usage %+v of %d calls", r.Usage, len(s.Bodies()))
	}
}

func (v Vendor) sizes(t *testing.T) {
	t.Parallel()
	m, s := v.open(t)
	if d := m.Info().Dimensions; d != 0 && d != v.Dimensions {
		t.Errorf("the model says that it has %d dimensions", d)
	}
	if v.Other > 0 {
		r, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"a b c"}, Dimensions: v.Other})
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, []string{"a b c"}, v.Other)
	}
	if v.Unsized == 0 {
		return
	}
	before := len(s.Bodies())
	if _, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"a"}, Dimensions: v.Unsized}); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("%d dimensions: %v", v.Unsized, err)
	}
	if len(s.Bodies()) != before {
		t.Error("what the model cannot do was asked for")
	}
}

func (v Vendor) requests(t *testing.T) {
	t.Parallel()
	m, s := v.open(t)
	for name, tc := range map[string]struct {
		req  embedding.Request
		kind event.ErrorKind
	}{
		"no texts":          {embedding.Request{}, event.ErrInvalid},
		"an empty text":     {embedding.Request{Texts: []string{"a", " \n"}}, event.ErrInvalid},
		"no UTF-8":          {embedding.Request{Texts: []string{"\xff"}}, event.ErrInvalid},
		"a long text":       {embedding.Request{Texts: []string{strings.Repeat("a", embedding.MaxText+1)}}, event.ErrTooLarge},
		"too many texts":    {embedding.Request{Texts: slices.Repeat([]string{"a"}, embedding.MaxTexts+1)}, event.ErrTooLarge},
		"no such task":      {embedding.Request{Texts: []string{"a"}, Task: "guess"}, event.ErrInvalid},
		"fewer than none":   {embedding.Request{Texts: []string{"a"}, Dimensions: -1}, event.ErrInvalid},
		"endless dimension": {embedding.Request{Texts: []string{"a"}, Dimensions: 1 << 40}, event.ErrInvalid},
	} {
		r, err := m.Embed(t.Context(), &tc.req)
		e, ok := errors.AsType[*event.Error](err)
		if r != nil || !ok || e.Kind != tc.kind || e.Message == "" || e.Hint == "" || e.Op == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.Bodies()); n > 0 {
		t.Errorf("%d of them were sent", n)
	}
}

func (v Vendor) answers(t *testing.T) {
	t.Parallel()
	faults := []Fault{Missing, More, Empty, Ragged, NaN, Endless, Zero, Words, Page, Gigabyte, OtherSize}
	if v.Indexes {
		faults = append(faults, TwiceIndex, FarIndex)
	}
	for _, f := range faults {
		if slices.Contains(v.Cannot, f) {
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			m, s := v.open(t)
			s.Wrong(f)
			r, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"one two", "three"}, Dimensions: v.Other})
			e, ok := errors.AsType[*event.Error](err)
			if r != nil || !ok || e.Kind != event.ErrModel || e.Hint == "" {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

func (v Vendor) mended(t *testing.T) {
	t.Parallel()
	texts := []string{"one two", "three"}
	faults := []Fault{OtherLength, NoUsage, FalseUsage}
	if v.Indexes {
		faults = append(faults, OtherOrder)
	}
	for _, f := range faults {
		m, s := v.open(t)
		s.Wrong(f)
		r, err := m.Embed(t.Context(), &embedding.Request{Texts: texts})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		check(t, r, texts, v.Dimensions)
		for i := range texts {
			if embedding.Cosine(r.Vectors[i], Vector(texts[i], v.Dimensions)) < 0.99 {
				t.Errorf("%s: the vector %d is of another text", f, i)
			}
		}
		if unknown := f == NoUsage || f == FalseUsage; r.UsageUnknown != unknown {
			t.Errorf("%s: usage %+v, unknown %v", f, r.Usage, r.UsageUnknown)
		}
	}
}

func (v Vendor) failures(t *testing.T) {
	t.Parallel()
	for f, kind := range map[Fault]event.ErrorKind{
		Throttled: event.ErrThrottled, Broken: event.ErrUnavailable, Cut: event.ErrUnavailable, Elsewhere: event.ErrModel,
	} {
		m, s := v.open(t)
		s.Wrong(f)
		_, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"one two"}})
		e, ok := errors.AsType[*event.Error](err)
		if !ok || e.Kind != kind || e.Message == "" || e.Hint == "" || strings.Contains(e.Error(), Key) {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if f == Throttled && e.RetryAfter != 7*time.Second {
			t.Errorf("it may be asked again in %v", e.RetryAfter)
		}
		if n := len(s.Bodies()); n != 1 || s.followed() > 0 {
			t.Errorf("%s: it was asked %d times, and followed %d redirects", f, n, s.followed())
		}
	}
	m, s := v.open(t)
	_, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{strings.Repeat("a ", 200_000)}})
	if !errors.Is(err, event.ErrContextOverflow) {
		t.Errorf("a text that is too long: %v", err)
	}
	s.Close()
	_, err = m.Embed(t.Context(), &embedding.Request{Texts: []string{"a"}})
	if e, ok := errors.AsType[*event.Error](err); !ok || e.Kind != event.ErrUnavailable || !strings.Contains(e.Message, "cannot be reached") {
		t.Errorf("nobody listens: %v", err)
	}
}

func (v Vendor) cancelling(t *testing.T) {
	t.Parallel()
	m, s := v.open(t)
	s.Wrong(Silence)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(s.Bodies()) == 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // waits for a request on a real connection
		}
		cancel()
	}()
	if _, err := m.Embed(ctx, &embedding.Request{Texts: []string{"a"}}); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("cancelled: %v", err)
	}
	late, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := m.Embed(late, &embedding.Request{Texts: []string{"a"}}); !errors.Is(err, event.ErrTimeout) {
		t.Errorf("late: %v", err)
	}
}

func (v Vendor) atOnce(t *testing.T) {
	t.Parallel()
	m, _ := v.open(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := fmt.Sprintf("text%d", i)
			r, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{text}})
			if err != nil || embedding.Cosine(r.Vectors[0], Vector(text, v.Dimensions)) < 0.99 {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

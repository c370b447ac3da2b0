package blobtest

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
)

// together calls do on several goroutines and reports the first error of each.
func (p *probe) together(goroutines int, do func(n int) error) {
	p.Helper()
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for n := range goroutines {
		wg.Go(func() { errs[n] = do(n) })
	}
	wg.Wait()
	for n, err := range errs {
		if err != nil {
			p.Fatalf("goroutine %d: %v", n, err)
		}
	}
}

func raceCases() []testCase {
	return []testCase{
		{"many put the same bytes at once", func(p *probe) {
			data := content(1, 2*piece+10)
			p.together(8, func(n int) error {
				_, err := p.Store.Put(p.ctx, acme, file(strconv.Itoa(n)), bytes.NewReader(data), 0)
				return err
			})
			p.counts(acme, len(data))
			p.pieces(3)
			for n := range 8 {
				p.holds(acme, file(strconv.Itoa(n)), data)
			}
			p.together(8, func(n int) error { return p.Store.Unlink(p.ctx, acme, file(strconv.Itoa(n))) })
			p.gone(acme, data)
			p.counts(acme, 0)
			p.pieces(0)
		}},
		{"the same bytes come and go at once", func(p *probe) {
			data := content(1, piece+10)
			p.together(6, func(n int) error {
				ref := file(strconv.Itoa(n))
				for range 6 {
					b, err := p.Store.Put(p.ctx, acme, ref, bytes.NewReader(data), 0)
					if err != nil {
						return err
					}
					got, err := p.read(acme, b.Digest, 0, -1)
					if err != nil || !bytes.Equal(got, data) {
						return fmt.Errorf("%d bytes were read: %w", len(got), err)
					}
					if err := p.Store.Unlink(p.ctx, acme, ref); err != nil {
						return err
					}
				}
				return nil
			})
			p.gone(acme, data)
			p.counts(acme, 0)
			p.pieces(0)
		}},
		{"one reference is put by many at once", func(p *probe) {
			p.together(6, func(n int) error {
				for i := range 5 {
					if _, err := p.Store.Put(p.ctx, acme, file("a"), bytes.NewReader(content(uint64(n*10+i), 100+n)), 0); err != nil {
						return err
					}
				}
				return nil
			})
			b, err := p.Store.Lookup(p.ctx, acme, file("a"))
			p.ok("Lookup", err)
			p.counts(acme, int(b.Size))
			p.pieces(1)
		}},
	}
}

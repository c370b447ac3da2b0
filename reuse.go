package braid

import (
	"sync"
	"time"

	"github.com/braidrun/braid/internal/hooks"
)

// The memory of a driver whose run has ended serves another run: it is the largest piece
// that a run takes, and nothing of it outlives the run. Not so where a step was left behind, whose
// goroutine may still hold the driver, where hooks may, and where the run is not over:
// what it goes on with tells its steps in flight by their driver. What a run's models and tools are
// given is never another run's.
var drivers = sync.Pool{New: func() any { return &driver{asm: &assembler{}} }}

// free gives the driver's memory back once it is closed, if nobody holds it.
func (d *driver) free() {
	if d.abandoned || d.hooked || len(d.agent.hooks.At(hooks.AfterDrive)) > 0 || d.gate != nil || d.view.Run.Ended == nil || len(d.flights) > 0 {
		return
	}
	events, todo, flights, asm, send := d.events[:0], d.todo[:0], d.flights[:0], d.asm, d.sendLive
	clear(todo[:cap(todo)])
	asm.empty()
	*d = driver{}
	d.events, d.todo, d.flights, d.asm, d.sendLive = events, todo, flights, asm, send
	drivers.Put(d)
}

// What an assembler keeps for later answers: so many blocks, and buffers of so many bytes.
const (
	keptBlocks = 8
	keptBytes  = 16 << 10
)

// empty forgets the answer, and keeps the memory that is worth it: buffers, and what is left of
// the slabs.
func (a *assembler) empty() {
	blocks := a.blocks[:cap(a.blocks)]
	if len(blocks) > keptBlocks {
		blocks = nil
	}
	for i := range blocks {
		text := blocks[i].text[:0]
		if cap(text) > keptBytes {
			text = nil
		}
		blocks[i] = building{text: text}
	}
	a.blocks = blocks
	a.begin(time.Time{}, &Limits{})
}

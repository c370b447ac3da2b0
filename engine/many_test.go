package engine_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// Five thousand runs of one tenant can wait for their model at once where the bounds allow it.
func TestFiveThousandRunsWaitForTheirModel(t *testing.T) {
	t.Parallel()
	const many = 5000
	synctest.Test(t, func(t *testing.T) {
		var waiting, ended atomic.Int64
		release := make(chan struct{})
		agent := braid.New("a", &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
			waiting.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return chunks(says("hello"))
		}})
		store := journal.NewMemory(journal.MemoryOptions{})
		local := engine.NewLocal(store, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			r, err := agent.Drive(ctx, braid.Open(store, w.Run.Conversation), w.Run.ID, braid.Work{Mail: w.Mail, Draining: w.Draining})
			if err != nil {
				return engine.Outcome{}, err
			}
			ended.Add(1)
			return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
		}, engine.Options{Running: many, Share: func(string) engine.Share { return engine.Share{Running: many} }, Sweep: time.Hour})
		if err := local.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range many {
			id := fmt.Sprint(i)
			if _, err := local.Submit(t.Context(), journal.Run{ID: id, Conversation: id, Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		runtime.ReadMemStats(&after)
		running, queued := local.Load()
		if waiting.Load() != many || running != many || queued != 0 {
			t.Errorf("%d wait for their model, %d are driven, %d queued", waiting.Load(), running, queued)
		}
		t.Logf("%d KiB of heap and stack for each", (after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/many>>10)
		close(release)
		synctest.Wait()
		if ended.Load() != many {
			t.Errorf("%d have ended", ended.Load())
		}
		if err := local.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

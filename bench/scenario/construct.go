package scenario

import (
	"context"
	"runtime"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
)

// Kept is how many bytes stay on the heap for each agent that is kept.
type Kept struct {
	// Floor and Braid are agents with a tool that is there already, FloorTool
	// and BraidTool agents with a tool of their own.
	Floor     int64 `json:"floor"`
	Braid     int64 `json:"braid"`
	FloorTool int64 `json:"floor_tool"`
	BraidTool int64 `json:"braid_tool"`
}

// MeasureKept constructs some thousand agents of each sort and looks at the
// heap before and after.
func MeasureKept() Kept {
	m, s := &byHandModel{}, &scripted{}
	tool, typed := byHandAdd(), braid.Func("add", "Adds two numbers.", add)
	return Kept{
		Floor: keptBy(func() any { return floor.New("bench", m, tool) }),
		Braid: keptBy(func() any { return braid.New("bench", s, typed) }),
		FloorTool: keptBy(func() any {
			return floor.New("bench", m, byHandAdd())
		}),
		BraidTool: keptBy(func() any {
			return braid.New("bench", s, braid.Func("add", "Adds two numbers.", add))
		}),
	}
}

func keptBy(construct func() any) int64 {
	const n = 4096
	kept := make([]any, n)
	kept[0] = construct() // what is made once is no agent's
	before := heap()
	for i := range kept {
		kept[i] = construct()
	}
	after := heap()
	runtime.KeepAlive(kept)
	return (after - before) / n
}

// heap is what is in use on the heap after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second one frees what finalizers and pools held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// FirstTimes measures how long a typed tool takes whose type is seen for the
// first time, once for each of some types. Only the first call in a process
// tells: afterwards the types are known.
func FirstTimes() []time.Duration {
	var times []time.Duration
	for _, construct := range firsts {
		begin := time.Now()
		tool := construct()
		times = append(times, time.Since(begin))
		runtime.KeepAlive(tool)
	}
	return times
}

// newSum is the input of the tool add. Its parameter is only there to make many
// types of it.
type newSum[T any] struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

func first[T any]() any {
	return braid.Func("add", "Adds two numbers.",
		func(_ context.Context, in newSum[T]) (int, error) { return in.A + in.B, nil })
}

var firsts = [...]func() any{
	first[[0]int], first[[1]int], first[[2]int], first[[3]int],
	first[[4]int], first[[5]int], first[[6]int], first[[7]int],
	first[[8]int], first[[9]int], first[[10]int], first[[11]int],
	first[[12]int], first[[13]int], first[[14]int], first[[15]int],
}

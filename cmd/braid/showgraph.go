package main

import (
	"context"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/draw"
)

// showGraph prints the graph of a conversation's newest run that has one, with the path that it took.
func showGraph(ctx context.Context, a archive, id, form string, out *term.Output) error {
	draws, known := map[string]func(*draw.Graph) string{
		"dot": (*draw.Graph).DOT, "mermaid": (*draw.Graph).Mermaid, "svg": (*draw.Graph).SVG,
	}[form]
	if !known {
		return term.Invalid("use --graph dot, --graph mermaid or --graph svg", "there is no form %q of a graph", form)
	}
	graph, err := newestGraph(ctx, a, id)
	if err != nil {
		return err
	}
	if graph == nil {
		return &event.Error{
			Op: "show", Kind: event.ErrNotFound, Message: "no run of the conversation has a graph", Hint: "leave out --graph to see the timeline",
		}
	}
	out.Buf = append(out.Buf, draws(graph)...)
	if err := out.Flush(); err != nil {
		return term.OutputError(err)
	}
	return nil
}

// newestGraph reads a log. The graph is the outermost one of the newest run that has one; nil if none has.
func newestGraph(ctx context.Context, a archive, id string) (graph *draw.Graph, err error) {
	var log draw.Log
	run, last := "", int64(0)
	take := func() {
		if list := log.Graphs(); len(list) > 0 {
			graph = list[0]
		}
	}
	for {
		events, err := a.Read(ctx, id, last, watchPage)
		if err != nil {
			return nil, storeError(err)
		}
		for _, e := range events {
			if e.Run != run {
				take()
				run = e.Run
			}
			log.Add(e)
			last = e.Seq
		}
		if len(events) < watchPage {
			take()
			return graph, nil
		}
	}
}

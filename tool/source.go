package tool

import "github.com/braidrun/braid/event"

// Source is where a list of tools is from, such as servers of tools or a folder of skills. An agent takes the tools, and
// appends the instructions to its own.
//
// A source may also have the method ToolServers; see [ServerSource].
type Source interface {
	// Tools returns the tools of this moment. It may return none.
	Tools() []Tool
	// Instructions say how to use the source. They may be empty.
	Instructions() string
}

// ServerSource is a [Source] that knows how the servers of its tools are doing.
type ServerSource interface {
	Source
	// ToolServers returns the servers. It is called when a run begins, whose first event records them. It is safe for
	// concurrent use.
	ToolServers() []event.ToolServer
}

// ManySource is a [Source] that may have more tools than a model should be shown, such as the operations of a large API.
type ManySource interface {
	Source
	// SearchAbove is the number of tools of the source above which a model searches the tools of its agent, as with
	// SearchTools of package braid, which overrides it.
	SearchAbove() int
}

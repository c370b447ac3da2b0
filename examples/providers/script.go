package main

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// question is what the agent is asked.
const question = "What is 3 + 5?"

// answer is what a model says to one request, in Braid's words. Each provider's
// server puts it into its vendor's.
type answer struct {
	chunks []model.Chunk
	stop   event.StopReason
	usage  event.Usage
}

// script is the whole conversation.
var script = []answer{
	{
		chunks: []model.Chunk{
			{Kind: model.ChunkText, Text: "I add "},
			{Kind: model.ChunkText, Text: "3 and 5."},
			{Kind: model.ChunkCall, Index: 1, ID: "call_1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"a":3,`},
			{Kind: model.ChunkCallInput, Index: 1, Text: `"b":5}`},
		},
		stop: event.StopToolUse, usage: event.Usage{Input: 40, Output: 20, Total: 60},
	},
	{
		chunks: []model.Chunk{{Kind: model.ChunkText, Text: "3 + 5 = 8."}},
		stop:   event.StopEndTurn, usage: event.Usage{Input: 75, Output: 9, Total: 84},
	},
}

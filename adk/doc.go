// Package adk has parts of agents for programs that come from Google's Agent Development Kit (ADK): instructions with
// placeholders, and an output key.
//
//	writer := braid.New("writer", m, braid.Instructions("Write about the topic."), adk.OutputKey("draft"))
//	critic := braid.New("critic", m, adk.Instructions("Judge this text: {draft} {hints?}"))
//	agent := flow.Sequence("paper", writer, critic)
package adk

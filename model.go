package braid

import "github.com/braidrun/braid/model"

// Model is [model.Model]: a language model that answers one request with one stream.
type Model = model.Model

// ModelInfo is [model.Info]: the description of a model.
type ModelInfo = model.Info

// ModelChecker is [model.Checker]: a Model that checks settings before the first call.
type ModelChecker = model.Checker

// CancellableModel is [model.Cancellable]: a Model whose calls end with their context.
type CancellableModel = model.Cancellable

// Cancellable is [model.IsCancellable]: it reports whether m promises to be a [CancellableModel].
func Cancellable(m Model) bool { return model.IsCancellable(m) }

// ModelRequest is [model.Request]: one call of a model.
type ModelRequest = model.Request

// ModelOptions is [model.Options]: the settings that providers share.
type ModelOptions = model.Options

// ToolSpec is [model.ToolSpec]: the description of a tool for a model.
type ToolSpec = model.ToolSpec

// ToolChoice is [model.ToolChoice]: what a model must do with its tools.
type ToolChoice = model.ToolChoice

// ToolMode is [model.ToolMode]: the name of a [ToolChoice].
type ToolMode = model.ToolMode

// The modes of a choice are those of package model.
const (
	// ToolsFree lets the model decide.
	ToolsFree = model.ToolsFree
	// ToolsAny makes the model call at least one tool.
	ToolsAny = model.ToolsAny
	// ToolsNone forbids calls.
	ToolsNone = model.ToolsNone
	// ToolsOne makes the model call the tool named in [ToolChoice].
	ToolsOne = model.ToolsOne
)

// Chunk is [model.Chunk]: a piece of a model's answer.
type Chunk = model.Chunk

// ChunkKind is [model.ChunkKind]: it says what a [Chunk] holds.
type ChunkKind = model.ChunkKind

// The kinds of chunks are those of package model, which says what each holds.
const (
	ChunkText         = model.ChunkText
	ChunkThinking     = model.ChunkThinking
	ChunkSignature    = model.ChunkSignature
	ChunkCall         = model.ChunkCall
	ChunkCallInput    = model.ChunkCallInput
	ChunkBlock        = model.ChunkBlock
	ChunkUsage        = model.ChunkUsage
	ChunkStop         = model.ChunkStop
	ChunkResponse     = model.ChunkResponse
	ChunkRedactInput  = model.ChunkRedactInput
	ChunkRedactOutput = model.ChunkRedactOutput

	ChunkThinkingDropped = model.ChunkThinkingDropped
)

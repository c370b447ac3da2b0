package braid

import (
	"context"

	"github.com/braidrun/braid/tool"
)

type (
	ToolOption = tool.Option
	Output     = tool.Output
	Traits     = tool.Traits
	AskOption  = tool.AskOption
)

var (
	TextOutput   = tool.Text
	TraitsOf     = tool.TraitsOf
	Adjust       = tool.Adjust
	Pure         = tool.Pure
	Idempotent   = tool.Idempotent
	Reconcile    = tool.Reconcile
	Timeout      = tool.Timeout
	Parallel     = tool.Parallel
	Polling      = tool.Polling
	RetryTool    = tool.Retries
	CallOf       = tool.CallOf
	Progress     = tool.Progress
	ProgressData = tool.ProgressData
	EndTurn      = tool.EndTurn
	ReturnDirect = tool.ReturnDirect
	ApprovalOf   = tool.ApprovalOf
	AnsweredBy   = tool.AnsweredBy
	AskFor       = tool.AskFor
	AskName      = tool.AskName
	AskPayload   = tool.AskPayload
	SecretOf     = tool.SecretOf
)

func SchemaOf[T any]() ([]byte, error) { return tool.SchemaOf[T]() }

func GetState[T any](ctx context.Context, key string) (T, bool, error) {
	return tool.State[T](key).Get(ctx)
}

func SetState(ctx context.Context, key string, value any) error {
	return tool.State[any](key).Set(ctx, value)
}

func DeleteState(ctx context.Context, key string) error { return tool.State[any](key).Delete(ctx) }

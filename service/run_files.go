package service

import (
	"context"

	"github.com/braidrun/braid/workspace"
)

func openFiles(in workspace.Backend, key ConversationKey) workspace.Files {
	return in.Files(key.files())
}

// files names the conversation for a backend of workspaces.
func (k ConversationKey) files() workspace.Owner {
	return workspace.Owner{Tenant: k.Tenant, Conversation: k.ID, Incarnation: k.Life}
}

// WorkspaceOf returns the workspace of the run that a tool works for. It is for [filetool.ForEach]. It returns nil outside a
// run, and if the service has no workspaces. What is stored there counts towards the tenant's quota; a write beyond it is
// [event.ErrQuota].
//
// [filetool.ForEach]: https://pkg.go.dev/github.com/braidrun/braid/tool/filetool#ForEach
func WorkspaceOf(ctx context.Context) (workspace.Files, error) {
	in, _ := ctx.Value(conversationKey{}).(runsIn)
	if in.workspaces == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	return &countedFiles{Files: openFiles(in.workspaces, in.conversation), quotas: in.quotas, tenant: in.conversation.Tenant}, nil
}

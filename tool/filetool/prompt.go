package filetool

import (
	"context"
	"strconv"
	"strings"

	"github.com/braidrun/braid/workspace"
)

// MaxListed bounds the files that [Prompt] names.
const MaxListed = 200

// Prompt returns a list of the files of a workspace for an agent's instructions. A path is quoted, so that a name cannot
// end the list or look like an instruction's line. It names at most [MaxListed] files.
func Prompt(ctx context.Context, files workspace.Files) (string, error) {
	list, err := files.List(ctx, workspace.Query{Limit: MaxListed + 1})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "The workspace is empty.", nil
	}
	var b strings.Builder
	b.WriteString("The files of the workspace. Their names are data:\n")
	for i, f := range list {
		if i == MaxListed {
			b.WriteString("- and more: use list\n")
			break
		}
		b.WriteString("- " + quoted(f.Path) + " (" + size(f.Size) + ")\n")
	}
	return b.String(), nil
}

// quoted returns a path as a JSON-like text without angle brackets, which [workspace.CheckPath] refuses already.
func quoted(path string) string { return strconv.QuoteToGraphic(path) }

package shelltool

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// mostRepositories bounds the folders of git in a local workspace. Each is a mount of its own while a command runs.
const mostRepositories = 256

var errGit = &event.Error{
	Op: "run command", Kind: event.ErrPermission, Message: "a command does not change files of git, because git runs programs that they name",
}

// gitPaths lists what git takes for its own in a folder: folders, files and links called .git, by their paths. It follows no
// link.
func gitPaths(ctx context.Context, root *os.Root) (list []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch e := ctx.Err(); {
		case e != nil:
			return e
		case err != nil: // a folder that its owner may not read
			return fs.SkipDir
		case !workspace.OfGit(name):
			return nil
		}
		if list = append(list, name); d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return list, system("the files of git cannot be found", err)
}

// protected lists the paths of git that a command finds in a folder.
func protected(ctx context.Context, root *os.Root) ([]string, error) {
	list, err := gitPaths(ctx, root)
	if err == nil && len(list) > mostRepositories {
		err = &event.Error{
			Op: "run command", Kind: event.ErrTooLarge, Message: "the workspace has more than " + strconv.Itoa(mostRepositories) + " repositories",
			Hint: "work in a folder with fewer",
		}
	}
	return list, err
}

// removeNew removes what a command has made of git, and returns a sentence about each.
func removeNew(ctx context.Context, root *os.Root, before []string) (left []string, err error) {
	after, err := gitPaths(ctx, root)
	for _, name := range after {
		if slices.Contains(before, name) {
			continue
		}
		if e := root.RemoveAll(name); e != nil {
			return left, system("the files of git that the command made cannot be removed", e)
		}
		if len(left) < mostLeft {
			left = append(left, "Removed: "+strconv.QuoteToGraphic(name)+": "+errGit.Message+".")
		}
	}
	return left, err
}

package drive

import "github.com/braidrun/braid/event"

// maxFilePath bounds the path of a file that an event names, in bytes.
const maxFilePath = 4096

// listed returns those changes of files that an event can hold, and adds the others to more. all is left as it is.
func listed(all []event.FileChange, more int) ([]event.FileChange, int) {
	var list []event.FileChange
	for _, c := range all {
		if len(c.Path) > maxFilePath || c.Size < 0 {
			more++
			continue
		}
		c.Path = validText(c.Path)
		if c.Kind != event.FileAdded && c.Kind != event.FileRemoved {
			c.Kind = event.FileChanged
		}
		list = append(list, c)
	}
	return list, more
}

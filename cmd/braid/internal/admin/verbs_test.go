package admin

import (
	"strings"
	"testing"
)

// The help has each verb, and each flag that it lists exists.
func TestAdminHelp(t *testing.T) {
	t.Parallel()
	c := Command(nil)
	help := c.About
	flags := map[string]bool{}
	for _, f := range c.Flags {
		flags[f.Name] = false
	}
	for _, v := range verbs() {
		if !strings.Contains(help, "  "+strings.TrimSpace(v.what+" "+v.do+" "+v.id)+" ") {
			t.Errorf("no %s %s in the help", v.what, v.do)
		}
		for _, name := range append(append([]string(nil), v.flags...), common...) {
			if _, ok := flags[name]; !ok {
				t.Errorf("%s %s takes --%s, which there is not", v.what, v.do, name)
			}
			flags[name] = true
		}
	}
	for name, used := range flags {
		if !used {
			t.Errorf("--%s means nothing to anything", name)
		}
	}
}

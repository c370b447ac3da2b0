package directory

import "strings"

// isSlug reports whether a text can be the id of a tenant, an agent or a model.
func isSlug(id string) bool {
	if id == "" || len(id) > 63 || id[0] == '-' {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// isModelName reports whether a text can be an alias: a slug, with dots, colons and underscores
// allowed.
func isModelName(name string) bool {
	return isSlug(strings.NewReplacer(".", "x", "_", "x", ":", "x").Replace(name))
}

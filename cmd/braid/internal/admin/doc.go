// Package admin is braid admin: the administration of a server over its API.
package admin

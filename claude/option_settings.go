package claude

import "encoding/json"

// SettingSources names the settings files that are read: user, project and local. No name reads none. The program's
// default is all of them; CLAUDE.md belongs to project.
func SettingSources(names ...string) Option { return func(c *config) { c.settings.sources = &names } }

// Settings adds settings, a JSON object in the form of a settings file.
func Settings(object json.RawMessage) Option { return func(c *config) { c.settings.own = object } }

// Sandbox sets the program's own sandbox for commands, a JSON object as the settings' field "sandbox".
func Sandbox(object json.RawMessage) Option { return func(c *config) { c.settings.sandbox = object } }

// ManagedSettings adds settings that no other settings override.
func ManagedSettings(object json.RawMessage) Option {
	return func(c *config) { c.settings.managed = object }
}

// Skills names the skills that are loaded and allows the Skill tool for them; no name loads none. It is a filter, not a
// protection.
func Skills(names ...string) Option { return func(c *config) { c.settings.skills = &names } }

// Plugin is a local plugin.
type Plugin struct {
	// Type is "local".
	Type string `json:"type"`
	Path string `json:"path"`
	// SkipMCP leaves out the plugin's MCP servers.
	SkipMCP bool `json:"skipMcpDiscovery,omitempty"`
}

// Plugins loads plugins.
func Plugins(plugins ...Plugin) Option { return func(c *config) { c.settings.plugins = plugins } }

// ProjectRoot is the folder whose project settings are read; the working folder by default.
func ProjectRoot(path string) Option { return func(c *config) { c.settings.root = path } }

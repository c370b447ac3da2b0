package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Skill is a skill of a tenant, in one of its versions.
type Skill struct {
	Tenant string `json:"tenant"`
	// ID is the name in its SKILL.md.
	ID      string `json:"id"`
	Status  string `json:"status"`
	Version int    `json:"version"`
	// NewestVersion is the last version that exists.
	NewestVersion int `json:"newest_version"`

	SkillContent //nolint:embeddedstructfieldcheck // the order of the JSON

	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// SkillContent describes the content of a version of a skill.
type SkillContent struct {
	Description   string `json:"description"`
	License       string `json:"license,omitempty"`
	Compatibility string `json:"compatibility,omitempty"`
	// AllowedTools are the tools that the skill wants to use. They permit nothing.
	AllowedTools []string          `json:"allowed_tools,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	// SHA256 is the digest of the archive that [Admin.SkillArchive] writes.
	SHA256       string      `json:"sha256"`
	ArchiveBytes int64       `json:"archive_bytes"`
	Files        []SkillFile `json:"files"`
	// Diagnostics say what is odd about the skill and did not refuse it.
	Diagnostics []SkillDiagnostic `json:"diagnostics,omitempty"`
}

// SkillFile is a file of a skill.
type SkillFile struct {
	// Path is its path in the skill's folder.
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SkillDiagnostic is a finding in a skill.
type SkillDiagnostic struct {
	File string `json:"file,omitempty"`
	// Line is the line in File, from 1. 0 means the whole file.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// SkillVersion is one version of a skill.
type SkillVersion struct {
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`

	SkillContent //nolint:embeddedstructfieldcheck // the order of the JSON
}

// UploadSkill stores the folder of a skill, which archive has as a zip file ([ZipSkill]), as a new version.
// The same files change nothing. A revision above 0 refuses the upload if the skill has another one by now.
// It returns [event.ErrInvalid] for a skill that cannot be used, and names the file and the line.
func (a Admin) UploadSkill(ctx context.Context, tenant string, archive []byte, revision int64) (out Skill, err error) {
	return out, a.ask(ctx, http.MethodPost, ifAt(revision), rawBody{"application/zip", archive}, &out, tenant, "skills")
}

// Skills yields a tenant's skills, each in its newest version.
func (a Admin) Skills(ctx context.Context, tenant string, o ListOptions) iter.Seq2[Skill, error] {
	return all[Skill](ctx, a, o.query(), tenant, "skills")
}

// skillPath returns the names in the path of a version of a skill. 0 means the newest.
func skillPath(id string, version int, more ...string) []string {
	names := []string{"skills", id}
	if version != 0 {
		names = append(names, "versions", strconv.Itoa(version))
	}
	return append(names, more...)
}

// Skill returns a skill in one of its versions. 0 means the newest.
func (a Admin) Skill(ctx context.Context, tenant, id string, version int) (out Skill, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, skillPath(id, version)...)
}

// SkillArchive writes the files of a skill in one of its versions to w, as a zip archive. 0 means the newest.
func (a Admin) SkillArchive(ctx context.Context, tenant, id string, version int, w io.Writer) error {
	return a.ask(ctx, http.MethodGet, nil, nil, struct{ io.Writer }{w}, tenant, skillPath(id, version, "archive")...)
}

// SkillVersions yields the versions of a skill, the newest first.
func (a Admin) SkillVersions(ctx context.Context, tenant, id string) iter.Seq2[SkillVersion, error] {
	return all[SkillVersion](ctx, a, url.Values{}, tenant, "skills", id, "versions")
}

// UpdateSkill changes a skill, as [Admin.UpdateTenant] does. The patch may have "status".
func (a Admin) UpdateSkill(ctx context.Context, tenant, id string, revision int64, patch Patch) (out Skill, err error) {
	return out, a.ask(ctx, http.MethodPatch, ifAt(revision), patch, &out, tenant, "skills", id)
}

// DeleteSkill removes a skill with its versions and files. For a skill that an agent names it needs [Force];
// otherwise it returns [event.ErrConflict], which names the agents.
func (a Admin) DeleteSkill(ctx context.Context, tenant, id string, revision int64, options ...WriteOption) error {
	return a.askWith(ctx, http.MethodDelete, queryOf(options), ifAt(revision), nil, nil, tenant, "skills", id)
}

package directory

import (
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// Skill is a skill of a tenant: a folder with a SKILL.md. Its versions are added and never changed.
// Runs use the newest.
type Skill struct {
	Tenant string `json:"tenant"`
	// ID is the name in its SKILL.md.
	ID string `json:"id"`
	// Life distinguishes skills that reuse one name. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Version is the version of the content: 1, 2, 3 …
	Version int `json:"version"`
	// Newest is the last version that exists.
	Newest    int `json:"newest_version"`
	SkillSpec     //nolint:embeddedstructfieldcheck // the order of the JSON
	// Revision counts the changes, including those of the status.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	// Updated is the time of the last change, not of the version.
	Updated time.Time `json:"updated_at"`
}

// SkillSpec describes the content of a version of a [Skill]. The service reads it from the uploaded
// files.
type SkillSpec struct {
	Description   string `json:"description"`
	License       string `json:"license,omitempty"`
	Compatibility string `json:"compatibility,omitempty"`
	// AllowedTools are the tools that the skill wants to use. They permit nothing.
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// Metadata are the author's other values.
	Metadata map[string]string `json:"metadata,omitempty"`
	// SHA256 is the digest of the stored archive, in hexadecimal. The same files have the same digest.
	SHA256 string `json:"sha256"`
	// ArchiveBytes is the length of the stored archive.
	ArchiveBytes int64 `json:"archive_bytes"`
	// Files are the files by their paths in the skill's folder.
	Files []SkillFile `json:"files"`
	// Diagnostics say what is odd about the skill and did not refuse it.
	Diagnostics []SkillDiagnostic `json:"diagnostics,omitempty"`
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// SHA256 is the digest of the file in hexadecimal.
	SHA256 string `json:"sha256"`
}

// SkillDiagnostic is a finding in a skill.
type SkillDiagnostic struct {
	File string `json:"file,omitempty"`
	// Line is the line in File, from 1. 0 means the whole file.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// SkillVersion is one version of a [Skill].
type SkillVersion struct {
	Version   int       `json:"version"`
	Created   time.Time `json:"created_at"`
	SkillSpec           //nolint:embeddedstructfieldcheck // the order of the JSON
}

const (
	skillColumns = `s.tenant, s.id, s.life, s.status, s.version, s.revision, s.created, s.updated, v.version, v.doc`
	selectSkill  = `SELECT ` + skillColumns + ` FROM skill s JOIN skill_version v ON v.tenant = s.tenant AND v.skill = s.id`
)

func scanSkill(scan func(...any) error) (Skill, error) {
	var s Skill
	var created, updated int64
	var doc string
	if err := scan(&s.Tenant, &s.ID, &s.Life, &s.Status, &s.Newest, &s.Revision, &created, &updated, &s.Version, &doc); err != nil {
		return Skill{}, err
	}
	s.Created, s.Updated = database.Time(created), database.Time(updated)
	return s, decode(doc, &s.SkillSpec)
}

func skillNotFound(op string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Code: "SKILL_NOT_FOUND", Message: "there is no such skill", Hint: "check the name"}
}

// longestSkillName is the format's bound. A skill's name may be one character longer than a slug.
const longestSkillName = 64

// longestSkillText bounds the bytes of a description. The service bounds its characters.
const longestSkillText = 16 << 10

// isSkillName reports whether a text can be the name of a skill: small letters and digits, with single
// hyphens between them.
func isSkillName(name string) bool {
	return name != "" && len(name) <= longestSkillName && isSlug(name[:min(len(name), longestSkillName-1)]) &&
		!strings.Contains(name, "--") && !strings.HasSuffix(name, "-") && isSlug(name[len(name)-1:])
}

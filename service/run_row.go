package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// row returns the row of the requested run.
func (r *RunRequest) row(p Principal, conversation string) (journal.Run, error) {
	content := make([]event.Block, 0, 1+len(r.Attachments))
	if strings.TrimSpace(r.Input) != "" {
		content = append(content, &event.Text{Text: r.Input})
	}
	for i := range r.Attachments {
		content = append(content, r.Attachments[i].Block)
	}
	body, err := r.digest(content)
	if err != nil {
		return journal.Run{}, invalid("start run", "the input cannot be stored", "check the attachments")
	}
	metadata, err := r.keep(body)
	if err != nil {
		return journal.Run{}, err
	}
	noteInput(metadata, content)
	run := journal.Run{
		ID: newID(runPrefix), Conversation: conversation, Tenant: p.Tenant, User: p.User, Agent: agentOnTurn,
		Key: r.Key, Executor: r.Executor, Metadata: metadata,
	}
	if r.Continues == "" {
		run.Input = []event.Message{{Role: event.RoleUser, Content: content}}
	}
	return run, nil
}

// digest returns a hash of what two requests with one key must have in common.
func (r *RunRequest) digest(content []event.Block) (string, error) {
	blocks, err := brief(content)
	if err != nil {
		return "", err
	}
	settings, err := r.settings()
	if err != nil {
		return "", err
	}
	same, err := json.Marshal(struct { //nolint:musttag // only compared
		Content      json.RawMessage   `json:"content"`
		Executor     string            `json:"executor"`
		Skills       []string          `json:"skills"`
		Model        string            `json:"model"`
		Limits       RunLimits         `json:"limits"`
		OutputSchema json.RawMessage   `json:"output_schema,omitempty"`
		Policy       braid.Policy      `json:"policy"`
		Metadata     map[string]string `json:"metadata"`
		Continues    string            `json:"continues,omitempty"`
		Settings     string            `json:"settings,omitempty"`
	}{blocks, r.Executor, r.Skills, r.Model, r.Limits, r.OutputSchema, r.Policy, r.Metadata, r.Continues, settings})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(same)
	return hex.EncodeToString(sum[:16]), nil
}

// brief returns JSON that is the same for the same content. Large content is hashed, without a
// copy.
func brief(content []event.Block) (json.RawMessage, error) {
	if sizeOfBlocks(content) <= freeBytes {
		return event.AppendBlocks(nil, content)
	}
	sum := sha256.New()
	for _, b := range content {
		var name, text string
		var data []byte
		switch b := b.(type) {
		case *event.Text:
			text = b.Text
		case *event.Image:
			name, data = b.MIME+"\n"+b.URL, b.Data
		case *event.Document:
			name, data, text = b.MIME+"\n"+b.Name+"\n"+b.URL, b.Data, b.Text
		default:
			one, err := event.AppendBlocks(nil, []event.Block{b})
			if err != nil {
				return nil, err
			}
			data = one
		}
		fmt.Fprintf(sum, "%s %d %d %d\n%s", b.BlockKind(), len(name), len(text), len(data), name) // a hash never fails
		var part [4 << 10]byte
		for text != "" { // a hash has no WriteString
			n := copy(part[:], text)
			sum.Write(part[:n])
			text = text[n:]
		}
		sum.Write(data)
	}
	return json.Marshal(hex.EncodeToString(sum.Sum(nil)))
}

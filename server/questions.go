package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
)

// questionBody is an open question.
type questionBody struct {
	// ID is what it is answered under, once.
	ID        string             `json:"question_id"`
	Ask       event.QuestionKind `json:"ask"`
	Name      string             `json:"name,omitempty"`
	Prompt    string             `json:"prompt"`
	Schema    json.RawMessage    `json:"schema,omitempty"`
	Payload   json.RawMessage    `json:"payload,omitempty"`
	ToolUseID string             `json:"tool_use_id,omitempty"`
	ToolName  string             `json:"tool_name,omitempty"`
	Args      json.RawMessage    `json:"tool_input,omitempty"`
	Expires   *time.Time         `json:"expires_at,omitempty"`
}

// answerRequest is a person's answer: any JSON, also null.
type answerRequest struct {
	Answer json.RawMessage `json:"answer"`
}

func (s *Server) listQuestions(w http.ResponseWriter, r *http.Request) error {
	open, err := s.service.Questions(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := list[questionBody]{Data: []questionBody{}}
	for i := range open {
		q := &open[i]
		b := questionBody{
			ID: q.Token, Ask: q.Ask, Name: q.Name, Prompt: q.Prompt, Schema: q.Schema, Payload: q.Payload,
			ToolUseID: q.Call, ToolName: q.Tool, Args: q.Args,
		}
		if !q.Expires.IsZero() {
			b.Expires = &q.Expires
		}
		out.Data = append(out.Data, b)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	var in answerRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	if in.Answer == nil {
		return front.Bad("the body holds no answer", `send {"answer": …}; null is an answer, too`)
	}
	run, err := s.service.Answer(r.Context(), who(r), r.PathValue("id"), r.PathValue("token"), in.Answer)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, runBrief{run.ID, run.Turn, run.Status})
	return nil
}

package agentcore

import "net/http"

type cardBody struct {
	Protocol     string          `json:"protocolVersion"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	URL          string          `json:"url"`
	Version      string          `json:"version"`
	Capabilities map[string]bool `json:"capabilities"`
	Input        []string        `json:"defaultInputModes"`
	Output       []string        `json:"defaultOutputModes"`
	Skills       []Skill         `json:"skills"`
}

// card responds with the agent's card.
func (x *exchange) card() error {
	if id := x.R.Header.Get(sessionHeader); id != "" {
		if err := x.inSession(id); err != nil {
			return err
		}
	}
	c := x.h.options.Card
	body := cardBody{
		Protocol: "0.3.0", Name: c.Name, Description: c.Description, Version: c.Version, Skills: c.Skills,
		URL:          "http://" + x.R.Host + "/invocations",
		Capabilities: map[string]bool{"streaming": true},
		Input:        []string{"text/plain"}, Output: []string{"text/plain"},
	}
	if body.Name == "" {
		body.Name = "agent"
	}
	if body.Description == "" {
		body.Description = "An agent that answers in text."
	}
	if body.Version == "" {
		body.Version = "0"
	}
	if body.Skills == nil {
		body.Skills = []Skill{}
	}
	x.json(http.StatusOK, body)
	return nil
}

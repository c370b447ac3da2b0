package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// webhookFields are the writable fields of a webhook.
type webhookFields struct {
	Status directory.Status         `json:"status,omitempty"`
	Name   string                   `json:"name,omitempty"`
	URL    string                   `json:"url,omitempty"`
	Events []directory.WebhookEvent `json:"events,omitzero"`
}

// webhookRequest creates a webhook.
type webhookRequest struct {
	webhookFields

	ID string `json:"id"`
	// Secret is the signing secret, such as whsec_…; left out is a new one.
	Secret string `json:"secret,omitempty"`
}

// rotateRequest gives a webhook another secret.
type rotateRequest struct {
	// Secret is the signing secret, such as whsec_…; left out is a new one.
	Secret string `json:"secret,omitempty"`
	// Overlap is how long messages are signed with the previous secret too; left out is a day.
	Overlap *int64 `json:"overlap_seconds,omitempty"`
}

// replayRequest sends deliveries again.
type replayRequest struct {
	// Since is the time from which on deliveries are sent again.
	Since time.Time `json:"since"`
	// All includes delivered ones.
	All bool `json:"all,omitempty"`
}

// replayBody says how many deliveries are sent again.
type replayBody struct {
	Deliveries int `json:"deliveries"`
}

// newWebhookBody is a webhook with its secret. Only the response that makes a secret has it.
type newWebhookBody struct {
	directory.Webhook

	Value string `json:"secret,omitempty"`
}

// deliveryBody is a delivery with what is sent.
type deliveryBody struct {
	webhooks.Delivery

	Payload json.RawMessage `json:"payload"`
}

func (f *webhookFields) into(w *directory.Webhook) {
	w.Status, w.Name, w.URL, w.Events = f.Status, f.Name, f.URL, f.Events
}

func (s *Server) createWebhook(w http.ResponseWriter, r *http.Request) error {
	var in webhookRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	hook := directory.Webhook{Tenant: tenantOf(r), ID: in.ID}
	in.into(&hook)
	hook, shown, err := s.options.Directory.CreateWebhook(r.Context(), by(r), hook, secret.New(in.Secret), idem)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.adminAt(r, "webhooks", hook.ID))
	return kept(w, http.StatusCreated, hook.Revision, newWebhookBody{hook, shown.Reveal()})
}

func (s *Server) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Webhook, string, error) {
		return s.options.Directory.ListWebhooks(r.Context(), tenantOf(r), q)
	})
}

func (s *Server) getWebhook(w http.ResponseWriter, r *http.Request) error {
	hook, err := s.options.Directory.GetWebhook(r.Context(), tenantOf(r), r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, hook.Revision, hook)
}

func (s *Server) updateWebhook(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	hook, err := s.options.Directory.UpdateWebhook(r.Context(), by(r), tenantOf(r), r.PathValue("webhook"), read, func(h *directory.Webhook) error {
		fields, err := merge(webhookFields{Status: h.Status, Name: h.Name, URL: h.URL, Events: h.Events}, patch)
		if err == nil {
			fields.into(h)
		}
		return err
	})
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, hook.Revision, hook)
}

func (s *Server) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	read, err := revision(r)
	if err != nil {
		return err
	}
	if err := s.options.Directory.DeleteWebhook(r.Context(), by(r), tenantOf(r), r.PathValue("webhook"), read); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// defaultOverlap is how long a previous secret signs beside the new one.
const defaultOverlap = 24 * time.Hour

func (s *Server) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	var in rotateRequest
	if err := s.readBody(w, r, &in, true); err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	overlap := defaultOverlap
	if in.Overlap != nil {
		overlap = directory.MostOverlap + time.Second // what is out of bounds is refused, and does not overflow
		if n := *in.Overlap; n <= int64(directory.MostOverlap/time.Second) {
			overlap = time.Duration(max(n, -1)) * time.Second
		}
	}
	hook, shown, err := s.options.Directory.RotateWebhook(
		r.Context(), by(r), tenantOf(r), r.PathValue("webhook"), read, secret.New(in.Secret), overlap,
	)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, hook.Revision, newWebhookBody{hook, shown.Reveal()})
}

// outbox returns what sends messages.
func (s *Server) outbox() (*webhooks.Outbox, error) {
	if s.options.Webhooks == nil {
		return nil, &event.Error{Kind: event.ErrUnsupported, Message: "this server sends no webhooks", Hint: "use one that does"}
	}
	return s.options.Webhooks, nil
}

func (s *Server) testWebhook(w http.ResponseWriter, r *http.Request) error {
	out, err := s.outbox()
	if err != nil {
		return err
	}
	if err := s.readBody(w, r, &struct{}{}, true); err != nil {
		return err
	}
	report, err := out.Test(r.Context(), tenantOf(r), r.PathValue("webhook"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, report)
	return nil
}

func (s *Server) replayWebhook(w http.ResponseWriter, r *http.Request) error {
	out, err := s.outbox()
	if err != nil {
		return err
	}
	var in replayRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	n, err := out.ReplaySince(r.Context(), by(r), tenantOf(r), r.PathValue("webhook"), in.Since, in.All)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, replayBody{n})
	return nil
}

func (s *Server) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	out, err := s.outbox()
	if err != nil {
		return err
	}
	values, err := query(r, "status", "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	list, next, err := out.Deliveries(r.Context(), tenantOf(r), r.PathValue("webhook"), webhooks.Query{
		Status: webhooks.Status(values["status"]), Cursor: values["cursor"], Limit: int(limit),
	})
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

func (s *Server) getDelivery(w http.ResponseWriter, r *http.Request) error {
	out, err := s.outbox()
	if err != nil {
		return err
	}
	d, payload, err := out.Delivery(r.Context(), tenantOf(r), r.PathValue("webhook"), r.PathValue("delivery"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, deliveryBody{d, payload})
	return nil
}

func (s *Server) replayDelivery(w http.ResponseWriter, r *http.Request) error {
	out, err := s.outbox()
	if err != nil {
		return err
	}
	if err := s.readBody(w, r, &struct{}{}, true); err != nil {
		return err
	}
	d, err := out.Replay(r.Context(), by(r), tenantOf(r), r.PathValue("webhook"), r.PathValue("delivery"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, d)
	return nil
}

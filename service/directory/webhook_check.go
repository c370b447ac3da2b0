package directory

import (
	"slices"
)

// check validates a webhook by itself. The service checks whether its address may be reached.
func (w *Webhook) check(op string) error {
	c := checker{op: op}
	c.slug("tenant", w.Tenant)
	c.slug("webhook", w.ID)
	c.status(w.Status)
	c.text("the name", w.Name, longestName)
	c.want(w.URL != "", "the webhook has no url", "send it, such as https://example.com/webhooks")
	c.want(isBaseURL(w.URL, false), "the url cannot be used", "write it as https://host/path, without user, fragment and ${}")
	c.want(w.Events == nil || len(w.Events) > 0, "events is empty", "leave it out for all events, or make the webhook inactive")
	known := WebhookEvents()
	for i, e := range w.Events {
		c.want(slices.Contains(known, e), "events has an entry that is no event", "use run.ended, question.asked or run.limit_reached")
		c.want(!slices.Contains(w.Events[:i], e), "events has an entry twice", "send each once")
	}
	return c.err
}

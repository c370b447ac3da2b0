package adk

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// DefaultApp is the app of the tenant's default agent. The other apps are the tenant's agents, by their ids.
const DefaultApp = "default"

// mostApps bounds a list of apps.
const mostApps = 1000

var goVersion = strings.TrimPrefix(runtime.Version(), "go")

// app describes an app, as adk-python does.
type app struct {
	Name        string `json:"name"`
	Root        string `json:"rootAgentName"`
	Description string `json:"description"`
	Language    string `json:"language"`
	Computer    bool   `json:"isComputerUse"`
}

func (h *handler) listApps(x *front.Exchange, _ []byte) error {
	list, err := h.apps(x.R.Context(), x.Who.Tenant)
	if err != nil {
		return err
	}
	if x.R.URL.Query().Get("detailed") == "true" {
		reply(x, http.StatusOK, map[string]any{"apps": list})
		return nil
	}
	names := []string{}
	for _, a := range list {
		names = append(names, a.Name)
	}
	reply(x, http.StatusOK, names)
	return nil
}

func (h *handler) appInfo(x *front.Exchange, _ []byte) error {
	a, err := h.app(x.R.Context(), x.Who.Principal, x.R.PathValue("app"))
	if err != nil {
		return err
	}
	reply(x, http.StatusOK, a)
	return nil
}

// apps lists the apps of a tenant: the default one, and its active agents.
func (h *handler) apps(ctx context.Context, tenant string) ([]app, error) {
	list := []app{defaultApp()}
	if h.people == nil {
		return list, nil
	}
	q := directory.Query{Status: directory.Active, Limit: directory.MostPage}
	for len(list) < mostApps {
		page, next, err := h.people.ListAgents(ctx, tenant, q)
		if err != nil && !errors.Is(err, event.ErrNotFound) { // the tenant of a server without tenants
			return nil, err
		}
		for i := range page {
			if page[i].ID != DefaultApp {
				list = append(list, appOf(&page[i]))
			}
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	return list, nil
}

func defaultApp() app {
	return app{Name: DefaultApp, Root: DefaultApp, Description: "the agent that answers by default", Language: "go"}
}

func appOf(a *directory.Agent) app {
	return app{Name: a.ID, Root: a.ID, Description: a.Description, Language: "go"}
}

// app finds an app of the caller's tenant.
func (h *handler) app(ctx context.Context, p service.Principal, name string) (app, error) {
	if name == DefaultApp {
		return defaultApp(), nil
	}
	missing := &event.Error{Kind: event.ErrNotFound, Code: "APP_NOT_FOUND", Message: "there is no such app", Hint: "use one of /list-apps"}
	if h.people == nil || name == "" || len(name) > front.MaxID {
		return app{}, missing
	}
	a, err := h.people.Agent(ctx, p.Tenant, name, 0)
	if errors.Is(err, event.ErrNotFound) {
		return app{}, missing
	}
	return appOf(&a), err
}

// agent is the id of an app's agent; "" for the tenant's choice.
func (a *app) agent() string {
	if a.Name == DefaultApp {
		return ""
	}
	return a.Name
}

package server_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// The operator lists the runs of all tenants, filters them, and ends one; the tenant's audit says so. Making a tenant inactive
// ends what runs, waits and is queued there, and nothing of another tenant.
func TestOperatorEndsRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, with := withTenants(t, "acme", "beta")
		s := open(t, func(so *service.Options, vo *server.Options) {
			with(so, vo)
			so.Directory = dir
		})
		key := func(tenant string) []string {
			token, _ := keyOf(t, dir, tenant, service.ScopeRead, service.ScopeWrite, service.ScopeAdminRead, service.ScopeAdminWrite)
			return []string{"Authorization", "Bearer " + token, "Prefer", "respond-async"}
		}
		acme, beta := key("acme"), key("beta")
		start := func(auth []string, body string) (conv, run string) {
			t.Helper()
			conv = s.json(201, "POST", "/v1/conversations", "", auth...)["id"].(string)
			run = s.json(202, "POST", "/v1/conversations/"+conv+"/runs", body, auth...)["id"].(string)
			return conv, run
		}
		const runs = "/v1/admin/runs"
		reaches := func(run, want string) map[string]any {
			t.Helper()
			var got map[string]any
			s.until(run+" is "+want, func() bool {
				got = s.json(200, "GET", runs+"/"+run, "")
				return got["status"] == want
			})
			return got
		}
		conv, busy := start(acme, `{"user_input":"use wait","executor":"web"}`)
		queued := s.json(202, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"and then","policy":"queue"}`, acme...)["id"].(string)
		_, parked := start(acme, `{"user_input":"use ask"}`)
		_, other := start(beta, `{"user_input":"use wait"}`)
		_, failed := start(beta, `{"user_input":"break"}`)
		reaches(busy, "running")
		reaches(parked, "waiting")
		reaches(other, "running")
		if got := reaches(failed, "failed"); got["error_kind"] != "model_auth" || got["tenant"] != "beta" {
			t.Errorf("a failed run is shown as %v", got)
		}
		listed := func(query string) (ids []string) {
			t.Helper()
			for _, r := range s.json(200, "GET", runs+query, "")["data"].([]any) {
				ids = append(ids, r.(map[string]any)["id"].(string))
			}
			return ids
		}
		for query, want := range map[string][]string{
			"":                                  {failed, other, parked, queued, busy},
			"?status=open":                      {other, parked, queued, busy},
			"?status=open&tenant=acme":          {parked, queued, busy},
			"?error_kind=model_auth":            {failed},
			"?tenant=gamma":                     nil,
			"?status=running&since=1999-12-31":  {other, busy},
			"?since=2199-01-01":                 nil,
			"?agent=assistant&status=completed": nil,
		} {
			if got := listed(query); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		for path, want := range map[string]int{
			runs + "?status=asleep": 400, runs + "?limit=1000": 400, runs + "?since=yesterday": 400, runs + "?what=x": 400, runs + "?cursor=x": 400,
			runs + "/run_none": 404, runs + "/x": 404,
		} {
			if res := s.ask("GET", path, ""); res.StatusCode != want {
				t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
			}
		}
		// It is the operator's alone.
		for _, ask := range [][2]string{{"GET", runs}, {"GET", runs + "/" + busy}, {"POST", runs + "/" + busy + "/cancel"}} {
			if res := s.ask(ask[0], ask[1], "", acme[:2]...); res.StatusCode != 403 {
				t.Errorf("%s %s with the tenant's key: %d", ask[0], ask[1], res.StatusCode)
			}
		}

		s.json(202, "POST", runs+"/"+other+"/cancel", "")
		reaches(other, "cancelled")
		s.json(409, "POST", runs+"/"+other+"/cancel", "")
		s.json(404, "POST", runs+"/run_none/cancel", "")
		noted := func(tenant, action string) map[string]any {
			t.Helper()
			list := s.json(200, "GET", tenants+"/"+tenant+"/audit?action="+action, "")["data"].([]any)
			if len(list) != 1 {
				t.Fatalf("the audit of %s has %d entries of %s", tenant, len(list), action)
			}
			return list[0].(map[string]any)
		}
		if e := noted("beta", "run.cancel"); e["object"] != "run/"+other || e["by"].(map[string]any)["operator"] != true {
			t.Errorf("the audit has %v", e)
		}

		_, last := start(beta, `{"user_input":"use wait"}`)
		s.json(200, "PATCH", tenants+"/acme", `{"status":"inactive"}`)
		for _, run := range []string{busy, queued, parked} {
			reaches(run, "cancelled")
		}
		if e := noted("acme", "runs.cancel"); e["detail"].(map[string]any)["runs"] != 3.0 {
			t.Errorf("the audit has %v", e)
		}
		if got := s.json(200, "GET", runs+"/"+last, ""); got["status"] != "running" && got["status"] != "queued" {
			t.Errorf("another tenant's run is %v", got["status"])
		}
		close(s.gate)
		reaches(last, "completed")
	})
}

package mcptool_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
	"github.com/braidrun/braid/tool/mcptool"
)

// protected reaches a site whose users sign in, with grants in a store.
func protected(t *testing.T, s *mcpauthtest.Site, store mcpauth.Store) *mcptool.Servers {
	t.Helper()
	o := mcptool.Options{Transport: s.Client.Transport}
	o.SignIn = mcptool.SignInWith(mcpauth.Options{Redirect: "http://127.0.0.1:7777/callback", Store: store, Transport: s.Client.Transport})
	servers, err := mcptool.Reach(t.Context(), o, mcptool.Config{Name: "docs", URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	return servers
}

// agentOf returns an agent that follows its servers and calls these tools in turn.
func agentOf(t *testing.T, servers *mcptool.Servers, calls ...string) (*braid.Agent, *asking) {
	t.Helper()
	m := &asking{calls: calls}
	agent := braid.New("a", m, braid.From(servers))
	if err := agent.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Follow(agent, func(err error) { t.Error(err) }))
	return agent, m
}

// asked returns the only open question, which has to be about a sign-in.
func asked(t *testing.T, r *braid.Result) (token string, s mcptool.SignIn) {
	t.Helper()
	if r.Stop != event.StopQuestion || len(r.Questions) != 1 {
		t.Fatalf("nobody is asked: %+v", r)
	}
	q := &r.Questions[0]
	s, ok := mcptool.IsSignIn(&event.Asked{Name: q.Name, Payload: q.Payload})
	if !ok || q.Ask != event.AskCredential || !strings.Contains(q.Prompt, s.URL) || s.Server != "docs" {
		t.Fatalf("another question: %+v", q)
	}
	return q.Token, s
}

// A run asks its user to sign in, waits, and goes on in another process with the server's tools. No token is in the log.
func TestSigningInDuringARun(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	here := protected(t, s, store)
	if st := here.Status()[0]; st.State != mcptool.StateNeedsAuth {
		t.Fatalf("%+v", st)
	}
	if got := names(here); !slices.Equal(got, []string{"docs___sign_in"}) {
		t.Fatalf("it offers %v", got)
	}
	calls := []string{"docs___sign_in", "whoami"}
	agent, _ := agentOf(t, here, calls...)
	r, err := agent.Run(t.Context(), "who am I?", braid.In(braid.NewConversation()))
	if err != nil {
		t.Fatal(err)
	}
	token, ask := asked(t, r)
	if s.Live() != 0 {
		t.Error("there is a token before anybody signed in")
	}

	// The answer comes to another process, which goes on with the run.
	there := protected(t, s, store)
	back := s.Approve(t, ask.URL, "ann")
	if server, err := there.CompleteSignIn(t.Context(), back); err != nil || server != "docs" {
		t.Fatalf("%q, %v", server, err)
	}
	if err := r.Conversation.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	there.Refresh(t.Context())
	agent, model := agentOf(t, there, calls...)
	if r, err = agent.Resume(t.Context(), r.Conversation); err != nil {
		t.Fatal(err)
	}
	if r.Text() != "done" {
		t.Fatalf("%+v", r)
	}
	if last := model.offered[len(model.offered)-1]; !slices.Contains(last, "whoami") {
		t.Errorf("the model is offered %v", last)
	}
	log := logOf(t, r)
	if !strings.Contains(log, "you are ann") || !strings.Contains(log, "The user is signed in") {
		t.Errorf("%s", log)
	}
	for _, secret := range s.Tokens() {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// In one process the tools appear in the run that signed in.
func TestToolsAppearAfterSigningIn(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	servers := protected(t, s, mcpauth.Memory())
	agent, model := agentOf(t, servers, "docs___sign_in", "whoami")
	r, err := agent.Run(t.Context(), "who am I?", braid.In(braid.NewConversation()))
	if err != nil {
		t.Fatal(err)
	}
	token, ask := asked(t, r)
	if _, err := servers.CompleteSignIn(t.Context(), s.Approve(t, ask.URL, "ann")); err != nil {
		t.Fatal(err)
	}
	if err := r.Conversation.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	if r, err = agent.Resume(t.Context(), r.Conversation); err != nil || r.Text() != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := model.offered[len(model.offered)-1]; !slices.Contains(last, "whoami") {
		t.Errorf("the model is offered %v", last)
	}
}

// A call that needs more than was granted asks, and is made once.
func TestStepUpDuringACall(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	servers := protected(t, s, store)
	signedIn(t, s, servers)
	agent, _ := agentOf(t, servers, "write")
	r, err := agent.Run(t.Context(), "write", braid.In(braid.NewConversation()))
	if err != nil {
		t.Fatal(err)
	}
	token, ask := asked(t, r)
	if !slices.Contains(ask.Scopes, "write") || !slices.Contains(ask.Scopes, "read") {
		t.Errorf("asked for %v", ask.Scopes)
	}
	if _, err := servers.CompleteSignIn(t.Context(), s.Approve(t, ask.URL, "ann")); err != nil {
		t.Fatal(err)
	}
	if err := r.Conversation.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	if r, err = agent.Resume(t.Context(), r.Conversation); err != nil || r.Text() != "done" || !strings.Contains(logOf(t, r), "written") {
		t.Fatalf("%+v, %v", r, err)
	}
}

func logOf(t *testing.T, r *braid.Result) string {
	t.Helper()
	var list []event.Event
	for e, err := range r.Conversation.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, *e)
	}
	log, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

func signedIn(t *testing.T, s *mcpauthtest.Site, servers *mcptool.Servers) {
	t.Helper()
	ask, err := servers.BeginSignIn(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := servers.CompleteSignIn(t.Context(), s.Approve(t, ask.URL, "ann")); err != nil {
		t.Fatal(err)
	}
	servers.Refresh(t.Context())
}

// A user who says no, or says yes without signing in, does not end the run: the model is told.
func TestAUserWhoDoesNotSignIn(t *testing.T) {
	t.Parallel()
	for _, answer := range []bool{false, true} {
		s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
		servers := protected(t, s, mcpauth.Memory())
		agent, _ := agentOf(t, servers, "docs___sign_in")
		r, err := agent.Run(t.Context(), "who am I?", braid.In(braid.NewConversation()))
		n := 0
		for ; err == nil && r.Stop == event.StopQuestion; n++ {
			token, _ := asked(t, r)
			if err := r.Conversation.Answer(t.Context(), token, answer); err != nil {
				t.Fatal(err)
			}
			r, err = agent.Resume(t.Context(), r.Conversation)
		}
		if err != nil || r.Text() != "done" {
			t.Fatalf("%+v, %v", r, err)
		}
		want := map[bool]int{false: 1, true: 3}[answer]
		if n != want {
			t.Errorf("the answer %v: asked %d times, want %d", answer, n, want)
		}
		t.Log(logOf(t, r))
	}
}

// Signing out ends the grant here and there, and calls need a sign-in again.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	servers := protected(t, s, mcpauth.Memory())
	signedIn(t, s, servers)
	if got := text(t, servers, "whoami", "{}"); got != "you are ann" {
		t.Fatal(got)
	}
	whoami := toolOf(t, servers, "whoami")
	if told, err := servers.SignOut(t.Context(), "docs"); err != nil || !told || s.Live() != 0 {
		t.Fatalf("%v, %v, %d tokens", told, err, s.Live())
	}
	if _, err := whoami.Call(t.Context(), nil); !mcpauth.Needed(err) {
		t.Errorf("want a sign-in: %v", err)
	}
}

// Answers to no sign-in, and servers without users that sign in, are refused.
func TestSignInsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	servers := protected(t, s, mcpauth.Memory())
	for _, address := range []string{"", "http://127.0.0.1:7777/callback", "?code=a&state=b", strings.Repeat("x", 1<<20)} {
		if _, err := servers.CompleteSignIn(t.Context(), address); !errors.Is(err, event.ErrInvalid) && !errors.Is(err, event.ErrNotFound) {
			t.Errorf("%.40q: %v", address, err)
		}
	}
	if _, err := servers.BeginSignIn(t.Context(), "other"); !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
	o := patient()
	o.Transport = s.Client.Transport
	o.SignIn = func(mcptool.Config) (*mcpauth.Client, error) { return nil, errors.New("it is asked for") }
	keyed := connectless(t, o, mcptool.Config{Name: "keyed", URL: s.URL, Headers: map[string]secret.Secret{"authorization": secret.New("Bearer x")}})
	if _, err := keyed.BeginSignIn(t.Context(), "keyed"); !errors.Is(err, event.ErrUnsupported) {
		t.Error(err)
	}
	off := connectless(t, o, mcptool.Config{Name: "off", URL: s.URL, OAuth: &mcptool.OAuth{Off: true}})
	if got := names(off); len(got) > 0 {
		t.Errorf("it offers %v", got)
	}
	if _, err := mcptool.Reach(t.Context(), o, mcptool.Config{Name: "docs", URL: s.URL}); err == nil {
		t.Error("what cannot be signed in to is used without")
	}
}

func connectless(t *testing.T, o mcptool.Options, c mcptool.Config) *mcptool.Servers {
	t.Helper()
	s, err := mcptool.Reach(t.Context(), o, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A server may take ten seconds for its first answer, and a user twenty minutes to sign in.
func TestSlowSignIns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known := sync.Map{}
		s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true, Before: func(_ http.ResponseWriter, r *http.Request) bool {
			if _, again := known.LoadOrStore(r.Header.Get("Authorization"), true); !again {
				time.Sleep(10 * time.Second)
			}
			return false
		}})
		servers := protected(t, s, mcpauth.Memory())
		if st := servers.Status()[0]; st.State != mcptool.StateNeedsAuth {
			t.Fatalf("%+v", st)
		}
		ask, err := servers.BeginSignIn(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		if _, err := servers.CompleteSignIn(t.Context(), s.Approve(t, ask.URL, "ann")); err != nil {
			t.Fatal(err)
		}
		servers.Refresh(t.Context())
		if st := servers.Status()[0]; st.State != mcptool.StateConnected {
			t.Fatalf("%+v", st)
		}
		_ = servers.Close()
	})
}

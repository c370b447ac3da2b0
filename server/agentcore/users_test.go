package agentcore_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const aUser = "X-Amzn-Bedrock-Agentcore-Runtime-User-Id"

// A session that names a user is that user's alone; a caller who names none reaches all sessions.
func TestSessionsOfUsers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	mine, free := strings.Repeat("m", 40), strings.Repeat("n", 40)
	s.say("hello", aUser, "ann", sessionHeader, mine).has(t, 200)
	s.say("hello", sessionHeader, free).has(t, 200)
	stop := "/runtimes/" + encoded(arn) + "/stopruntimesession"
	for _, session := range []string{mine, free} { // of another user, and of none
		a := s.say("hello", aUser, "bob", sessionHeader, session)
		a.has(t, 404, "there is no such session")
		if strings.Contains(a.body, "ann") {
			t.Errorf("the answer tells whose it is: %s", a.body)
		}
		s.ask(http.MethodPost, "/runtimes/"+encoded(arn)+"/invocations", promptBody("hello"), aUser, "bob", sessionHeader, session).has(t, 404)
		s.ask(http.MethodPost, stop, "{}", aUser, "bob", sessionHeader, session).has(t, 404)
		conn, _, err := s.dial("/ws", &websocket.DialOptions{HTTPHeader: http.Header{
			"Authorization": {"Bearer " + token}, aUser: {"bob"}, sessionHeader: {session},
		}})
		if err != nil {
			t.Fatal(err)
		}
		talk(t, conn, promptBody("hello"), `"error":"there is no such session"`)
	}
	s.say("hello", aUser, "ann", sessionHeader, mine).has(t, 200)
	s.say("hello", sessionHeader, mine).has(t, 200)
	s.ask(http.MethodPost, stop, "{}", aUser, "ann", sessionHeader, mine).has(t, 200)
	// Two users who repeat under the same id of an SDK meet nobody else's run.
	retried := "amz-sdk-invocation-id"
	first := s.say("hello", aUser, "ann", retried, "one", sessionHeader, "")
	second := s.say("hello", aUser, "bob", retried, "one", sessionHeader, "")
	first.has(t, 200)
	second.has(t, 200)
	if first.head.Get(sessionHeader) == second.head.Get(sessionHeader) {
		t.Error("two users share a session")
	}
}

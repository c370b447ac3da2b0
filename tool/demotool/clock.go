package demotool

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

type moment struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Asia/Tokyo; empty means the clock's own"`
}

// Clock tells date, time, weekday and zone, such as
// "2026-11-20 18:30:00 JST (Friday, UTC+09:00)". Without a zone it is the
// machine's own. Reading a clock again does no harm, but gives another time,
// so it is idempotent and not pure.
func Clock() tool.Tool { return ClockAt(time.Now) }

// ClockAt is [Clock] with a clock of the caller's: now gives the time, in the
// zone that counts where none is asked for. It must be safe for concurrent use;
// nil means time.Now.
func ClockAt(now func() time.Time) tool.Tool {
	if now == nil {
		now = time.Now
	}
	return tool.Func("clock", "Tells the current date and time.",
		func(_ context.Context, in moment) (string, error) { return tell(now(), in.Zone) }, tool.Idempotent())
}

const maxZone = 64

func tell(t time.Time, zone string) (string, error) {
	if zone != "" {
		unknown := &event.Error{
			Kind: event.ErrInvalid, Message: "there is no time zone of that name",
			Hint: "use a name of the IANA list, such as Asia/Tokyo or UTC",
		}
		if len(zone) > maxZone {
			return "", unknown
		}
		loc, err := time.LoadLocation(zone)
		if err != nil {
			unknown.Message, unknown.Err = "there is no time zone "+strconv.Quote(zone), err
			return "", unknown
		}
		t = t.In(loc)
	}
	return t.Format("2006-01-02 15:04:05 MST (Monday, UTC-07:00)"), nil
}

package search_test

import (
	"slices"
	"testing"

	"github.com/braidrun/braid/tool/search"
)

func doc(name, text string) search.Document {
	return search.Document{Name: name, Texts: []search.Text{{Text: name, Weight: 3}, {Text: text, Weight: 1}}}
}

func TestFind(t *testing.T) {
	t.Parallel()
	docs := []search.Document{
		doc("getWeather", "Tells the weather of a city."),
		doc("send_mail", "Sends a message to somebody."),
		doc("mails", "Lists messages, newest first, with all there is to know of them and of those who wrote and read them."),
		doc("cancel", "Cancels what was ordered."),
		doc("forecast", "天気予報を出す。"),
	}
	index := search.New(docs)
	for _, c := range []struct {
		query string
		most  int
		want  []string
	}{
		{"weather", 5, []string{"getWeather"}},
		{"sending mails", 5, []string{"send_mail", "mails"}},
		{"mails", 5, []string{"mails", "send_mail"}},
		{"message", 1, []string{"send_mail"}},
		{"cancelled orders", 5, []string{"cancel"}},
		{"天気", 5, []string{"forecast"}},
		{"penguins", 5, nil},
		{"", 5, nil},
	} {
		var got []string
		for _, i := range index.Find(c.query, c.most, func(int) bool { return false }) {
			got = append(got, docs[i].Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q finds %q, want %q", c.query, got, c.want)
		}
	}
	if got := index.Find("weather", 5, func(i int) bool { return i == 0 }); got != nil {
		t.Errorf("what is left out was found: %v", got)
	}
	if got := search.New(nil).Find("x", 5, func(int) bool { return false }); got != nil {
		t.Errorf("nothing finds %v", got)
	}
}

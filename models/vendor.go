package models

import (
	"cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
)

// openVendor opens a model by the vendor's name. The key is in the variable of the vendor's row.
func openVendor(g *opening) (model.Model, error) {
	row := g.provider.vendor
	g.name = cmp.Or(g.name, row.Model)
	if g.name == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "no model of " + row.Title + " is named",
			Hint: "write " + row.Name + ":NAME, with a name of the vendor's list",
		}
	}
	if presentable(g.name) == "" {
		return nil, g.noSuch("NAME")
	}
	s := chatSettings{}
	if err := g.settings("NAME?effort=high", s.known(g)); err != nil {
		return nil, err
	}
	asked := s.base != ""
	s.base = cmp.Or(s.base, row.Address)
	if asked {
		g.place = host(s.base, "")
	}
	key := g.secretOf(s.key, row.Key, asked)
	if key.Empty() && (s.key != "" || row.Key != "" && !asked) {
		return nil, g.noKey(row.Key, asked)
	}
	dialect := row.dialect()
	s.over(&dialect)
	m, err := openai.New(g.name, key, append(s.options(), openai.Named(row.Name), openai.Titled(row.Title, row.Key), openai.Speaks(dialect),
		openai.Sources(g.sources(true)))...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

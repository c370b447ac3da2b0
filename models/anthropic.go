package models

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
)

// openAnthropic opens a model by the vendor's name; "" is the vendor's default. The key is
// ANTHROPIC_API_KEY. ANTHROPIC_BASE_URL may be the address of a gateway.
func openAnthropic(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, anthropic.Default)
	if presentable(name) == "" {
		return nil, g.noSuch(anthropic.Default)
	}
	var base, key, cache, version string
	var stall *time.Duration
	var betas []string
	var claude claudeSettings
	known := claude.settings()
	known["base"], known["key"], known["stall"] = address(&base), keyIn(&key), patience(&stall)
	known["cache"] = word(&cache, string(anthropic.CacheAuto), string(anthropic.CacheExplicit), string(anthropic.CacheOff), cacheHour)
	known["tier"] = word(&claude.options.ServiceTier, "auto", "standard_only")
	known["version"] = func(v string) bool {
		version = v
		_, err := time.Parse(time.DateOnly, v)
		return err == nil
	}
	known["beta"] = func(v string) bool {
		betas = strings.Split(v, ",")
		return !slices.ContainsFunc(betas, func(name string) bool { return !betaNames.MatchString(name) })
	}
	if err := g.settings(anthropic.Default+"?effort=high", known); err != nil {
		return nil, err
	}
	asked := base != ""
	if !asked {
		base = g.variable(anthropic.BaseVariable)
	}
	g.place = host(base, "api.anthropic.com")
	opts := []anthropic.Option{anthropic.BaseURL(base), anthropic.Betas(betas...), anthropic.Defaults(claude.options)}
	if stall != nil {
		opts = append(opts, anthropic.Stall(*stall))
	}
	switch cache {
	case "":
	case cacheHour:
		opts = append(opts, anthropic.CacheHour())
	default:
		opts = append(opts, anthropic.Cache(anthropic.CachePoints(cache)))
	}
	if version != "" {
		opts = append(opts, anthropic.Version(version))
	}
	secret := g.secretOf(key, anthropic.KeyVariable, asked && g.place != "")
	if secret.Empty() {
		return nil, g.noKey(anthropic.KeyVariable, asked)
	}
	m, err := anthropic.New(name, secret, append(opts, anthropic.Sources(g.sources(asked)))...)
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, from(err, anthropic.BaseVariable, base)
	}
	if err := claude.check(m); err != nil {
		return nil, err
	}
	return m, nil
}

// cacheHour is the setting for caches that last an hour.
const cacheHour = "hour"

var betaNames = lazyre.New(`^[a-z0-9][a-z0-9-]{0,99}$`)

// claudeSettings are the request settings that a reference to Claude may have on every platform. A
// request's own settings override them.
type claudeSettings struct{ options model.Options }

func (c *claudeSettings) settings() map[string]setting {
	return map[string]setting{
		"effort": func(v string) bool {
			c.options.Effort = model.Effort(v)
			return slices.Contains([]string{"none", "low", "medium", "high", "xhigh", "max"}, v)
		},
		"thinking": func(v string) bool {
			if v == "show" {
				c.options.ShowThinking = true
				return true
			}
			n, err := strconv.Atoi(v)
			c.options.Thinking = n
			return err == nil && n > 0
		},
		"top_p": func(v string) bool {
			p, err := strconv.ParseFloat(v, 64)
			c.options.TopP = &p
			return err == nil && p > 0 && p <= 1
		},
		"show": yes(&c.options.ShowThinking),
	}
}

// check returns an error for a setting that the model does not support, before the first call.
func (c *claudeSettings) check(m *anthropic.Model) error { return m.Check(&model.Request{}) }

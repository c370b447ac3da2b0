package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/runset"
	"github.com/braidrun/braid/journal"
)

// This file refuses settings that come to a run which began with others: with a message that joins it, or with answers.
// A run keeps the settings that it was accepted with, because its log must lead every driver to the same decisions.

// CodeOtherSettings is the Code of the error for settings that differ from those of the open run.
const CodeOtherSettings = "RUN_HAS_OTHER_SETTINGS"

// KeepsSettings returns an error if the request sets something for its run that an open run does not have: a model, limits,
// instructions, options, a tool choice, a schema or skills. What the request leaves out may be anything.
func (r *RunRequest) KeepsSettings(open *journal.Run) error {
	wanted, err := r.keep("")
	if err != nil {
		return err
	}
	return keepsSettings(open.Metadata, wanted)
}

func keepsSettings(has, wanted map[string]string) error {
	for _, c := range []struct{ key, field string }{
		{keyModel, "model"}, {keyLimits, "limits"}, {keySchema, "output_schema"}, {keySkills, "preferred_skills"},
	} {
		if want := wanted[c.key]; want != "" && want != has[c.key] {
			return otherSettings(c.field)
		}
	}
	label := wanted[journal.SettingsLabel]
	if label == "" || label == has[journal.SettingsLabel] {
		return nil
	}
	kept, given := ownOf(&journal.Run{Metadata: has}), ownOf(&journal.Run{Metadata: wanted})
	for _, c := range []struct {
		field string
		part  runset.Settings
	}{
		{"instructions", runset.Settings{Instructions: given.Instructions}},
		{"model_options", runset.Settings{Options: given.Options}},
		{"tool_choice", runset.Settings{Choice: given.Choice}},
	} {
		if !kept.Keeps(&c.part) {
			return otherSettings(c.field)
		}
	}
	return nil
}

func otherSettings(field string) error {
	return &event.Error{
		Op: "start run", Kind: event.ErrConflict, Code: CodeOtherSettings,
		Message: field + ": the open run has begun with another value, which it keeps to its end",
		Hint:    "leave " + field + " out, or begin a run of its own with the policy queue or interrupt",
	}
}

func isOtherSettings(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == CodeOtherSettings
}

// joining is the store for a message that joins the open run. It refuses one whose settings that run does not have.
type joining struct{ entering }

// Queue implements [journal.Store].
func (j joining) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	open, err := j.entering.Queue(ctx, conversation)
	if err == nil && len(open) > 0 && open[0].ID != j.run.ID {
		err = keepsSettings(open[0].Metadata, j.run.Metadata)
	}
	return open, err
}

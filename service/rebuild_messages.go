package service

import (
	"context"

	"github.com/braidrun/braid/event"
)

// completeMessages stores the missing messages of ended runs.
func (s *conversations) completeMessages(ctx context.Context, tenant, conversation string) error {
	runs, err := s.options.Journal.Unkept(ctx, tenant, conversation)
	if err != nil || len(runs) == 0 {
		return err
	}
	missing := make(map[string]bool, len(runs))
	for _, run := range runs {
		missing[run] = true
	}
	return s.rebuildMessages(ctx, conversation, missing)
}

// rebuildMessages rebuilds the messages of some runs from the log; nil means all.
func (s *conversations) rebuildMessages(ctx context.Context, conversation string, runs map[string]bool) error {
	var log messageLog
	for e, err := range s.view(conversation).all(ctx) {
		if err != nil {
			return err
		}
		if runs != nil && !runs[e.Run] {
			continue
		}
		log.take(e)
		if _, ended := e.Body.(*event.RunEnded); ended && log.begun {
			if err := s.options.Journal.KeepMessages(ctx, e.Run, log.rows); err != nil {
				return err
			}
			log = messageLog{}
		}
	}
	return nil
}

package service

import (
	"context"
	"errors"
	"log/slog"

	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service/skillpack"
	"github.com/braidrun/braid/workspace"
)

// New returns a service. It starts nothing: call [Service.Start]. It returns [event.ErrInvalid] if
// a required option is missing.
func New(o Options) (*Service, error) {
	if o.Journal == nil || o.Rows == nil || o.Agent == nil {
		return nil, invalid("service", "a service needs a journal, rows and agents", "set Journal, Rows and Agent")
	}
	if o.LockWait == 0 {
		o.LockWait = DefaultLockWait
	}
	if o.RunTime <= 0 {
		o.RunTime = DefaultRunTime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Memory == nil {
		o.Memory = NewMemory(DefaultMemory)
	}
	alone := o.Bus == nil && !o.Shared
	if o.Bus == nil {
		o.Bus = live.NewHub(live.HubOptions{Total: o.Memory.unread})
	}
	if o.Engine.Log == nil {
		o.Engine.Log = o.Log
	}
	o.Engine.Shared = o.Shared
	s := &Service{
		conversations: conversations{
			options: o, bus: o.Bus, alone: alone, log: o.Log, memory: o.Memory,
			folds: foldCache{most: o.Memory.folds, webhooks: o.Webhooks},
		},
		quotas: newQuotas(&o),
	}
	switch {
	case o.WorkspaceBackend != nil:
		s.workspaces = o.WorkspaceBackend
	case o.Workspaces != nil:
		s.workspaces = workspace.NewStore(o.Journal.Blobs(), *o.Workspaces)
	}
	if o.Shared {
		s.poller = newHeadPoller(o.Journal, o.Log)
	}
	s.builder = OptionsBuilder{
		Directory: o.Directory, Instructions: o.Instructions, Workspace: o.Workspace, workspaces: s.workspaces,
		skills: skillpack.NewStore(o.Journal.Blobs()), artifacts: artifact.NewStore(o.Journal.Blobs()),
	}
	s.titles = newTitleGenerator(&s.conversations, s.quotas, &s.builder)
	s.completer = newLogCompleter(&s.conversations)
	s.engine = engine.NewLocal(o.Journal, func(ctx context.Context, w engine.Work) (engine.Outcome, error) { return s.drive(ctx, &w) }, o.Engine)
	return s, nil
}

// Start begins to drive runs, open ones first. No run is accepted before.
func (s *Service) Start(ctx context.Context) error {
	if err := s.engine.Start(ctx); err != nil {
		return err
	}
	s.started.Store(true)
	if s.options.Webhooks != nil {
		s.options.Webhooks.Start(ctx)
	}
	if s.poller != nil {
		s.poller.start(ctx)
	}
	if s.options.Directory != nil {
		s.stops.begin(ctx, s.log, s.stopInactive)
	}
	return nil
}

// Drain stops driving. It releases runs where they are, and they go on when a service starts again.
// Followers are closed last, so that they see everything that was committed. It returns the errors
// of the engine and the bus.
func (s *Service) Drain(ctx context.Context) error {
	s.stops.stop()
	err := s.engine.Drain(ctx)
	s.titles.end()
	s.completer.end()
	if s.options.Webhooks != nil {
		s.options.Webhooks.Stop()
	}
	err = errors.Join(err, s.bus.Close())
	if s.poller != nil {
		s.poller.stop()
	}
	return err
}

// checker is implemented by rows that know whether they accept writes, as [journal.Catalog] does
// for a journal.
type checker interface {
	Check(ctx context.Context) error
}

// Ready returns nil if the service can work. It returns an error if it is not started, if a store
// does not answer, or if a store accepts no commits.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.begun("ready"); err != nil {
		return err
	}
	if _, err := s.options.Rows.List(ctx, "", Query{Limit: 1}); err != nil {
		return err
	}
	if _, err := s.options.Journal.Read(ctx, conversationPrefix+"none", 0, 1); err != nil {
		return err
	}
	if err := s.options.Journal.Check(ctx); err != nil {
		return err
	}
	if rows, ok := s.options.Rows.(checker); ok {
		return rows.Check(ctx)
	}
	return nil
}

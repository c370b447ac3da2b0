// Package corpora holds no code: its tests let the providers of package model read what the
// tests of other projects recorded from real vendors, and ask what those projects asked.
//
// BRAID_CORPORA names a folder with checkouts of the projects, below their own names:
//
//	pydantic-ai   github.com/pydantic/pydantic-ai
//	ruby_llm      github.com/crmne/ruby_llm
//	ai            github.com/vercel/ai
//	fantasy       github.com/charmbracelet/fantasy
//
// Without it, the tests read the part of fantasy's recordings that BRAID_FIXTURES holds
// (provider-recordings). A project that is not there is left out, and its name is in the test's
// output. The
// recordings belong to their projects: they are read in place, and none is in this repository.
//
// What a recording says is worked out twice, by the provider and by a short reader of the
// vendor's format in this package. A recording in which the two differ needs a row with its
// reason in exceptions_test.go; a row that no longer differs fails.
package corpora

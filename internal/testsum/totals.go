package main

import (
	"bufio"
	"fmt"
	"os"
)

// totals counts tests that have no subtests, and packages that failed by themselves.
type totals struct{ passed, failed, skipped int }

// String is the closing line.
func (t totals) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// addTotals adds one line to the file.
func addTotals(file string, t totals) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, t); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// readTotals sums the lines that addTotals wrote.
func readTotals(file string) (totals, error) {
	f, err := os.Open(file)
	if err != nil {
		return totals{}, err
	}
	defer f.Close()
	var sum totals
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var t totals
		if _, err := fmt.Sscanf(lines.Text(), "%d passed, %d failed, %d skipped", &t.passed, &t.failed, &t.skipped); err != nil {
			return totals{}, fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		sum.passed += t.passed
		sum.failed += t.failed
		sum.skipped += t.skipped
	}
	return sum, lines.Err()
}

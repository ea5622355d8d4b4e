package collect

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"
)

// TestFailuresInTheLog: errors that come with each look are reported once a minute.
func TestFailuresInTheLog(t *testing.T) {
	w := newWorld(t)
	w.start()
	var b strings.Builder
	w.c.reports.log = log.New(&b, "", 0)
	for range 30 { // seconds
		w.pass(time.Second)
		w.c.reports.fail(errors.New("one"))
		w.c.reports.fail(errors.New("another"))
	}
	if b.String() != "one\nanother\n" {
		t.Errorf("the log has %q", b.String())
	}
	w.pass(time.Minute)
	w.c.reports.fail(errors.New("one"))
	if b.String() != "one\nanother\n29 lines of this kind were left out\none\n" || w.c.reports.errors != 61 || w.c.reports.lastError != "one" {
		t.Errorf("%+v; the log has %q", w.c.health(), b.String())
	}
}

// TestRefusalsInTheLog: a user whose files are refused does not keep reports about other
// users out of the log.
func TestRefusalsInTheLog(t *testing.T) {
	w := newWorld(t)
	w.start()
	var b strings.Builder
	w.c.reports.log = log.New(&b, "", 0)
	for i := range 1000 {
		w.c.reports.refuse(fmt.Sprint("nobody's ", i), 65534, errors.New("bad"))
	}
	w.c.reports.refuse("root's", 0, errors.New("bad"))
	if n := strings.Count(b.String(), "refused: nobody's"); n != 10 {
		t.Errorf("%d lines of one user, want 10", n)
	}
	if !strings.Contains(b.String(), "refused: root's: bad\n") || w.c.reports.refused != 1001 {
		t.Errorf("%+v; the log has %q", w.c.health(), b.String())
	}
}

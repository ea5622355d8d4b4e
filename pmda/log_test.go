package pmda_test

import (
	"bytes"
	"log"
	"strings"
	"sync"
	"testing"
)

// journal is a log that a test can look into.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(s string) int { return strings.Count(j.String(), s) }

func (j *journal) logger() *log.Logger { return log.New(j, "", 0) }

// logTo is a log that is shown if the test fails.
func logTo(t testing.TB) *log.Logger {
	j := new(journal)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the agent:\n%s", j)
		}
	})
	return j.logger()
}

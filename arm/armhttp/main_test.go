//go:build linux

package armhttp_test

import (
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// measurement is an application and what is read of it.
type measurement struct {
	t   *testing.T
	dir string
	app *arm.Application
}

func measure(t *testing.T) *measurement {
	t.Helper()
	dir := t.TempDir()
	app := arm.NewApplication("web", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	return &measurement{t, dir, app}
}

func (m *measurement) names() map[uint32]reader.Tran {
	m.t.Helper()
	return measured.Names(m.t, m.dir)
}

// counts returns the good, failed and aborted ones by the transactions' keys.
func (m *measurement) counts() map[string][3]uint64 {
	m.t.Helper()
	all := map[string][3]uint64{}
	for key, n := range measured.Counts(m.t, m.dir) {
		all[key] = [3]uint64{n.Good, n.Failed, n.Aborted}
	}
	return all
}

// pairs returns how many good children each pair has, by the keys of both.
func (m *measurement) pairs() map[string]uint64 {
	m.t.Helper()
	return measured.Pairs(m.t, m.dir)
}

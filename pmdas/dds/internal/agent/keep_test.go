package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
)

// described returns everything that clients learn of metrics except their values.
func (l *lab) described(metrics ...string) string {
	l.t.Helper()
	var b strings.Builder
	for _, m := range metrics {
		d, err := l.Desc(m)
		if err != nil {
			l.t.Fatalf("%s: %v", m, err)
		}
		one, long := l.Text(m)
		fmt.Fprintf(&b, "%s %+v %q %q %v\n", m, d, one, long, l.Labels(uint32(d.PMID), pcp.LabelItem))
	}
	return b.String()
}

// rich is a supplier whose statistics have everything that a statistic can have.
func rich(t *testing.T) *readertest.Segment {
	full := func(s *readertest.Stat) {
		s.Units, s.Help, s.Labels = pcp.Bytes.Word(), "At \"length\",\nin two lines.", `{"role":"db","n":12345678901234567890,"ok":true}`
	}
	return readertest.New(t, "rich", 0, readertest.Context{Path: "DDS/v"},
		readertest.Context{Path: "DDS/v/c", Descr: "A context", ASN: 3, Labels: `{"x":"y"}`, Stats: []readertest.Stat{stat("a", 0, full), stat("b", 1, quantity)}},
		readertest.Context{Path: "DDS/v/c/T", Template: true, Stats: []readertest.Stat{stat("i", 0, full)}})
}

var richNames = []string{"dds.v.c.a", "dds.v.c.b", "dds.v.c.inst.i"}

// TestKept: metrics whose supplier is away are still there after a restart of the agent. They
// are unchanged, and they stay as long as they would have without it.
func TestKept(t *testing.T) {
	for name, inUse := range map[string]bool{"away before": false, "away since": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			s := rich(t)
			s.Add(0, 2, "DDS/v/c/one", "")
			s.Publish(l.dir, -1)
			l.names(richNames...)
			want := l.described(richNames...)
			if !inUse {
				s.Die()
				l.second()
				l.ahead = 20 * time.Hour
				l.second()
			}
			l.end()
			s.Die()
			l.start()
			l.names(richNames...)
			if got := l.described(richNames...); got != want {
				t.Errorf("after a restart\n%s, before\n%s", got, want)
			}
			l.is("dds.v.c.a", pcp.ErrValue.Error())
			l.is("dds.v.c.inst.i", "")
			l.is("rtime.dds.agent.metrics", "=3")
			s = rich(t)
			s.Stamp(time.Now().Add(l.ahead))
			s.Put64(s.Data[1], 5)
			s.Put64(s.Add(3, 2, "DDS/v/c/one", ""), 7)
			s.Publish(l.dir, -1)
			l.is("dds.v.c.a", "=5")
			l.is("dds.v.c.inst.i", "one=7")
			if got := l.described(richNames...); got != want {
				t.Errorf("back again\n%s, before\n%s", got, want)
			}
		})
	}
}

// TestKeptSince: a restart does not extend the time for which a metric is kept.
func TestKeptSince(t *testing.T) {
	l := newLab(t)
	s := rich(t)
	s.Publish(l.dir, -1)
	l.names(richNames[:2]...)
	s.Die()
	l.second()
	for _, c := range []struct {
		hours int
		want  []string
	}{{10, richNames[:2]}, {23, richNames[:2]}, {25, nil}} {
		l.end()
		l.ahead = time.Duration(c.hours) * time.Hour
		l.start()
		l.names(c.want...)
	}
	l.is("rtime.dds.agent.users", "=0")
}

// TestKeptWhenKilled: an agent that is killed has written down everything that it told a
// client.
func TestKeptWhenKilled(t *testing.T) {
	l := newLab(t)
	s := rich(t)
	s.Publish(l.dir, -1)
	l.names(richNames[:2]...)
	left := &lab{t: t, dir: l.dir, state: t.TempDir()}
	must(t, os.CopyFS(left.state, os.DirFS(l.state)))
	s.Die()
	left.start()
	left.names(richNames[:2]...)
	left.is("dds.v.c.a", pcp.ErrValue.Error())
}

// TestKeptDamaged: damaged entries of the file are forgotten, and everything else is there.
// The forgotten metrics have the same numbers when their supplier is back.
func TestKeptDamaged(t *testing.T) {
	l := newLab(t)
	s := rich(t)
	s.Publish(l.dir, -1)
	want := l.described(richNames[:2]...)
	l.end()
	s.Die()
	path := filepath.Join(l.state, "dds.ids")
	text, err := os.ReadFile(path)
	must(t, err)
	at := strings.Index(string(text), `"stat":"a"`)
	if at < 0 {
		t.Fatalf("%s", text)
	}
	text[at] ^= 1
	must(t, os.WriteFile(path, text, 0o600))
	l.start()
	l.names(richNames[1])
	rich(t).Publish(l.dir, -1)
	if got := l.described(richNames[:2]...); got != want {
		t.Errorf("%s, before %s", got, want)
	}
	if _, err := os.Stat(path + ".damaged-1"); err != nil {
		t.Error(err)
	}
}

// TestKeptOld: the file of an earlier version is taken over once.
func TestKeptOld(t *testing.T) {
	l := newLab(t)
	s := rich(t)
	s.Publish(l.dir, -1)
	want := l.described(richNames[:2]...)
	var list []string
	done := make(chan error)
	l.srv.Do(func() {
		var errs error
		for _, m := range richNames[:2] { // as the earlier version left it
			col := l.a.tree.used[m]
			line, err := json.Marshal(col.kept())
			errs = errors.Join(errs, err)
			list = append(list, strings.TrimSuffix(string(line), "}")+`,"away":`+fmt.Sprint(time.Now().Add(-23*time.Hour).Unix())+"}\n")
			l.a.keeper.Forget(col.key, true)
		}
		done <- errs
	})
	must(t, <-done)
	s.Die()
	l.end()
	file := "rtime-kept 1\n" + strings.Join(list, "") + "end crc32c "
	file += fmt.Sprintf("%08x\n", crc32.Checksum([]byte(file), crc32.MakeTable(crc32.Castagnoli)))
	path := filepath.Join(l.state, "dds.kept")
	must(t, os.WriteFile(path, []byte(file), 0o644))
	for range 3 {
		l.start()
		if got := l.described(richNames[:2]...); got != want {
			t.Errorf("%s, before %s", got, want)
		}
		l.end()
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the old file is still there, %v", err)
	}
	l.ahead = 2 * time.Hour
	l.start()
	l.names()
}

// TestKeptFlapping: nothing is written for a supplier that comes and goes all the time.
func TestKeptFlapping(t *testing.T) {
	l := newLab(t)
	size := func() int64 {
		l.names(richNames[:2]...) // the answer waits for the file
		info, err := os.Stat(filepath.Join(l.state, "dds.ids"))
		must(t, err)
		return info.Size()
	}
	var before int64
	for i := range 30 {
		s := rich(t)
		s.Publish(l.dir, -1)
		l.names(richNames[:2]...)
		l.second()
		s.Die()
		l.second()
		if i == 0 {
			before = size()
		}
	}
	// The saver itself may write a bound or two.
	if grown := size() - before; grown > 200 {
		t.Errorf("30 times there and away cost %d bytes", grown)
	}
}

// TestKeptLimit: after a restart a user has no more metrics than the limit allows.
func TestKeptLimit(t *testing.T) {
	l := newLab(t)
	s := rich(t)
	s.Publish(l.dir, -1)
	l.names(richNames[:2]...)
	s.Die()
	l.end()
	l.start(func(a *Agent) { a.conf.Metrics = 1 })
	l.is("rtime.dds.agent.metrics", "=1")
	l.end()
	l.start(func(a *Agent) { a.conf.Keep = 0 })
	l.is("rtime.dds.agent.metrics", "=0")
}

// TestKeptMany: if there are too many metrics to show at once, all are there in the end. An
// agent that ends before that forgets none.
func TestKeptMany(t *testing.T) {
	all := func(a *Agent) { a.conf.Metrics = 3 * reviveAtOnce }
	l := newLab(t, all)
	contexts := []readertest.Context{{Path: "DDS/v"}}
	const each = 50
	var stats []readertest.Stat
	for i := range uint32(each) {
		stats = append(stats, stat(fmt.Sprintf("s%d", i), i))
	}
	for i := range 2 * reviveAtOnce / each {
		contexts = append(contexts, readertest.Context{Path: fmt.Sprintf("DDS/v/c%d", i), Stats: stats})
	}
	s := readertest.New(t, "many", 8<<20, contexts...)
	s.Publish(l.dir, -1)
	l.is("rtime.dds.agent.metrics", fmt.Sprint("=", 2*reviveAtOnce))
	s.Die()
	for range 2 {
		l.end()
		l.start(all)
		l.is("rtime.dds.agent.metrics", fmt.Sprint("=", reviveAtOnce))
	}
	l.second()
	l.is("rtime.dds.agent.metrics", fmt.Sprint("=", 2*reviveAtOnce))
	l.is("dds.v.c0.s0", pcp.ErrValue.Error())
}

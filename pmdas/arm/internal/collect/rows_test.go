package collect

import (
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// TestCaps: what is over a limit goes to other rows. It stays there even if the limits have grown
// and the collector is started anew.
func TestCaps(t *testing.T) {
	w := newWorld(t)
	w.conf.MaxPerApplication, w.conf.MaxTransactions, w.conf.MaxApplications = 2, 3, 2
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	p := readertest.NewProc(t, w.dir, n, 100)
	for a := range 3 {
		app := n.App(fmt.Sprintf("App%d", a))
		for i := range 4 {
			id := n.Tran(app, fmt.Sprintf("T%d", i))
			p.Good(0, id, uint64(1)<<(4*a+i+6), w.mono)
		}
	}
	want := map[string]uint64{
		"App0/T0": 1 << 6, "App0/T1": 1 << 7, "App0/other": 1<<8 + 1<<9,
		"App1/T0": 1 << 10, "App1/other": 1<<11 + 1<<12 + 1<<13, "other/other": 15 << 14,
	}
	check := func() {
		t.Helper()
		w.look()
		s := w.c.Snapshot()
		got := map[string]uint64{}
		for _, r := range allRows(s) {
			got[r.Name] = r.GoodNS
			if s.Apps[r.App].Name+"/"+r.Key != r.Name {
				t.Errorf("%+v", r)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v\nwant %v", got, want)
		}
		if s.Health.OverCap == 0 {
			t.Error("nothing is over")
		}
	}
	w.start()
	check()
	w.conf = DefaultConfig()
	w.start()
	check()
	p.Die()
	check()
	w.start()
	check()
}

// TestOrderAtStart: names that had rows of their own keep them, in whatever order the next
// collector meets the names.
func TestOrderAtStart(t *testing.T) {
	w := newWorld(t)
	w.conf.MaxTransactions = 2
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	app := n.App("App")
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	names := []string{"Z", "Y", "X", "W"}
	for i, name := range names {
		p.Good(0, n.Tran(app, name), uint64(i+1), w.mono)
		w.look()
	}
	p.Die()
	w.look()
	// The names are gone; new ones come in another order.
	if err := os.Remove(n.Path); err != nil {
		t.Fatal(err)
	}
	w.start()
	n = readertest.NewNames(t, w.dir, w.uid, 8)
	app = n.App("App")
	q := readertest.NewProc(t, w.dir, n, 101)
	slices.Reverse(names)
	for _, name := range names {
		q.Good(0, n.Tran(app, name), 10, w.mono)
	}
	w.look()
	for name, ns := range map[string]uint64{"App/Z": 11, "App/Y": 12, "App/other": 3 + 4 + 20} {
		if r := w.tran(name); r.GoodNS != ns {
			t.Errorf("%+v, want %d", r, ns)
		}
	}
}

// TestManyOver: an endless number of names takes a limited amount of memory.
func TestManyOver(t *testing.T) {
	var r rows
	r.init(false)
	conf := Config{MaxPerApplication: 1, MaxTransactions: 1, MaxApplications: 1, UserShare: 100}
	a := r.appOf(&conf, "", "App", "")
	for i := range maxOver + 100 {
		r.tranOf(&conf, a, "", fmt.Sprint(i), "")
	}
	if s := r.share(past.TranName, ""); len(s.over) != maxOver || !s.ever || len(r.trans) != 2 {
		t.Errorf("%d over, %d rows", len(s.over), len(r.trans))
	}
	var again rows
	again.init(false)
	for _, c := range r.unsaved {
		again.restore(c)
	}
	conf.MaxTransactions, conf.MaxPerApplication = 100, 100
	b := again.appOf(&conf, "", "App", "")
	if got := again.tranOf(&conf, b, "", "new", ""); got.Name != "App/other" {
		t.Errorf("a row of its own: %s", got.Name)
	}
	if got := again.tranOf(&conf, b, "", "0", ""); got.Name != "App/0" {
		t.Errorf("no row of its own: %s", got.Name)
	}
}

// TestUsersApart: with UsersApart the names of several users have rows of their own, and without it
// they share one. The test needs another user's files.
func TestUsersApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprint(apart), func(t *testing.T) {
			w := newWorld(t)
			w.conf.UsersApart = apart
			const another = 54321 // a number without a login name
			for i, uid := range []uint32{w.uid, another} {
				n := readertest.NewNames(t, w.dir, uid, 7)
				n.Tran(n.App("Bank"), "Deposit")
				p := readertest.NewProc(t, w.dir, n, 100)
				p.Good(0, 1, uint64(i)+1, w.mono)
				p.Use(1, 1)
			}
			for range 2 {
				w.start()
				w.look()
				if !apart {
					if d := w.tran("Bank/Deposit"); d.Count != 2 || d.GoodNS != 3 || d.User != "" || w.c.Snapshot().Apps[0].Users != 2 {
						t.Errorf("%+v %+v", d, w.c.Snapshot().Apps[0])
					}
					continue
				}
				if d := w.tran("54321:Bank/Deposit"); d.Count != 1 || d.GoodNS != 2 || d.User != "54321" || d.Key != "Deposit" {
					t.Errorf("%+v", d)
				}
				if d := w.tran(loginName(w.uid) + ":Bank/Deposit"); d.Count != 1 || d.GoodNS != 1 || d.User != loginName(w.uid) {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestApartLater: what was counted before the rule for names changed keeps counting.
func TestApartLater(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	for pid := range uint32(3) {
		w.conf.UsersApart = pid%2 == 1
		w.start()
		p := readertest.NewProc(t, w.dir, n, 100+pid)
		p.Good(0, 1, 10, w.mono)
		p.Put64(p.Pair(0, reader.PairKey{Tran: 1})+layout.PairCount, 1)
		w.look()
		p.Die()
		w.look()
		name := "Bank/Deposit"
		if w.conf.UsersApart {
			name = loginName(w.uid) + ":" + name
		}
		if d := w.tran(name); d.Count != uint64(pid)+1 || len(w.c.Snapshot().Trans) != 2 || len(w.c.Snapshot().Pairs) != 1 {
			t.Errorf("%+v, %d rows", d, len(w.c.Snapshot().Trans))
		}
	}
}

// TestNames: characters that cannot stand in a name are replaced.
func TestNames(t *testing.T) {
	w := newWorld(t)
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	a := n.App("a/b\n\xff")
	n.Tran(a, "GET/x\x1b[1m")
	n.Tran(a, "GET/\xff")
	n.Tran(a, "GET/\xfe")
	n.Tran(a, "GET/%FF")
	n.Tran(a, "GET/50%")
	n.Tran(n.App(""), "none")
	n.Tran(99, "none")
	w.start()
	w.look()
	s := w.c.Snapshot()
	var names []string
	for _, row := range allRows(s) {
		names = append(names, row.Name)
	}
	const app = "a_b?%FF"
	want := []string{app + "/GET/x?[1m", app + "/GET/%FF", app + "/GET/%FE", app + "/GET/%25FF", app + "/GET/50%"}
	if !slices.Equal(names, want) || s.Apps[0].Name != app {
		t.Errorf("%q, %q", s.Apps[0].Name, names)
	}
}

// TestNamedOther: a transaction that a program calls other does not get the row that counts what is
// over a limit, even after a new start.
func TestNamedOther(t *testing.T) {
	w := newWorld(t)
	w.conf.MaxTransactions = 2
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	own, bank := n.App("other"), n.App("Bank")
	ids := []uint32{n.Tran(own, "other"), n.Tran(bank, "other"), n.Tran(bank, "Deposit"), n.Tran(own, "buy")}
	p := readertest.NewProc(t, w.dir, n, 100)
	for i, id := range ids {
		p.Good(0, id, 1<<(10+i), w.mono)
	}
	check := func() {
		t.Helper()
		for range 2 {
			w.look()
			got := make(map[string]uint64)
			for _, row := range allRows(w.c.Snapshot()) {
				got[row.Name] = row.GoodNS
			}
			want := map[string]uint64{"%6Fther/%6Fther": 1 << 10, "Bank/%6Fther": 1 << 11, "Bank/other": 1 << 12, "%6Fther/other": 1 << 13}
			if !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
	}
	w.start()
	check()
	p.Die()
	check()
	w.start()
	check()
}

// TestUserShare: one user cannot take all rows from the others. That holds across restarts of the
// agent, and with more names than are remembered.
func TestUserShare(t *testing.T) {
	conf := Config{MaxPerApplication: 10, MaxTransactions: 10, MaxApplications: 10, MaxPairs: 10, UserShare: 80}
	var r rows
	r.init(false)
	fill := func(r *rows) {
		for i := range maxOver + 100 {
			a := r.appOf(&conf, "nobody", fmt.Sprint("App", i), "")
			r.tranOf(&conf, a, "nobody", "T", "")
		}
	}
	fill(&r)
	a := r.appOf(&conf, "joe", "Shop", "")
	if t1 := r.tranOf(&conf, a, "joe", "buy", ""); t1.Name != "Shop/buy" {
		t.Errorf("%s", t1.Name)
	}
	var again rows
	again.init(false)
	for _, c := range r.unsaved {
		again.restore(c)
	}
	fill(&again)
	for _, r := range []*rows{&r, &again} {
		if n, apps := r.share(past.TranName, "nobody").own, r.share(past.AppName, "nobody").own; n != 8 || apps != 8 {
			t.Errorf("nobody has %d transactions, %d applications", n, apps)
		}
		if t1 := r.tranOf(&conf, r.appOf(&conf, "joe", "Shop", ""), "joe", "buy", ""); t1.Name != "Shop/buy" {
			t.Errorf("%s", t1.Name)
		}
	}
	// A name that was over one user's share gets a row if another user has it.
	if t1 := again.tranOf(&conf, again.appOf(&conf, "ann", "App9", ""), "ann", "T", ""); t1.Name != "App9/T" {
		t.Errorf("%s", t1.Name)
	}
	if t1 := again.tranOf(&conf, again.appOf(&conf, "ann", "Eleventh", ""), "ann", "T", ""); t1.Name != "other/other" {
		t.Errorf("%s", t1.Name)
	}
}

// TestNamesFull: a file of names without room is counted, and reported in the log once.
func TestNamesFull(t *testing.T) {
	w := newWorld(t)
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	for i := range layout.AppMax {
		if i == layout.AppMax-1 {
			w.start()
			w.look()
			if h := w.c.Snapshot().Health; h.NamesFull != 0 {
				t.Errorf("%d files are full", h.NamesFull)
			}
		}
		n.App(fmt.Sprint("App", i))
	}
	var b strings.Builder
	w.c.reports.log = log.New(&b, "", 0)
	for range 3 {
		w.look()
		if h := w.c.Snapshot().Health; h.NamesFull != 1 {
			t.Errorf("%d files are full", h.NamesFull)
		}
	}
	if strings.Count(b.String(), "\n") != 1 || !strings.Contains(b.String(), "no room for another application") {
		t.Errorf("the log has %q", b.String())
	}
}

// TestTrace: transactions that are asked for are traced, those that are there and those that come
// later, until that ends.
func TestTrace(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.c.Trace("Bank/Deposit", true)
	w.c.Trace("Bank/Third", true)
	w.look()
	n.Tran(1, "Third")
	w.look()
	check := func(want ...uint32) {
		t.Helper()
		if got := w.traced(n); !slices.Equal(got, want) {
			t.Errorf("traced: %v, want %v", got, want)
		}
		for i, row := range allRows(w.c.Snapshot()) {
			if row.Traced != slices.Contains(want, uint32(i+1)) {
				t.Errorf("transaction %d: not told", i+1)
			}
		}
	}
	check(1, 3)
	if got := fmt.Sprint(slices.Sorted(maps.Keys(w.c.tracer.wishes))); got != "[Bank/Deposit Bank/Third]" {
		t.Error(got)
	}
	w.c.Trace("Bank/Deposit", false)
	w.look()
	check(3)
}

// TestTenThousand: one more row does not move the others, and no count goes back while all of them
// change at random.
func TestTenThousand(t *testing.T) {
	w := newWorld(t)
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	app := n.App("App")
	p := readertest.NewProc(t, w.dir, n, 100)
	for i := range 10000 {
		p.Good(0, n.Tran(app, fmt.Sprint(i)), 100, w.mono)
	}
	w.start()
	w.look()
	r := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		before := w.c.Snapshot()
		for range 1000 {
			p.Good(r.IntN(2), 1+r.Uint32N(10000), 100, w.mono)
		}
		n.Tran(app, fmt.Sprint("more", r.Uint64()))
		w.look()
		after := w.c.Snapshot()
		for i, t0 := range allRows(before) {
			if t1 := after.Row(i); t0.Name != t1.Name || t1.Count < t0.Count {
				t.Fatalf("%+v\n%+v", t0, t1)
			}
		}
	}
	var sum uint64
	for _, r := range allRows(w.c.Snapshot()) {
		sum += r.Count
	}
	if sum != 13000 {
		t.Errorf("%d in all", sum)
	}
}

// TestOtherMetrics: a transaction whose metrics are described in another way has a row of its own,
// and the same row after the agent has been started anew. One without metrics has the row of the
// first.
func TestOtherMetrics(t *testing.T) {
	w := newWorld(t)
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	p := readertest.NewProc(t, w.dir, n, 100)
	app := n.App("App")
	bare, gauge, counter, again := n.Tran(app, "T"), n.Tran(app, "T"), n.Tran(app, "T"), n.Tran(app, "T")
	n.Describe(gauge, 0, layout.TypeGauge64, "level")
	n.Describe(counter, 0, layout.TypeCounter64, "bytes sent")
	n.Describe(again, 0, layout.TypeCounter64, "bytes sent")
	for i, id := range []uint32{bare, gauge, counter, again} {
		p.Good(0, id, 1<<(6+i), w.mono)
	}
	want := map[string]uint64{"App/T": 1<<6 + 1<<7, "App/T~b1b7ff24": 1<<8 + 1<<9}
	for range 2 {
		w.start()
		w.look()
		got := map[string]uint64{}
		for _, r := range allRows(w.c.Snapshot()) {
			got[r.Name] = r.GoodNS
		}
		if !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	p.Die()
	w.look()
	w.start()
	w.look()
	if got := w.tran("App/T~b1b7ff24").GoodNS; got != 1<<8+1<<9 {
		t.Errorf("%d after its programs have ended", got)
	}
}

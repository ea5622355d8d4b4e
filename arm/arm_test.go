package arm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
)

// TestCounts: what ended in each way is counted, once.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	app := arm.NewApplication("Checking Account Query", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	tr := app.Transaction("Last Check Query")
	if err := errors.Join(app.Err(), tr.Err()); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for range 5 {
		r := tr.Start(ctx)
		if !r.Stop(arm.Good) || r.Stop(arm.Good) {
			t.Error("a first stop is not counted, or a second one is")
		}
	}
	for range 3 {
		tr.Start(ctx).Stop(arm.Aborted)
	}
	for range 2 {
		tr.Start(ctx).Stop(arm.Failed)
	}
	r := tr.Start(ctx)
	if r.Stop(3) {
		t.Error("a status that there is not is counted")
	}
	got := read(t, dir, 1)
	if got.good != 5 || got.n != 5 || got.aborted != 3 || got.failed != 2 || got.running != 1 {
		t.Errorf("%+v", got)
	}
	if got.sum == 0 || got.min > got.max || got.sum > 5*got.max || got.sum < 5*got.min {
		t.Errorf("%+v", got)
	}
}

// TestConcurrent: eight goroutines lose nothing.
func TestConcurrent(t *testing.T) {
	const each = 50000
	dir := t.TempDir()
	app := arm.NewApplication("app", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	tr := app.Transaction("tran")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				if !tr.Start(context.Background()).Stop(arm.Status(i % 3 % (g + 1))) {
					t.Error("not counted")
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, dir, 1); got.good+got.aborted+got.failed != 8*each || got.running != 0 {
		t.Errorf("%+v", got)
	}
}

// TestNames: what libarm refuses is refused, and the same key is the same transaction.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	for name, ok := range map[string]bool{
		"a": true, " a b ": true, strings.Repeat("x", 127): true, "ü": true,
		"": false, "   ": false, strings.Repeat("x", 128): false, strings.Repeat(" ", 127): false, "a\x00b": false,
	} {
		app := arm.NewApplication(name, arm.Dir(dir))
		if err := app.Err(); (err == nil) != ok || !ok && !errors.Is(err, arm.ErrName) {
			t.Errorf("application %q: %v", name, err)
		}
		app.Close()
	}
}

func TestNoAllocations(t *testing.T) {
	app := arm.NewApplication("app", arm.Dir(t.TempDir()))
	t.Cleanup(func() { app.Close() })
	tr := app.Transaction("tran")
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() { tr.Start(ctx).Stop(arm.Good) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

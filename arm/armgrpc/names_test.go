package armgrpc

import (
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
)

func TestShort(t *testing.T) {
	for method, want := range map[string]string{
		"bank.Accounts/Get":                                   "bank.Accounts/Get",
		"google.pubsub.v1.Publisher/Publish":                  "pubsub.v1.Publisher/Publish",
		"a.very.long.name.of.a.package.Publisher/Publish":     "of.a.package.Publisher/Publish",
		"google.pubsub.v1.SubscriptionAdministration/Publish": "Subscript~a9ae~stration/Publish",
		"":            "",
		"no method":   "no method",
		"x.y.z":       "x.y.z",
		"a.b/c.d/e.f": "a.b/c.d/e.f",
	} {
		if got := short(method); got != want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
}

// TestOnce: a method is named once, and found again without an allocation. What cannot be
// kept any more is still measured.
func TestOnce(t *testing.T) {
	app := arm.NewApplication("app", arm.Dir(t.TempDir()))
	defer app.Close()
	asked := 0
	n := newNames(app, []Option{Naming(func(string) string { asked++; return "call" })})
	const method = "/bank.Accounts/Get"
	first := n.of(method)
	got := testing.AllocsPerRun(100, func() {
		if n.of(method) != first {
			t.Error("another transaction")
		}
	})
	if got != 0 || asked != 1 || first.Err() != nil {
		t.Errorf("%v allocations, %d times asked, %v", got, asked, first.Err())
	}
	for i := range methodsMax + 10 {
		if tr := n.of(fmt.Sprint(i)); tr != first {
			t.Fatalf("method %d: %v", i, tr)
		}
	}
	kept := 0
	n.methods.Range(func(any, any) bool { kept++; return true })
	if kept != methodsMax {
		t.Errorf("%d methods are kept", kept)
	}
}

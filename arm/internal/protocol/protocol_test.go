package protocol_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// grpcCodes are the names of gRPC's status codes by their numbers.
var grpcCodes = strings.Fields("OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied " +
	"ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated")

// row returns the cells of a row of the page's table: good, aborted and failed.
func row(t *testing.T, name string) []string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/measuring-transactions.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(page), "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| "+name+" |") && len(cells) == 4 {
			return cells[1:]
		}
	}
	t.Fatalf("the page has no row %q with four cells", name)
	return nil
}

// TestPage: the table of the page names each code of gRPC once, in the column that its
// outcome has, and the codes of HTTP that are aborted.
func TestPage(t *testing.T) {
	cells := row(t, "status of gRPC")
	for code, name := range grpcCodes {
		word := regexp.MustCompile(`\b` + name + `\b`)
		for column, status := range []arm.Status{arm.Good, arm.Aborted, arm.Failed} {
			if got := protocol.GRPC(uint32(code)) == status; got != word.MatchString(cells[column]) {
				t.Errorf("%s is %v, and the page says in the column of %v: %s", name, protocol.GRPC(uint32(code)), status, cells[column])
			}
		}
	}
	cells = row(t, "status of HTTP")
	if !strings.Contains(cells[0], "below 500") {
		t.Error(cells[0])
	}
	for code := range 700 {
		want := arm.Good
		switch {
		case strings.Contains(cells[1], fmt.Sprint(code)) && code >= 500:
			want = arm.Aborted
		case code >= 500:
			want = arm.Failed
		}
		if got := protocol.HTTP(code); got != want {
			t.Errorf("%d is %v, and %v by the page", code, got, want)
		}
	}
}

// TestUnknownCode: a number that gRPC has not given is an error.
func TestUnknownCode(t *testing.T) {
	if got := protocol.GRPC(17); got != arm.Failed {
		t.Error(got)
	}
}

package library

import (
	"regexp"
	"strconv"
	"testing"
)

// TestArchiveOfCounter: each value that pmlogger has fetched is in the archive, once
// and in order. The metric counts its own fetches, so the values are known.
func TestArchiveOfCounter(t *testing.T) {
	t.Parallel()
	p := start(t)
	conf := p.WriteFile("logger.conf", "log mandatory on 100 msec {\ntest.fetches\n}\n")
	p.Run("pmlogger", "-h", "local:", "-c", conf, "-s", "20", "-l", p.Path("log/logger.log"), p.Path("archive"))
	out := p.Run("pmdumplog", "-m", p.Path("archive"), "test.fetches")
	values := regexp.MustCompile(`\(test\.fetches\): value (\d+)`).FindAllStringSubmatch(out, -1)
	if len(values) < 20 {
		t.Fatalf("%d values, want 20:\n%s", len(values), out)
	}
	first, _ := strconv.Atoi(values[0][1])
	for i, v := range values {
		if n, _ := strconv.Atoi(v[1]); n != first+i {
			t.Fatalf("value %d is %s, the first was %d:\n%s", i, v[1], first, out)
		}
	}
}

package pmapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	t.Setenv("PMCD_SOCKET", "/s")
	t.Setenv("PMCD_PORT", "")
	for spec, want := range map[string]string{
		"":                          "unix /s; tcp localhost:44321",
		"local:":                    "unix /s; tcp localhost:44321",
		"local:/a/b":                "unix /a/b; tcp localhost:44321",
		"unix:":                     "unix /s",
		"unix:/a/b":                 "unix /a/b",
		"unix://a/b":                "unix /a/b",
		"unix:///a/b":               "unix /a/b",
		"farm":                      "tcp farm:44321",
		"farm.example.com:4":        "tcp farm.example.com:4",
		"pcp://farm":                "tcp farm:44321",
		"pcp://farm/":               "tcp farm:44321",
		"pcp://farm:1,65535":        "tcp farm:1; tcp farm:65535",
		"127.0.0.1:5":               "tcp 127.0.0.1:5",
		"[::1]":                     "tcp [::1]:44321",
		"[fe80::1%eth0]:6":          "tcp [fe80::1%eth0]:6",
		"farm@gate":                 "tcp gate:44322 for farm:44321",
		"farm:1,2@gate:9":           "tcp gate:9 for farm:1; tcp gate:9 for farm:2",
		"farm@[::1]:9":              "tcp [::1]:9 for farm:44321",
		"pcps://farm":               "tcp farm:44321 secure",
		"farm?secure":               "tcp farm:44321 secure",
		"farm?secure=enforce":       "tcp farm:44321 secure",
		"farm?secure=relaxed":       "tcp farm:44321 secure relaxed",
		"pcp://farm?container=web":  "tcp farm:44321 container web",
		"local:?container=a&secure": "unix /s; tcp localhost:44321 secure container a",
		"unix:?container=a,secure":  "unix /s secure container a",
		"local":                     "tcp local:44321",
		"unix":                      "tcp unix:44321",
		"farm?":                     "tcp farm:44321",
	} {
		h, err := ParseHost(spec)
		if err != nil {
			t.Errorf("%q: %v", spec, err)
			continue
		}
		var parts []string
		for _, target := range h.targets() {
			s := target.network + " " + target.address
			if h.Proxy != "" {
				s += fmt.Sprintf(" for %s:%d", target.host, target.port)
			}
			parts = append(parts, s)
		}
		got := strings.Join(parts, "; ")
		for _, f := range []struct {
			is   bool
			text string
		}{{h.Secure, " secure"}, {h.Relaxed, " relaxed"}, {h.Container != "", " container " + h.Container}} {
			if f.is {
				got += f.text
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", spec, got, want)
		}
		if again, err := ParseHost(h.String()); err != nil || fmt.Sprint(again) != fmt.Sprint(h) {
			t.Errorf("%q: its text %q is %+v, %v", spec, h, again, err)
		}
	}
}

func TestParseHostBad(t *testing.T) {
	for spec, want := range map[string]string{
		"http://farm":         `"http" is not one of`,
		"farm:":               `port ""`,
		"farm:0":              `port "0"`,
		"farm:65536":          `port "65536"`,
		"farm:1,":             `port ""`,
		"pcp://":              `"" is not the name`,
		"pcp://?container=a":  `"" is not the name`,
		":44321":              `"" is not the name`,
		"two words":           "is not the name",
		"a\nb@gate":           "is not the name",
		"[::1":                "brackets",
		"[::1]x":              "brackets",
		"farm@":               `"" is not the name`,
		"farm@gate:1,2":       "one port, not 2",
		"farm?username=me":    "SASL",
		"farm?container=":     `"container="`,
		"farm?secure=perhaps": `"secure=perhaps"`,
		"farm?colour=red":     `"colour=red"`,
		"farm?container=" + strings.Repeat("x", 4096): "4095",
	} {
		if h, err := ParseHost(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %s", spec, h, err, want)
		}
	}
}

// TestSocketPath: the socket is where the environment or pcp.conf says.
func TestSocketPath(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(conf, []byte("# PCP_RUN_DIR=/no\nPCP_RUN_DIR=/from/conf\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ socket, run, conf, want string }{
		{"/own", "/run/own", conf, "unix /own"},
		{"", "/run/own", conf, "unix /run/own/pmcd.socket"},
		{"", "", conf, "unix /from/conf/pmcd.socket"},
		{"", "", filepath.Join(dir, "none"), "unix /run/pcp/pmcd.socket"},
	} {
		t.Setenv("PMCD_SOCKET", tt.socket)
		t.Setenv("PCP_RUN_DIR", tt.run)
		t.Setenv("PCP_CONF", tt.conf)
		t.Setenv("PMCD_PORT", "7,8")
		h, err := ParseHost("local:")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, target := range h.targets() {
			got = append(got, target.network+" "+target.address)
		}
		if want := []string{tt.want, "tcp localhost:7", "tcp localhost:8"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: %q, want %q", tt, got, want)
		}
	}
	if got := Local().Host(); got.Socket != "/run/pcp/pmcd.socket" || !got.Local {
		t.Errorf("Local: %+v", got)
	}
}

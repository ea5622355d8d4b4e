package conf

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
)

// files is what "hosts" can name in these tests.
var files = map[string]string{
	"names": "# our routers\nfarvel trist\n\n  ked # the third\n",
	"more":  "10.0.0.1\nfarvel\n",
	"bad":   "fine\nnot!fine\n",
}

// prepare makes a folder with the files, and goes there.
func prepare(t testing.TB) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, text)
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// load reads text as the file f.
func load(t testing.TB, text string, current Config) (Config, error) {
	t.Helper()
	write(t, "f", text)
	return Load("f", current)
}

func TestGood(t *testing.T) {
	prepare(t)
	more, err := filepath.Abs("more")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		text string
		want func(c *Config)
	}{
		{"", func(*Config) {}},
		{"# nothing\n\n  \t\n   # more nothing\n", func(*Config) {}},
		{"interval 5", func(c *Config) { c.Interval = 5 * time.Second }},
		{"interval\t 0.1\r\n", func(c *Config) { c.Interval = 100 * time.Millisecond }},
		{"interval 2.5 # and a half", func(c *Config) { c.Interval = 2500 * time.Millisecond }},
		{"interval 86400\nmaxrate 100000\nweight 0\n", func(c *Config) {
			c.Interval, c.MaxRate, c.Weight = 24*time.Hour, 100000, 0
		}},
		{"maxrate 0.5\nweight 100", func(c *Config) { c.MaxRate, c.Weight = 0.5, 100 }},
		{"idle 0\ntimeout 1\nwindow 3600\nresolve 60\nexpire 0", func(c *Config) {
			c.Idle, c.Timeout, c.Window, c.Resolve, c.Expire = 0, time.Second, time.Hour, time.Minute, 0
		}},
		{"family ipv6\nengine pro-bing", func(c *Config) { c.Family, c.Engine = hosts.IPv6, EngineProBing }},
		{"host a b.c a\nhost fe80::1%eth0", func(c *Config) { c.Hosts = []string{"a", "b.c", "fe80::1%eth0"} }},
		{"host trist\nhosts names " + more, func(c *Config) {
			c.Hosts = []string{"trist", "farvel", "ked", "10.0.0.1"}
		}},
		{"create all", func(c *Config) { c.Create = hosts.Users{All: true} }},
		{"create none", func(c *Config) { c.Create = hosts.Users{} }},
		{"create root 1000\ncreate 4242 0", func(c *Config) { c.Create = hosts.Users{UIDs: []int{0, 1000, 4242}} }},
		{"store root", func(c *Config) { c.Store = hosts.Users{UIDs: []int{0}} }},
		{"store none", func(c *Config) { c.Store = hosts.Users{} }},
		{"allow 10.0.0.0/8 fd00::/8\ndeny 10.1.2.3 ::1", func(c *Config) {
			c.Allow = prefixes("10.0.0.0/8", "fd00::/8")
			c.Deny = prefixes("10.1.2.3/32", "::1/128")
		}},
		{"maxhosts 0", func(c *Config) { c.MaxHosts = 0 }},
		{"maxhosts 100000", func(c *Config) { c.MaxHosts = 100000 }},
	}
	for _, tt := range tests {
		want := Defaults()
		tt.want(&want)
		if got, err := load(t, tt.text, Defaults()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v, %v\nwant %+v", tt.text, got, err, want)
		}
	}
}

func prefixes(s ...string) (p []netip.Prefix) {
	for _, x := range s {
		p = append(p, netip.MustParsePrefix(x))
	}
	return p
}

func TestBad(t *testing.T) {
	prepare(t)
	const file = "f"
	tests := []struct {
		text string
		want string // the whole message
	}{
		{" interval 5", file + `:1: white space before "interval"; a keyword begins in column one`},
		{"\n\nspeed 5", file + `:3: unknown keyword "speed"`},
		{"Interval 5", file + `:1: unknown keyword "Interval"`},
		{"interval", file + `:1: interval: no value`},
		{"interval # 5", file + `:1: interval: no value`},
		{"interval 5 6", file + `:1: interval: one value expected, not 2`},
		{"interval 5\nweight 1\ninterval 6", file + `:3: interval: stands on line 1 already`},
		{"interval five", file + `:1: interval: "five" is not a number`},
		{"interval 0", file + `:1: interval: 0 is not between 0.1 and 86400`},
		{"interval -1", file + `:1: interval: -1 is not between 0.1 and 86400`},
		{"interval NaN", file + `:1: interval: "NaN" is not a number`},
		{"interval 1e400", file + `:1: interval: "1e400" is not a number`},
		{"interval inf", file + `:1: interval: "inf" is not a number`},
		{"interval 0x10", file + `:1: interval: "0x10" is not a number`},
		{"interval 1_0", file + `:1: interval: "1_0" is not a number`},
		{"interval 10s", file + `:1: interval: "10s" is not a number`},
		{"maxrate 0", file + `:1: maxrate: 0 is not between 0.001 and 100000`},
		{"maxrate 100001", file + `:1: maxrate: 100001 is not between 0.001 and 100000`},
		{"weight 101", file + `:1: weight: 101 is not between 0 and 100`},
		{"window 0.5", file + `:1: window: 0.5 is not between 1 and 3600`},
		{"timeout 61", file + `:1: timeout: 61 is not between 0.01 and 60`},
		{"family ipx", file + `:1: family: "ipx" is not any, ipv4 or ipv6`},
		{"engine steam", file + `:1: engine: "steam" is not auto, linux or pro-bing`},
		{"maxhosts -1", file + `:1: maxhosts: "-1" is not a whole number`},
		{"maxhosts 1.5", file + `:1: maxhosts: "1.5" is not a whole number`},
		{"host a!b", file + `:1: host: "a!b": the host name holds '!'; letters, digits, hyphens and underscores are allowed`},
		{"host 10.1", file + `:1: host: "10.1": neither an IPv4 address nor a host name`},
		{"hosts missing", file + `:1: hosts: open missing: no such file or directory`},
		{"hosts bad", `bad:2: host: "not!fine": the host name holds '!'; letters, digits, hyphens and underscores are allowed`},
		{"create no-such-user-here", file + `:1: create: no user "no-such-user-here" on this machine`},
		{"create all root", file + `:1: create: "all" cannot stand beside other values`},
		{"create root\ncreate none", file + `:2: create: "none" cannot stand beside other values`},
		{"store all", file + `:1: store: only ` + kit.AdministratorNames() + ` can be allowed to store, not "all"`},
		{"store 4242", file + `:1: store: "4242": only ` + kit.AdministratorNames() + ` can be allowed to store`},
		{"allow 10.0.0.0/33", file + `:1: allow: "10.0.0.0/33" is neither an address nor a range like 10.0.0.0/8 or fd00::/8`},
		{"allow 10.1.0.0/8", file + `:1: allow: "10.1.0.0/8" has bits set beyond its length; write 10.0.0.0/8`},
		{"deny ::ffff:10.0.0.0/104", file + `:1: deny: "::ffff:10.0.0.0/104": write an IPv4 range like 10.0.0.0/8`},
		{"deny none 10.0.0.1", file + `:1: deny: "none" cannot stand beside other values`},
		{"interval " + strings.Repeat("1", 65536), file + `:1: the line is longer than 65536 bytes`},
		// All mistakes at once.
		{"interval 0\nweight 50\nhosts bad\nspeed 1", file + ":1: interval: 0 is not between 0.1 and 86400\n" +
			"bad:2: host: \"not!fine\": the host name holds '!'; letters, digits, hyphens and underscores are allowed\n" + file + `:4: unknown keyword "speed"`},
	}
	for _, tt := range tests {
		got, err := load(t, tt.text, Defaults())
		if err == nil || !reflect.DeepEqual(got, Defaults()) {
			t.Errorf("%.60q accepted: %+v", tt.text, got)
		} else if err.Error() != tt.want {
			t.Errorf("%.60q:\ngot  %v\nwant %v", tt.text, err, tt.want)
		}
	}
}

// TestAgain: a number that the file does not give stays as it is. A list is replaced; one
// that the file does not give, by the default.
func TestAgain(t *testing.T) {
	prepare(t)
	first, err := load(t, "interval 5\nhost a b\nallow 10.0.0.0/8\ndeny 10.1.0.0/16\ncreate all\nstore none\n", Defaults())
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, "maxrate 20\nhost c\nallow all\n", first)
	want := Defaults()
	want.Interval, want.MaxRate = 5*time.Second, 20
	want.Hosts = []string{"c"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if got, err = load(t, "", got); err != nil || got.Hosts != nil || got.MaxRate != 20 {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
}

func TestHostLimit(t *testing.T) {
	var b strings.Builder
	for i := range maxHosts + 1 {
		b.WriteString("host h")
		for n := i; n > 0; n /= 10 {
			b.WriteByte(byte('0' + n%10))
		}
		b.WriteString("\n")
	}
	prepare(t)
	if _, err := load(t, b.String(), Defaults()); err == nil || !strings.Contains(err.Error(), "more than 100000 hosts") {
		t.Errorf("%v", err)
	}
}

func TestNoFile(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "none"), Defaults())
	if !errors.Is(err, fs.ErrNotExist) || !reflect.DeepEqual(c, Defaults()) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDefaults(t *testing.T) {
	c := Defaults()
	if c.Interval != 10*time.Second || c.MaxRate != 10 || c.Weight != 75 || c.Idle != 300*time.Second {
		t.Errorf("SpmiResp's defaults: %+v", c)
	}
	if c.Create.All || !c.Create.Has(hosts.Who{UID: 0, Known: true}) || c.Create.Has(hosts.Who{UID: 4242, Known: true, Local: true}) {
		t.Errorf("who may create: %+v", c.Create)
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"interval 5\nmaxrate 10\nweight 75\n", "host a b 10.0.0.1 ::1\nhosts names\n", "hosts bad more missing\n",
		"create all\nstore root\nallow 10.0.0.0/8\ndeny fd00::/8 none\n", " interval\n#\n\r\n\x00", "family ipv4\nengine linux\nmaxhosts 7\n",
	} {
		f.Add(text)
	}
	defaults := Defaults()
	prepare(f)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(t, text, defaults)
		if err != nil {
			var one *keyword.Error
			if !errors.As(err, &one) || !reflect.DeepEqual(c, defaults) {
				t.Fatalf("%+v, error %v", c, err)
			}
			return
		}
		if c.Interval < 100*time.Millisecond || c.Interval > 24*time.Hour || !(c.MaxRate > 0 && c.MaxRate <= 100000) ||
			!(c.Weight >= 0 && c.Weight <= 100) || c.Timeout <= 0 || c.Window < time.Second || c.Window > time.Hour ||
			c.MaxHosts < 0 || c.Idle < 0 || c.Expire < 0 || c.Resolve < time.Second {
			t.Fatalf("out of range: %+v", c)
		}
		for _, name := range c.Hosts {
			if err := hosts.CheckName(name); err != nil {
				t.Fatalf("host %q: %v", name, err)
			}
		}
	})
}

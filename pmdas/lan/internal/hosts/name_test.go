package hosts

import (
	"net/netip"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	label := strings.Repeat("a", 63)
	long := label + "." + label + "." + label + "." + label // 255
	good := []string{
		"farvel", "a", "FARVEL.example.com", "example.com.", "x_y", "a-b", "3com", "1.2.3.example",
		"10.0.0.1", "::1", "fe80::1%eth0", "fe80::1%br-lan.5", "::ffff:10.0.0.1", "0xg", long,
	}
	for _, name := range good {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	bad := []string{
		"", ".", "a..b", ".a", "a b", "a\tb", "a\x00", "a\n", "-a", "a-", "a.-b", "a/b", "a#b", "søster", "\xff",
		"10", "10.1", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4.", "0x7f.1", "a.0x1", "0xa1b2", "0x",
		":", ":::", "1:2", "fe80::1%", "fe80::1%a b", "fe80::1%a\x01", "10.0.0.1%eth0", "[::1]",
		label + "a", long + ".", "a" + long,
	}
	for _, name := range bad {
		if err := CheckName(name); err == nil {
			t.Errorf("%q accepted", name)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	p := Policy{Allow: prefixes("10.0.0.0/8", "fd00::/8"), Deny: prefixes("10.1.0.0/16", "10.2.3.4/32")}
	tests := []struct {
		p    Policy
		addr string
		want string // part of the reason; "" allowed
	}{
		{p, "10.0.0.1", ""},
		{p, "10.1.0.1", "deny 10.1.0.0/16"},
		{p, "10.2.3.4", "deny 10.2.3.4/32"},
		{p, "10.2.3.5", ""},
		{p, "192.0.2.1", "in none of the ranges of allow"},
		{p, "fd00::1", ""},
		{p, "fe80::1%eth0", "in none of the ranges of allow"},
		{Policy{}, "192.0.2.1", ""},
		{Policy{Deny: prefixes("fe80::/10")}, "fe80::1%eth0", "deny fe80::/10"},
		{Policy{Allow: prefixes("10.0.0.0/8"), Deny: prefixes("0.0.0.0/0")}, "10.0.0.1", "deny 0.0.0.0/0"},
		{Policy{Allow: prefixes("224.0.0.0/3", "::/0")}, "224.0.0.1", "multicast"},
		{Policy{Allow: prefixes("224.0.0.0/3", "::/0")}, "255.255.255.255", "broadcast"},
		{Policy{Allow: prefixes("::/0")}, "ff02::1", "multicast"},
		{Policy{}, "0.0.0.0", "unspecified"},
		{Policy{}, "::", "unspecified"},
	}
	for _, tt := range tests {
		err := tt.p.check(netip.MustParseAddr(tt.addr), OnDemand)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.addr, err, tt.want)
		}
	}
	if err := p.check(netip.MustParseAddr("192.0.2.1"), Configured); err != nil {
		t.Errorf("configured host: %v", err)
	}
	if err := p.check(netip.MustParseAddr("224.0.0.1"), Stored); err == nil {
		t.Error("multicast stored")
	}
}

func prefixes(s ...string) (p []netip.Prefix) {
	for _, x := range s {
		p = append(p, netip.MustParsePrefix(x))
	}
	return p
}

func TestUsers(t *testing.T) {
	some := Users{UIDs: []int{0, 1000}}
	tests := []struct {
		u    Users
		w    Who
		want bool
	}{
		{some, Who{UID: 0, Known: true, Local: true}, true},
		{some, Who{UID: 1000, Known: true}, true},
		{some, Who{UID: 1001, Known: true, Local: true}, false},
		{some, Who{UID: 0, Local: true}, false}, // not known: 0 is no id
		{Users{All: true}, Who{UID: 1001, Known: true, Local: true}, true},
		{Users{All: true}, Who{Local: true}, true},
		{Users{All: true}, Who{UID: 0, Known: true}, false}, // not local
		{Users{}, Who{UID: 0, Known: true, Local: true}, false},
	}
	for _, tt := range tests {
		if got := tt.u.Has(tt.w); got != tt.want {
			t.Errorf("%+v has %+v: %v", tt.u, tt.w, got)
		}
	}
}

package dds

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// build is a way to build a supplier in C.
type build struct {
	name, cc, flags string
	link            string // with LIB where the library is
	word            int
}

var builds = []build{
	{"64 bits", "gcc", "", "-LLIB -lSpmi -Wl,-rpath,LIB", 8},
	{"64 bits, static", "gcc", "-static", "LIB/libSpmi.a", 8},
	{"32 bits", "gcc -m32", "", "-LLIB -lSpmi -Wl,-rpath,LIB", 4},
	{"32 bits, static", "gcc -m32", "-static", "LIB/libSpmi.a", 4},
	{"32 bits, archive", "clang -m32", "", "LIB/libSpmi.a", 4},
	{"32 bits, 64-bit time", "gcc -m32", "-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64", "-LLIB -lSpmi -Wl,-rpath,LIB", 4},
}

func command(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Dir = "../../libSpmi"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// libraries builds libSpmi with each of the compilers.
func libraries(t *testing.T) map[string]string {
	t.Helper()
	libs := make(map[string]string)
	for _, b := range builds {
		if libs[b.cc] == "" {
			libs[b.cc] = t.TempDir()
			command(t, "make", "-s", "BUILD="+libs[b.cc], "CC="+b.cc, "all")
		}
	}
	return libs
}

// typesSupplier builds and starts libSpmi/test/types.c.
func typesSupplier(t *testing.T, p *pcptest.PCP, lib string, b build) {
	t.Helper()
	program := p.Path("types")
	args := strings.Fields(b.cc + " -std=gnu11 -Wall -Wextra -Werror -Iinclude " + b.flags + " -o " + program + " test/types.c " + b.link + " -pthread")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "LIB", lib)
	}
	command(t, args...)
	c := exec.Command(program, p.Path("hook"))
	c.Env = append(p.Env(), "RTIME_DDS_DIR="+p.Path("run/dds"))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	if want := fmt.Sprintf("word %d\n", b.word); said != want {
		t.Fatalf("the supplier says %q (%v), want %q", said, err, want)
	}
}

// typed is what PCP shows of a type: PCP's name for it, and the value.
type typed struct{ kind, value string }

func wanted(word int) map[string]typed {
	want := map[string]typed{
		"ulong": {"64-bit unsigned int", "18446744073709551615"}, "long": {"64-bit int", "-9223372036854775808"},
		"uint": {"32-bit unsigned int", "4294967295"}, "int": {"32-bit int", "-2147483648"},
		"ushort": {"32-bit unsigned int", "65535"}, "short": {"32-bit int", "-32768"},
		"char": {"32-bit unsigned int", "200"}, "text": {"string", `"up and away"`},
		"addr": {"64-bit unsigned int", "18446744073709551614"}, "time": {"64-bit int", "1234567654321"},
		"float": {"float", "-1.5"}, "double": {"double", "1e+300"},
		"ptr": {"64-bit unsigned int", "4294967280"}, "unsign": {"32-bit unsigned int", "4000000000"},
	}
	if word == 4 {
		want["ulong"] = typed{"32-bit unsigned int", "4294967295"}
		want["long"] = typed{"32-bit int", "-2147483648"}
		want["addr"] = typed{"32-bit unsigned int", "4294967294"}
		want["ptr"] = typed{"32-bit unsigned int", "4294967280"}
	}
	return want
}

// TestCTypes: all thirteen data types of C suppliers of 64 and of 32 bits, shared and
// static, beside the agent of 64 bits, as PCP's tools show them.
func TestCTypes(t *testing.T) {
	libs := libraries(t)
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", false)
			typesSupplier(t, p, libs[b.cc], b)
			args := []string{"-h", "local:", "-df"}
			for name := range wanted(b.word) {
				args = append(args, "dds.V.Types."+name, "dds.V.Volatile."+name)
			}
			shown := make(map[string]string)
			for _, text := range strings.Split(p.Run("pminfo", args...), "\n\n") {
				name, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
				shown[name] = rest
			}
			for name, want := range wanted(b.word) {
				has(t, shown["dds.V.Types."+name], "Data Type: "+want.kind+" ", "\n    value "+want.value)
				has(t, shown["dds.V.Volatile."+name], "Data Type: "+want.kind+" ", `or "Types"] value `+want.value)
			}
			has(t, p.Run("pmval", "-h", "local:", "-s", "1", "-r", "dds.V.Types.long"), wanted(b.word)["long"].value)
			has(t, p.Run("pmval", "-h", "local:", "-s", "1", "dds.V.Types.unsign"), "4000000000")
			alike(t, p)
		})
	}
}

// alike checks values that the supplier updates together: whenever they have values, these
// are equal.
func alike(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	args := []string{"-h", "local:", "-f"}
	for i := range 8 {
		args = append(args, fmt.Sprintf("dds.V.Volatile.v%d", i))
	}
	distinct := make(map[string]bool)
	pcptest.Eventually(t, "three updates are seen", func() error {
		values := make(map[string]int)
		for _, line := range strings.Split(p.Run("pminfo", args...), "\n") {
			if _, v, ok := strings.Cut(line, `or "Alike"] value `); ok {
				values[v]++
			}
		}
		for v, n := range values {
			if len(values) != 1 || n != 8 {
				t.Fatalf("half an update: %v", values)
			}
			distinct[v] = true
		}
		if len(distinct) < 3 {
			return fmt.Errorf("%v", distinct)
		}
		return nil
	})
}

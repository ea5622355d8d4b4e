package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pcp-rtime/rtime/internal/version"
)

// command runs a program in a directory and returns what it prints. Its standard error goes
// to ours.
func command(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// figures runs a program that prints so many numbers.
func figures(want int, env []string, args ...string) ([]float64, error) {
	out, err := command("", env, args...)
	if err != nil {
		return nil, err
	}
	return numbers(want, out)
}

func numbers(want int, text string) ([]float64, error) {
	var list []float64
	for _, field := range strings.Fields(text) {
		var v float64
		if _, err := fmt.Sscan(field, &v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if len(list) != want {
		return nil, fmt.Errorf("%q is not %d numbers", text, want)
	}
	return list, nil
}

// Variants of the library: as it is, and as it is on a machine whose counter cannot be
// trusted.
const (
	whole = "lib"
	noTSC = "lib-notsc"
)

func (b *bench) library(variant, flags string) error {
	build := filepath.Join(b.dir, variant)
	_, err := command("libarm", nil, "make", "-s", "BUILD="+build, "CFLAGS=-O2 -g -Wno-error "+flags,
		filepath.Join(build, "libarm.so.2."+version.String()))
	return err
}

// program compiles a program in C. It links the library as any program does;
// LD_LIBRARY_PATH says at run time which library it gets.
func (b *bench) program(name string, libs ...string) (string, error) {
	path := filepath.Join(b.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := []string{"cc", "-O2", "-pthread", "-Ilibarm/include", "-o", path, "bench/arm/c/" + name + ".c", "-L" + filepath.Join(b.dir, whole)}
	_, err := command("", nil, append(args, libs...)...)
	return path, err
}

func (b *bench) goProgram(name, dir, pkg string) (string, error) {
	path := filepath.Join(b.dir, name)
	_, err := command(dir, []string{"CGO_ENABLED=0"}, "go", "build", "-o", path, pkg)
	return path, err
}

// segments makes a directory for segments and returns the environment that makes programs
// use it.
func (b *bench) segments(name string) (dir, env string, err error) {
	dir = filepath.Join(b.dir, name)
	return dir, "RTIME_ARM_DIR=" + dir, os.MkdirAll(dir, 0o700)
}

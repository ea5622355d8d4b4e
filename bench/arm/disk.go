package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const diskSeconds = "4"

// disk measures the longest single call while another process writes a file system full,
// in which the segments lie or not. It needs root, to mount.
func (b *bench) disk() error {
	if err := b.library(whole, ""); err != nil {
		return err
	}
	bin, err := b.program("worst", "-larm")
	if err != nil {
		return err
	}
	mount, unmount, err := b.mountImage()
	if err != nil {
		return err
	}
	defer unmount()
	small := filepath.Join(b.dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=24m"); err != nil {
		return err
	}
	defer func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) }()
	fmt.Printf("\nThe longest single arm_start or arm_stop in %s s, us\n", diskSeconds)
	fmt.Println("                                            kept the CPU  waited    times  preempted  clock alone  calls good   new of 1000")
	for _, c := range []struct{ name, segments, full string }{
		{"segments in tmpfs, nothing written", b.dir, ""},
		{"segments in tmpfs, a disk written full", b.dir, mount},
		{"segments on that disk", mount, mount},
		{"segments in a tmpfs that is written full", small, small},
	} {
		f, err := b.worst(bin, c.segments, c.full)
		if err != nil {
			return err
		}
		fmt.Printf("%-42s  %12.1f  %6.1f  %7.0f  %9.1f  %11.1f  %10.0f  %12.0f\n", c.name, f[0], f[1], f[5], f[2], f[3], 2*f[4], f[6])
	}
	return nil
}

// mountImage makes a file system of ext4 in a file on a real disk.
func (b *bench) mountImage() (dir string, unmount func(), err error) {
	image, err := os.CreateTemp("", "rtime-bench-arm-*.img")
	if err != nil {
		return "", nil, err
	}
	defer image.Close()
	dir = filepath.Join(b.dir, "disk")
	err = errors.Join(image.Truncate(256<<20), os.Mkdir(dir, 0o700))
	if err == nil {
		_, err = command("", nil, "mkfs.ext4", "-q", "-F", image.Name())
	}
	if err == nil {
		_, err = command("", nil, "mount", "-o", "loop", image.Name(), dir)
	}
	if err != nil {
		os.Remove(image.Name())
		return "", nil, err
	}
	return dir, func() {
		if _, err := command("", nil, "umount", "--lazy", dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Remove(image.Name())
	}, nil
}

// worst starts the program. While the program measures, another process writes the file
// system full, again and again.
func (b *bench) worst(bin, segments, full string) ([]float64, error) {
	dir := filepath.Join(segments, "segments")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(bin, diskSeconds, "wait")
	cmd.Env = append(os.Environ(), "RTIME_ARM_DIR="+dir, "LD_LIBRARY_PATH="+filepath.Join(b.dir, whole))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		return nil, fmt.Errorf("%s: %q, %w", bin, line, errors.Join(err, cmd.Wait()))
	}
	stop, err := fill(full)
	if err != nil {
		return nil, err
	}
	defer stop()
	if _, err := io.WriteString(in, "go\n"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, err
	}
	return numbers(7, strings.TrimSpace(string(text)))
}

// fill starts a process that writes a file system full. Once it is full, the process writes
// all of its data anew, to the disk itself, until it is stopped.
func fill(dir string) (stop func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	file := filepath.Join(dir, "full")
	script := `dd if=/dev/zero of="$1" bs=64k 2>/dev/null; echo full
		while :; do dd if=/dev/zero of="$1" bs=1M conv=notrunc 2>/dev/null; sync --file-system "$1"; done`
	cmd := exec.Command("sh", "-c", script, "sh", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(out)
	_, err = r.ReadString('\n')
	return func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, r) // until dd is gone too, and what it wrote can be freed
		_ = cmd.Wait()
		os.Remove(file)
		_, _ = command("", nil, "sync", "--file-system", dir)
	}, err
}

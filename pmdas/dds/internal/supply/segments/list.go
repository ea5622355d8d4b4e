package segments

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// cursor reads the names in a folder little by little.
type cursor struct{ f *os.File }

// next returns up to n further names, and whether they were the last. The call after the last
// names starts again from the beginning.
func (c *cursor) next(path string, n int) (names []string, last bool, err error) {
	if c.f == nil {
		if c.f, err = os.Open(path); err != nil {
			c.f = nil
			return nil, true, err
		}
	}
	names, err = c.f.Readdirnames(n)
	if err == io.EOF {
		err = nil
	}
	if last = err != nil || len(names) < n; last {
		c.end()
	}
	return names, last, err
}

func (c *cursor) end() {
	if c.f != nil {
		c.f.Close()
		c.f = nil
	}
}

// List returns the names of segments and of all other entries except the folders of claims and
// notices, up to n together. It also returns whether these were the last. The next call goes
// on where this one stopped, or starts again. An entry that stays in the directory is listed
// once.
func (d *Dir) List(n int) (segments, others []string, last bool, err error) {
	list, last, err := d.files.next(d.path, n)
	for _, name := range list {
		switch {
		case IsSegment(name):
			segments = append(segments, name)
		case name != layout.ClaimsDir && name != layout.NoticeDir:
			others = append(others, name)
		}
	}
	return segments, others, last, err
}

// Claims returns what is in the folder of claims, for RemoveStray, as List does.
func (d *Dir) Claims(n int) (names []string, last bool) {
	names, last, _ = d.claims.next(d.Path(layout.ClaimsDir), n) // an error is reported to suppliers elsewhere
	for i := range names {
		names[i] = claimsPart + names[i]
	}
	return names, last
}

// Entry is what is known of a file that has not been opened.
type Entry struct {
	UID  uint32 // its owner
	Made int64  // when it was made, in nanoseconds since 1970; see Look
	Mark Mark
}

// Mark tells whether a file is unchanged. The zero Mark means that there is no file.
type Mark struct {
	ino, size uint64
	changed   int64
}

// Look returns what a file is, or the zero Entry if there is none. Unlike a file's other
// times, nobody can set the time when it was made. If the file system does not keep that time,
// Look uses the time of the file's last change.
func (d *Dir) Look(name string) Entry {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, d.Path(name), unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st) != nil {
		return Entry{}
	}
	e := Entry{UID: st.Uid, Made: nanoseconds(st.Ctime), Mark: Mark{st.Ino, st.Size, nanoseconds(st.Ctime)}}
	if st.Mask&unix.STATX_BTIME != 0 {
		e.Made = nanoseconds(st.Btime)
	}
	return e
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

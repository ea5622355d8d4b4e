package naming

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming/kept"
)

// Keeper keeps what the agent must know of metrics that outlive their suppliers and the
// agent. It is kept in the file of numbers: a value for each metric, and a short one for
// each metric whose supplier is away.
type Keeper struct {
	names *Names
	todo  []kept.Metric // read from the file and not yet shown again
}

// The keys of values are one of these and then the key to which the metric's number was
// given.
const (
	metricKey = "metric "
	awayKey   = "away "
	namedKey  = "names of user " // then the user's number; the value is the bytes of the names on the account
	oldKey    = "taken over from the file of an earlier version"
)

// OpenKeeper reads which metrics were there when the agent ended.
func OpenKeeper(n *Names) (*Keeper, error) {
	k := &Keeper{names: n}
	away := make(map[string]int64)
	taken := false
	err := n.Store.Kept(func(key string, value []byte) {
		switch {
		case key == oldKey:
			taken = true
		case strings.HasPrefix(key, namedKey):
			uid, errUser := strconv.ParseUint(key[len(namedKey):], 10, 32)
			named, err := strconv.ParseInt(string(value), 10, 64)
			if errors.Join(err, errUser) == nil && named > 0 {
				n.Users.Noted(uint32(uid), named)
			}
		case strings.HasPrefix(key, metricKey):
			m, err := kept.Decode(value)
			if err != nil {
				n.Log("what was kept of %s cannot be used: %v", key, err)
				return
			}
			k.todo = append(k.todo, m)
		case strings.HasPrefix(key, awayKey):
			away[key[len(awayKey):]], _ = strconv.ParseInt(string(value), 10, 64) // 0: away since now
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range k.todo {
		k.todo[i].Away = away[k.todo[i].Key]
	}
	if n.Dir != "" {
		k.takeOld(filepath.Join(n.Dir, n.Agent+".kept"), taken)
	}
	n.Log("%d metrics are known from before", len(k.todo))
	return k, nil
}

// takeOld takes over the file of an earlier version. The file is removed at the next
// start, when it is certain that it has been taken over.
func (k *Keeper) takeOld(path string, taken bool) {
	if taken {
		if os.Remove(path) == nil {
			k.names.Log("%s is not needed any more", path)
		}
		return
	}
	list, err := kept.Read(path)
	if err != nil {
		k.names.Log("%v", err)
	}
	if len(list) == 0 {
		return
	}
	for i := range list {
		k.Put(&list[i])
		if list[i].Away != 0 {
			k.Away(list[i].Key, time.Unix(list[i].Away, 0))
		}
	}
	k.put(oldKey, []byte("1"))
	k.todo = append(k.todo, list...)
}

// Next returns a metric that is to be shown again, or nil.
func (k *Keeper) Next() *kept.Metric {
	if len(k.todo) == 0 {
		k.todo = nil
		return nil
	}
	m := &k.todo[0]
	k.todo = k.todo[1:]
	return m
}

// Put keeps a metric.
func (k *Keeper) Put(m *kept.Metric) {
	value, err := json.Marshal(m)
	if err != nil {
		k.names.Log("%s is not kept: %v", m.Key, err)
		return
	}
	k.put(metricKey+m.Key, value)
}

// Away notes since when a metric has been without a supplier. The zero time means that it
// has one again.
func (k *Keeper) Away(key string, since time.Time) {
	if since.IsZero() {
		k.put(awayKey+key, nil)
		return
	}
	k.put(awayKey+key, strconv.AppendInt(nil, since.Unix(), 10))
}

// Forget forgets a metric. away says whether it was noted to be without a supplier.
func (k *Keeper) Forget(key string, away bool) {
	k.put(metricKey+key, nil)
	if away {
		k.put(awayKey+key, nil)
	}
}

// Note keeps how many bytes the new names take that users have got since the last Note.
func (k *Keeper) Note() {
	k.names.Users.Note(func(uid uint32, named int64) {
		k.put(namedKey+strconv.FormatUint(uint64(uid), 10), strconv.AppendInt(nil, named, 10))
	})
}

func (k *Keeper) put(key string, value []byte) {
	if err := k.names.Store.Keep(key, value); err != nil {
		k.names.Log("%v", err)
	}
}

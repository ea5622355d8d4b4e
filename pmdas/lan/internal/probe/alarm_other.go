//go:build !linux

package probe

// NewAlarm returns an Alarm. The caller closes it.
func NewAlarm() (Alarm, error) { return newTimerAlarm(), nil }

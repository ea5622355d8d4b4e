module github.com/pcp-rtime/rtime

go 1.26.0

require (
	github.com/performancecopilot/speed/v4 v4.0.0
	github.com/prometheus-community/pro-bing v0.9.1
	github.com/spf13/pflag v1.0.10
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.0 // indirect
	github.com/edsrzf/mmap-go v1.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/sync v0.21.0 // indirect
)

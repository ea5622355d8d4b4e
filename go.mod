module github.com/pcp-rtime/rtime

go 1.24

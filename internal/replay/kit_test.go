package replay

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/virtual"
)

// told is a log in memory.
type told struct {
	source  *accesslog.Source
	records []accesslog.Record
	next    int
	err     error // behind the last record, instead of io.EOF
}

var _ Records = (*told)(nil)

func (l *told) Next() (*accesslog.Batch, error) {
	if l.next == len(l.records) {
		if l.err != nil {
			return nil, l.err
		}
		return nil, io.EOF
	}
	from := l.next
	l.next = min(l.next+7, len(l.records)) // batches end anywhere
	l.source.Lines = int64(l.next)
	return &accesslog.Batch{Source: l.source, Records: l.records[from:l.next]}, nil
}

func (l *told) Sources() []*accesslog.Source { return []*accesslog.Source{l.source} }

// logOf makes a log whose lines tell some more variables than all of them do.
func logOf(records []accesslog.Record, variables ...string) *told {
	return &told{source: &accesslog.Source{Name: "access.log", Format: "test", Variables: append([]string{"remote_addr", "request"}, variables...)}, records: records}
}

// base is the first instant of most tests.
const base = int64(1_780_000_000_000_000_000)

// get is a record of a request in milliseconds behind base, by a client, with a stamp as fine as that.
func get(ms int64, addr, uri string) accesslog.Record {
	return accesslog.Record{
		Stamp: base + ms*1e6, Grain: time.Millisecond, Duration: accesslog.Unknown, Addr: netip.MustParseAddr(addr),
		Request: []byte("GET " + uri + " HTTP/1.1"), Method: []byte("GET"), URI: []byte(uri), Protocol: []byte("HTTP/1.1"),
		Host: []byte("example.org"), Agent: []byte("tester/1"), Status: 200,
	}
}

// coarseOf cuts a record's stamp to whole seconds.
func coarseOf(r accesslog.Record) accesslog.Record {
	r.Stamp -= r.Stamp % second
	r.Grain = time.Second
	return r
}

// lasting is a record that is stamped when the answer was sent, which took so long.
func lasting(r accesslog.Record, ms int64) accesslog.Record {
	r.AtEnd, r.Duration = true, ms*1e6
	r.Stamp += r.Duration
	return r
}

// with is a record with a field.
func with(r accesslog.Record, name, value string) accesslog.Record {
	r.Fields = append(r.Fields[:len(r.Fields):len(r.Fields)], accesslog.Field{Name: name, Value: []byte(value)})
	return r
}

// written writes a configuration.
func written(t testing.TB, http string) virtual.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte("events { }\nhttp {\n"+http+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return virtual.Options{File: file}
}

// replayed runs a log through a configuration.
func replayed(t testing.TB, o Options, log Records) *Report {
	t.Helper()
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(context.Background(), log, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func of(t testing.TB, http string) Options {
	t.Helper()
	return Options{Config: written(t, http)}
}

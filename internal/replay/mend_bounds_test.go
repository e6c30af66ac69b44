package replay

import (
	"fmt"
	"math"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// Times that no log has come to the bounds of what is counted with, and stop nothing.
func TestTimesAtTheEndsOfTheirNumbers(t *testing.T) {
	http := `limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s; limit_conn_zone $binary_remote_addr zone=c:1m;
		server { limit_req zone=r burst=5; limit_conn c 1; }`
	extremes := []int64{0, 1, base, 8e18, math.MaxInt64, math.MinInt64}
	var records []accesslog.Record
	for _, stamp := range extremes {
		for _, duration := range []int64{accesslog.Unknown, 0, 1, 9e18, math.MaxInt64} {
			for _, end := range []bool{false, true} {
				r := get(0, "192.0.2.1", "/")
				r.Stamp, r.Duration, r.AtEnd = stamp, duration, end
				records = append(records, r)
			}
		}
	}
	n := len(records)
	for _, lists := range [][]accesslog.Record{records, reversed(records)} {
		for _, grain := range []bool{false, true} {
			l := append([]accesslog.Record{}, lists...)
			if grain {
				for i := range l {
					l[i] = coarseOf(l[i])
				}
			}
			if got := replayed(t, of(t, http), logOf(l)); got.Log.Records != int64(n) {
				t.Errorf("got %d records, want %d", got.Log.Records, n)
			}
		}
	}
}

func reversed(list []accesslog.Record) (out []accesslog.Record) {
	for i := range list {
		out = append(out, list[len(list)-1-i])
	}
	return out
}

// Names that come once do not stay.
func TestFieldNamesAreForgotten(t *testing.T) {
	names := fieldNames{}
	for i := range 10 * mostNames {
		if got := names.of(fmt.Sprint("http_x_", i)); got.kind != fieldHeader {
			t.Fatalf("got kind %d, want a header", got.kind)
		}
	}
	if len(names) > mostNames {
		t.Errorf("got %d names, want at most %d", len(names), mostNames)
	}
}

// A series begins at or before each of its instants, those before the epoch too.
func TestSeriesBeforeTheEpoch(t *testing.T) {
	var s series
	for _, at := range []int64{second / 2, -second / 2, -400 * second, 7e18} {
		s.add(at, passed)
	}
	var n int64
	for _, b := range s.buckets {
		n += b[passed]
	}
	if n != 4 || s.start > -400*second {
		t.Errorf("got %d requests from %d on, want 4 from %d on or before", n, s.start, -400*second)
	}
}

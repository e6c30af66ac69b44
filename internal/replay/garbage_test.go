package replay

import (
	"context"
	"io"
	"net/netip"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/racing"
)

// endless is a log of so many records, made as they are read: of 300 requests a second that take a while, by 500 clients.
type endless struct {
	n, left int
	coarse  bool
	batch   accesslog.Batch
	source  accesslog.Source
}

func (l *endless) Next() (*accesslog.Batch, error) {
	if l.left == 0 {
		return nil, io.EOF
	}
	l.batch = accesslog.Batch{Source: &l.source, Records: l.batch.Records[:0]}
	for len(l.batch.Records) < 100 && l.left > 0 {
		i := l.n - l.left
		l.left--
		r := lasting(sample, int64(i*7919%5000))
		r.Stamp += int64(i) * second / 300
		r.Addr = netip.AddrFrom4([4]byte{10, 0, byte(i % 2), byte(i * 31 % 250)})
		if l.coarse {
			r = coarseOf(r)
		}
		l.batch.Records = append(l.batch.Records, r)
	}
	return &l.batch, nil
}

func (l *endless) Sources() []*accesslog.Source { return []*accesslog.Source{&l.source} }

var sample = get(0, "192.0.2.1", "/a/b?c")

// Memory does not grow with the log: ten times as many records leave hardly more garbage.
func TestRecordsCostNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("garbage can't be counted under the race detector")
	}
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s; server { location / { limit_req zone=r burst=2; } }`)
	for _, coarse := range []bool{false, true} {
		cost := func(records int) float64 {
			return testing.AllocsPerRun(2, func() {
				r, err := Open(o)
				if err != nil {
					t.Fatal(err)
				}
				out, err := r.Run(context.Background(), &endless{n: records, left: records, coarse: coarse}, nil)
				if err != nil || out.Requests != int64(records) || out.Total.Rejected.Max == 0 {
					t.Fatalf("got %+v, %v", out.Total, err)
				}
			})
		}
		few, many := cost(35_000), cost(85_000)
		if each := (many - few) / 50_000; each > 0.02 { // what waits grows a little until the buffer is as long as the log needs
			t.Errorf("coarse %v: %.4f allocations a record, want none", coarse, each)
		}
	}
}

package conf

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseSizes(t *testing.T) {
	const bad = -1
	for _, test := range []struct {
		text         string
		size, offset int64
	}{
		{"0", 0, 0}, {"10", 10, 10}, {"8k", 8 << 10, 8 << 10}, {"8K", 8 << 10, 8 << 10}, {"1m", 1 << 20, 1 << 20}, {"2M", 2 << 20, 2 << 20},
		{"1g", bad, 1 << 30}, {"3G", bad, 3 << 30}, {"", bad, bad}, {"k", bad, bad}, {"-1", bad, bad}, {"+1", bad, bad}, {"1.5k", bad, bad},
		{"1 k", bad, bad}, {"1kk", bad, bad}, {"9223372036854775807", 1<<63 - 1, 1<<63 - 1}, {"9223372036854775808", bad, bad},
		{"9223372036854775807k", bad, bad},
	} {
		size, ok := ParseSize(test.text)
		if !ok {
			size = bad
		}
		offset, ok := ParseOffset(test.text)
		if !ok {
			offset = bad
		}
		if size != test.size || offset != test.offset {
			t.Errorf("%q: got %d and %d, want %d and %d", test.text, size, offset, test.size, test.offset)
		}
	}
}

func TestParseTimes(t *testing.T) {
	const bad = -1
	const day = 24 * time.Hour
	for _, test := range []struct {
		text           string
		millis, second time.Duration
	}{
		{"0", 0, 0}, {"10", 10 * time.Second, 10 * time.Second}, {"10s", 10 * time.Second, 10 * time.Second},
		{"1h30m", 90 * time.Minute, 90 * time.Minute}, {"1h 30m", 90 * time.Minute, 90 * time.Minute}, {"1m30", 90 * time.Second, 90 * time.Second},
		{"1w2d", 9 * day, 9 * day}, {"250ms", 250 * time.Millisecond, bad}, {"1s250ms", 1250 * time.Millisecond, bad}, {"1m1ms", 60001 * time.Millisecond, bad},
		{"1y", bad, 365 * day}, {"2M", bad, 60 * day}, {"1y1M", bad, 395 * day}, {"1M1y", bad, bad}, {"", bad, bad}, {"s", bad, bad}, {"1x", bad, bad},
		{"30m1h", bad, bad}, {"1s1s", bad, bad}, {"-1", bad, bad}, {"1.5s", bad, bad}, {" 1", time.Second, time.Second}, {"9999999999999", bad, bad},
	} {
		millis, ok := ParseDuration(test.text)
		if !ok {
			millis = bad
		}
		second, ok := ParseSeconds(test.text)
		if !ok {
			second = bad
		}
		if millis != test.millis || second != test.second {
			t.Errorf("%q: got %v and %v, want %v and %v", test.text, millis, second, test.millis, test.second)
		}
	}
}

// TestLimitReqConfig runs the cases on which spellings of limit_req_zone and limit_req load. The one with a fraction is
// an extension of ours.
func TestLimitReqConfig(t *testing.T) {
	text, err := os.ReadFile("testdata/limit_req_config.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID     string
			Events []struct {
				Directive string
				Args      []string
			}
			Expect []struct {
				Verdict string
				Rate    *int64 `json:"rate_milli_per_s"`
				Burst   *int64
				Delay   any
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 13 {
		t.Fatalf("got %d cases, want 13", len(file.Cases))
	}
	for _, c := range file.Cases {
		d, want := &Directive{Name: c.Events[0].Directive}, c.Expect[0]
		for _, a := range c.Events[0].Args {
			d.Args = append(d.Args, Word{Text: a})
		}
		var errs Errors
		if d.Name == "limit_req_zone" {
			z, ok := ReadLimitReqZone(d, &errs)
			extension := c.ID == "lk-cfg-rate-frac"
			if ok != (want.Verdict == "pass" || extension) {
				t.Errorf("%s: accepted %v, want %s", c.ID, ok, want.Verdict)
			}
			// nginx's own rounding, so that the cases can be compared: whole thousandths a second.
			if perSecond := z.Rate.Thousandths(); want.Rate != nil && perSecond != *want.Rate {
				t.Errorf("%s: got %d, want %d thousandths a second", c.ID, perSecond, *want.Rate)
			}
			continue
		}
		l, ok := ReadLimitReq(d, &errs)
		if ok != (want.Verdict == "pass") || ok == errs.Failed() {
			t.Errorf("%s: accepted %v, want %s", c.ID, ok, want.Verdict)
		}
		if !ok {
			continue
		}
		delay := any(float64(l.Delay))
		if l.NoDelay {
			delay = "unbounded"
		}
		if diff := cmp.Diff([]any{*want.Burst, want.Delay}, []any{l.Burst, delay}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.ID, diff)
		}
	}
}

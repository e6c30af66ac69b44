package lint

import (
	"os"
	"path/filepath"
	"testing"
)

// check writes a configuration and checks it.
func check(t *testing.T, arithmetic, text string) Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Check(Options{Path: path, Arithmetic: arithmetic})
}

func TestAllowances(t *testing.T) {
	for _, c := range []struct{ name, arithmetic, zone, limit, want string }{
		{"as written", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=20 nodelay;",
			"10/s, at once 21, at most 31 in 1 s and 621 in 60 s, no delay"},
		{"delay", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=20 delay=5;",
			"10/s, at once 6 and 15 wait, at most 31 in 1 s and 621 in 60 s, longest delay 1.5s"},
		{"no burst", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z;",
			"1/min, at once 1, at most 1 in 1 s and 2 in 60 s, no delay"},
		{"nginx's minute", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z;",
			"0.96/min (written 1r/m), at once 1, at most 1 in 1 s and 1 in 60 s, no delay"},
		{"nginx waits longer", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z burst=1;",
			"0.96/min (written 1r/m), at once 1 and 1 wait, at most 2 in 1 s and 2 in 60 s, longest delay 1m3s"},
		{"nginx keeps this", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=30r/m;", "limit_req zone=z burst=1;",
			"30/min, at once 1 and 1 wait, at most 2 in 1 s and 32 in 60 s, longest delay 2s"},
		{"the hidden multiplier", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=100r/m;", "limit_req zone=z burst=500 nodelay;",
			"1.666/s, at once 501, at most 502 in 1 s and 601 in 60 s, no delay"},
		{"fraction", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=0.5r/s;", "limit_req zone=z;",
			"30/min, at once 1, at most 1 in 1 s and 31 in 60 s, no delay"},
		{"a day", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=1000r/d;", "limit_req zone=z burst=10;",
			"0.694/min, at once 1 and 10 wait, at most 11 in 1 s and 11 in 60 s, longest delay 14m24s"},
		{"varying", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=$arg_rate;", "limit_req zone=z;",
			"rate or burst vary: 1 + burst are let in at once, 1 + burst + rate*W in any time W"},
		{"beyond nginx's clock", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=5000r/s;", "limit_req zone=z;",
			"1000/s (written 5000r/s), at once 1, at most 1001 in 1 s and 60001 in 60 s, no delay"},
		{"beyond it with a burst", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=5000r/s;", "limit_req zone=z burst=2 nodelay;",
			"3000/s (written 5000r/s), at once 3, at most 3003 in 1 s and 180003 in 60 s, no delay"},
		{"the exact clock is finer", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=5000r/s;", "limit_req zone=z;",
			"5000/s, at once 1, at most 5001 in 1 s and 300001 in 60 s, no delay"},
		{"all waits", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=20;",
			"10/s, at once 1 and 20 wait, at most 31 in 1 s and 621 in 60 s, longest delay 2s"},
		{"delay above the burst", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=5 delay=9;",
			"10/s, at once 6, at most 16 in 1 s and 606 in 60 s, no delay"},
		{"conn", "", "limit_conn_zone $binary_remote_addr zone=z:10m;", "limit_conn z 7;", "at once 7; in any time as many as finish"},
		{"adaptive", "", "limit_conn_zone app zone=z:10m;", "limit_conn z adaptive min=3 max=70;", "at once what it finds, 3 to 70; in any time as many as finish"},
		{"sliding", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=100 window=1h;", "limit_count zone=z;",
			"100 in 1h, at once 100, at most 200 in any 1h"},
		{"fixed", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=100 window=90s algorithm=fixed;", "limit_count zone=z cost=3;",
			"100 in 1m30s, at once 100, at most 200 in the 1m30s across the edge of two windows; a request costs 3"},
		{"log", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=5 window=10s algorithm=log;", "limit_count zone=z cost=$arg_n;",
			"5 in 10s, at once 5, at most 5 in any 10s; costs vary"},
		{"token", "", "limit_token_zone $binary_remote_addr zone=z:10m rate=2r/s capacity=50;", "limit_token zone=z;",
			"2/s, at once 50, at most 52 in 1 s and 170 in 60 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, c.arithmetic, "events {}\nhttp {\n"+c.zone+"\nserver {\n"+c.limit+"\n}\n}\n")
			if len(r.Limits) != 1 || r.Limits[0].Text != c.want || r.Limits[0].Line != 5 {
				t.Errorf("got %+v, want %q", r.Limits, c.want)
			}
		})
	}
}

// The table of rates that nginx keeps in thousandths a second.
func TestTruncatedRates(t *testing.T) {
	for rate, want := range map[string]string{"1r/m": "0.96/min", "2r/m": "1.98/min", "5r/m": "4.98/min", "7r/m": "6.96/min", "10r/m": "9.96/min",
		"20r/m": "19.98/min", "59r/m": "58.98/min", "61r/m": "60.96/min", "100r/m": "99.96/min", "1000r/m": "999.96/min", "3r/m": "", "30r/m": "", "10r/s": ""} {
		r := check(t, "", "events {}\nhttp {\nlimit_req_zone $binary_remote_addr zone=z:10m rate="+rate+";\n}\n")
		got := ""
		for _, f := range r.Findings {
			if f.Rule == "rate-truncated" {
				got = f.Message
			}
		}
		if want == "" && got != "" || want != "" && len(got) < len("rate="+rate+" is "+want) || want != "" && got[:len("rate="+rate+" is "+want)] != "rate="+rate+" is "+want {
			t.Errorf("%s: %q, want %q", rate, got, want)
		}
	}
}
